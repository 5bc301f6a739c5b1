"""Faults that users of such programs met, as far as settings, paths, logs and text stop them."""

import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui import paths
from agent_tui.logs import log_path, set_up_logging
from agent_tui.settings import load_settings
from agent_tui.text import SafeText, ansi_spans, clean, cut, wire_text


def test_a34_a_lone_surrogate_never_reaches_the_request_or_the_disk():
    cut_in_two = json.loads('"done \\ud83d"')
    assert wire_text(cut_in_two) == "done \ufffd"
    assert json.loads(json.dumps(wire_text(cut_in_two), ensure_ascii=False).encode()) == (
        "done \ufffd"
    )


@pytest.mark.parametrize("n", range(12))
def test_a34_cutting_an_output_leaves_no_half_character(n: int):
    output = "ok 👍🏽 e\u0301 \ud83d\ude00!"
    assert "\ufffd" not in wire_text(cut(output, n))


def test_a35_nul_and_other_controls_go_to_the_model_as_text():
    assert wire_text("a\0b") == "a\\x00b"
    elf = b"\x7fELF\x02\x01\x01\0\0".decode("latin-1")
    assert wire_text(elf) == "\x7fELF\\x02\\x01\\x01\\x00\\x00"


@pytest.mark.parametrize(
    "sent",
    [
        "\x1b]52;c;UFdO\x1b\\",
        "\x1b[2J",
        "\x1b]0;x\x07",
        "\x1b]8;;http://evil/\x1b\\ok",
        "\x9b2J\x9d0;x\x9c",
    ],
)
def test_c08_no_escape_sequence_is_left_for_a_terminal(sent: str):
    controls = {chr(code) for code in [*range(0x20), *range(0x7F, 0xA0)]}
    for shown in (SafeText(sent), clean(sent), *(text for text, _ in ansi_spans(sent))):
        assert not controls & set(shown)


def test_e10_files_and_folders_are_private_from_their_first_moment(home: Path):
    before = os.umask(0o022)
    try:
        session = paths.sessions_dir("/src/shop") / "s.jsonl"
        with paths.private_open(session, "xb") as file:
            assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        paths.write_private_atomic(paths.credentials_file(), b"{}")
    finally:
        os.umask(before)
    for path in home.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_f04_no_file_of_the_home_holds_the_key(home: Path):
    key = "sk-ant-api03-the-key"
    other = "a-token-of-no-known-shape"
    set_up_logging(secrets=[other])
    log = logging.getLogger("agent_tui.test")
    body = {"error": {"message": f"invalid x-api-key: {key}"}}
    try:
        raise PermissionError(f"401 {body} {other}")
    except PermissionError:
        log.exception("request failed: %r", {"Authorization": f"Bearer {other}"})
    assert log_path() in set(home.rglob("*"))
    for path in home.rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert "the-key" not in text and other not in text


@pytest.mark.parametrize(
    ("content", "place", "hint"),
    [
        (b'path = "C:\\new\\dir"\n', ":1:", "single quotes"),
        (b'model = "a"\nmodel = "b"\n', ":2:", "line 1"),
        (b"\0" * 4096, ":1:1:", "NUL"),
    ],
    ids=["backslashes", "duplicate key", "NUL-filled"],
)
def test_f05_bad_toml_stops_the_start_with_one_line(
    home: Path, tmp_path: Path, content: bytes, place: str, hint: str
):
    config = home / "config.toml"
    config.write_bytes(content)
    ran = subprocess.run(
        [sys.executable, "-m", "agent_tui", "-p", "hello"],
        cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        timeout=60,
    )  # fmt: skip
    assert ran.returncode == 2
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    assert f"{config}{place}" in line and hint in line


def test_f06_unknown_keys_are_named_and_do_not_stop_the_start(home: Path, tmp_path: Path):
    (home / "config.toml").write_text("modle = 'x'\n[mcp.servrs]\n")
    loaded = load_settings(cwd=str(tmp_path), environ={})
    first, second = loaded.warnings
    assert "config.toml:1: unknown key modle" in first and "model" in first.partition("?")[0]
    assert "config.toml:2: unknown key mcp.servrs" in second
