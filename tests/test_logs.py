import logging
import stat
import threading
import warnings
from pathlib import Path

import pytest

from agent_tui import logs
from agent_tui.logs import add_secrets, log_path, set_up_logging

SECRET = "top-secret-value"
KEY = "sk-ant-api03-abcdef"

log = logging.getLogger("agent_tui.somewhere")


def logged() -> str:
    path = log_path()
    assert path is not None
    return path.read_text(encoding="utf-8")


def test_the_log_is_a_private_file_under_home(home: Path):
    file = set_up_logging()
    log.info("hello %s", "there")
    assert file == log_path()
    assert file.parent == home / "logs"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "INFO agent_tui.somewhere: hello there\n" in logged()


def test_it_stays_private_when_it_rotates(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(logs, "_MAX_BYTES", 200)
    file = set_up_logging()
    for number in range(20):
        log.info("line %d", number)
    files = sorted(file.parent.iterdir())
    assert len(files) == 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert "line 19" in logged()


def test_secrets_are_masked_wherever_they_stand(home: Path):
    set_up_logging(secrets=[SECRET])
    log.warning(f"in the message {SECRET}")
    log.warning("in the arguments %s %r", SECRET, {"x": SECRET})
    log.warning("by shape %s, Authorization: Bearer zzzzz", KEY)
    try:
        raise ValueError(f"401: bad key {SECRET} {KEY}")
    except ValueError:
        log.exception("in the traceback")
        log.error("and again", exc_info=True, stack_info=True)
    text = logged()
    assert SECRET not in text and "abcdef" not in text and "zzzzz" not in text
    assert "in the traceback" in text and "Traceback" in text and "ValueError: 401" in text


def test_a_secret_that_became_known_later_is_masked(home: Path):
    set_up_logging()
    add_secrets([SECRET])
    log.error(SECRET)
    set_up_logging()
    log.error(SECRET)
    assert SECRET not in logged() and logged().count("***") == 2


def test_the_formatted_traceback_is_not_left_on_the_record(home: Path):
    """Another handler would write what is cached there, unmasked."""
    set_up_logging(secrets=[SECRET])
    seen: list[logging.LogRecord] = []
    log.addFilter(lambda record: seen.append(record) or True)
    try:
        raise ValueError(SECRET)
    except ValueError:
        log.exception("x")
    finally:
        log.filters.clear()
    assert seen[0].exc_text is None


def test_nothing_reaches_the_screen(home: Path, capfd: pytest.CaptureFixture[str]):
    logging.getLogger().addHandler(logging.StreamHandler())
    set_up_logging()
    log.error("error")
    log.error("wrong format %d", "x")
    logging.getLogger("other.library").critical("critical")
    warnings.warn("a warning", stacklevel=1)
    assert capfd.readouterr() == ("", "")
    text = logged()
    assert "critical" in text and "a warning" in text and "wrong format" in text


def test_without_a_root_handler_nothing_reaches_the_screen_either(
    home: Path, capfd: pytest.CaptureFixture[str]
):
    set_up_logging()
    quiet = logging.getLogger("apart")
    quiet.propagate = False
    quiet.error("lost to the file, but not on the screen")
    assert capfd.readouterr().err == ""


def test_a_full_disk_does_not_stop_the_work(home: Path, capfd: pytest.CaptureFixture[str]):
    set_up_logging("/dev/full") if Path("/dev/full").exists() else pytest.skip("no /dev/full")
    log.error("no room")
    assert capfd.readouterr() == ("", "")


def test_a_log_read_with_cat_does_nothing_to_the_terminal(home: Path):
    set_up_logging()
    log.error("tool said \x1b]52;c;x\x07 \x9b2J \ud83d")
    assert not set("\x1b\x07\x9b") & set(logged())


def test_lines_of_many_threads_stay_whole(home: Path):
    set_up_logging()
    threads = [
        threading.Thread(target=lambda: [log.info("x" * 100) for _ in range(50)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(line.endswith(" " + "x" * 100) for line in logged().splitlines()) == 200


def test_requests_are_not_logged_by_the_libraries(home: Path):
    set_up_logging()
    for name in ("anthropic", "httpx2", "httpcore2.connection", "mcp.client"):
        logging.getLogger(name).info("POST with body")
    assert "POST" not in logged()


def test_setting_up_again_moves_the_log(home: Path, tmp_path: Path):
    set_up_logging()
    other = set_up_logging(tmp_path / "other.log")
    log.error("there")
    assert log_path() == other
    assert "there" in other.read_text() and "there" not in (home / "logs/agent-tui.log").read_text()
    assert len(logging.getLogger().handlers) == 1
