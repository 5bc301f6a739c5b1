"""Fault D27: what is typed in another encoding is read by the locale, and ends nothing."""

import pytest

from agent_tui.tui.terminal_input import mend_terminal_input


@pytest.mark.parametrize(
    ("lang", "typed", "read"),
    [
        ("C.UTF-8", b"gr\xfcn", "gr\ufffdn"),
        ("C.UTF-8", "grün 你".encode(), "grün 你"),
        ("de_DE.ISO-8859-1", b"gr\xfcn", "grün"),
        ("C", "grün".encode(), "grün"),
    ],
)
def test_the_driver_reads_by_the_locale(
    monkeypatch: pytest.MonkeyPatch, lang: str, typed: bytes, read: str
) -> None:
    from textual.drivers import linux_driver

    for name in ("getincrementaldecoder", "XTermParser"):
        monkeypatch.setattr(linux_driver, name, getattr(linux_driver, name))
    monkeypatch.setenv("LANG", lang)
    mend_terminal_input()
    decode = linux_driver.getincrementaldecoder("utf-8")().decode  # as the driver makes it
    assert "".join(decode(typed[at : at + 1]) for at in range(len(typed))) == read
