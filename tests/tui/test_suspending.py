"""Ctrl+Z stops the whole job (make and the app under `make run`), after leaving the screen."""

import os
import signal

from agent_tui.tui import suspending


class Driver:
    can_suspend = True
    _must_signal_resume = False

    def __init__(self, happened: list[str]) -> None:
        self.happened = happened

    def suspend_application_mode(self) -> None:
        self.happened.append("the screen is left")

    def resume_application_mode(self) -> None:
        self.happened.append("the screen is back")


def test_the_process_group_is_stopped_once_the_screen_is_left(monkeypatch):
    happened: list[str] = []

    def killpg(group: int, number: int) -> None:
        assert (group, number) == (os.getpgrp(), signal.SIGSTOP)
        happened.append("the job is stopped")

    monkeypatch.setattr(suspending.os, "killpg", killpg)
    driver = Driver(happened)
    suspending.stop_job(driver)
    assert happened == ["the screen is left", "the job is stopped", "the screen is back"]
    assert driver._must_signal_resume, "fg draws the screen again"


def test_nothing_is_stopped_where_the_screen_cannot_be_left(monkeypatch):
    monkeypatch.setattr(suspending.os, "killpg", lambda *_: 1 / 0)
    suspending.stop_job(None)
    driver = Driver([])
    driver.can_suspend = False
    suspending.stop_job(driver)
