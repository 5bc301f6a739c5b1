"""Addresses from models and servers: which become hyperlinks, and how they are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.tui.links import LONGEST, hyperlink, shown_url


@pytest.mark.parametrize(
    ("url", "link", "shown"),
    [
        ("https://example.org/", "https://example.org/", "example.org"),
        ("https://example.org/a/", "https://example.org/a/", "example.org/a/"),
        ("http://example.org/a?b=c#d", "http://example.org/a?b=c#d", "http://example.org/a?b=c#d"),
        ("HTTPS://Example.org/A", "https://example.org/A", "example.org/A"),
        ("https://example.org:8080/x", "https://example.org:8080/x", "example.org:8080/x"),
        ("https://de.wikipedia.org/wiki/Zürich", "https://de.wikipedia.org/wiki/Z%C3%BCrich",
         "de.wikipedia.org/wiki/Z%C3%BCrich"),
        ("https://en.wikipedia.org/wiki/A_(b)", "https://en.wikipedia.org/wiki/A_(b)",
         "en.wikipedia.org/wiki/A_(b)"),
        ("https://a.org/x%20y", "https://a.org/x%20y", "a.org/x%20y"),
        ("http://[::1]:80/x", "http://[::1]:80/x", "http://[::1]:80/x"),
        # A look-alike host (Cyrillic а) is shown as what it is.
        ("https://pаypal.com/", "https://xn--pypal-4ve.com/", "xn--pypal-4ve.com"),
    ],
)  # fmt: skip
def test_an_address(url: str, link: str, shown: str) -> None:
    assert hyperlink(url) == link
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "", None, 7, "example.org", "ftp://example.org/",
        "ssh://example.org/x", "vscode://a/b",
        "javascript:alert(1)", "file:///etc/passwd", "data:text/html,x",
        "https://", "https://bank.com@evil.org/", "https://user:pw@example.org/",
        "https://example.org/\x1b]2;x\x07", "https://example.org/\x9c", "https://exa mple.org/",
        "https://example.org/\nx", "https://example.org:99999/", "https://[::1/", "https://a\\b/",
        "https://example.org/\ud83d", "https://ex%61mple.org/", "https://" + "a" * LONGEST,
        "https://" + "ü" * 70 + ".org/",
    ],
)  # fmt: skip
def test_what_must_not_be_a_hyperlink(url: object) -> None:
    assert hyperlink(url) == ""
    shown = shown_url(url)
    assert "\x1b" not in shown and "\n" not in shown and "\x9c" not in shown


@given(st.text().map(lambda text: f"https://{text}") | st.text())
def test_a_hyperlink_is_printable_ascii_without_spaces(url: str) -> None:
    link = hyperlink(url)
    assert all("!" <= char <= "~" for char in link)
    assert not link or link.startswith(("http://", "https://"))
    assert hyperlink(link) == link
