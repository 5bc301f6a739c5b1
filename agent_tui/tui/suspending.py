"""Ctrl+Z: stops the whole job, as the terminal itself would.

Textual 8.2 stops only its own process. Under `make run` the shell then still waits for make
and shows no prompt. To go when Textual signals its process group.
"""

import os
import signal
from typing import Any


def stop_job(driver: Any) -> None:
    """Leave the application's screen, then stop every process of the job. `fg` sends SIGCONT
    to all of them; Textual's handler draws the screen again."""
    if driver is None or not driver.can_suspend:
        return
    driver.suspend_application_mode()
    driver._must_signal_resume = True
    os.killpg(os.getpgrp(), signal.SIGSTOP)
