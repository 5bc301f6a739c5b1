"""Ctrl+Z: stops the whole job, as the terminal itself would.

Textual 8.2 stops only its own process. Under `make run` the shell then still waits for make
and shows no prompt. To go when Textual signals its process group.
"""

import os
import signal
from typing import Any


def stop_job(driver: Any) -> None:
    """Leave the application's screen, stop every process of the job, and come back once it is
    continued (`fg`)."""
    if driver is None or not driver.can_suspend:
        return
    driver.suspend_application_mode()
    driver._must_signal_resume = True
    # Textual's handler of SIGCONT would run when the event loop next wakes, which an idle one
    # may not do: the screen is taken again right here instead.
    handler = signal.signal(signal.SIGCONT, signal.SIG_DFL)
    try:
        os.killpg(os.getpgrp(), signal.SIGSTOP)
    finally:
        signal.signal(signal.SIGCONT, handler)
    driver.resume_application_mode()
