"""/usage in a narrow transcript: fewer columns and shorter numbers, each answer in one row."""

import pytest

from agent_tui.conversation.commands.usage import HEAD, RULE, narrowed
from agent_tui.conversation.results import CommandResult
from tests.tui.conftest import Drive

TEXT = f"""\
{HEAD}
{RULE}
| 1 | `sonnet-5-5` | 152,634 | 1,152,634 | 9,999 | ≥ 12,345 | 40 | 61 | $0.4210 |
| 2 | `sonnet-5-5` | 1,000 | 10,000 | 0 | 100 |  |  | ? |
| **session** |  | 153,634 | 1,162,634 | 9,999 | ≥ 12,445 | 40 |  | ≥ $0.4210 |

- web search: 4"""


def test_tokens_are_short_and_the_rest_is_kept() -> None:
    lines = narrowed(TEXT).split("\n")
    assert lines[0] == "| answer | in | cached | written | out | cost |"
    assert lines[2:] == [
        "| 1 | 152.6k | 1.15M | 9,999 | ≥ 12.3k | $0.4210 |",
        "| 2 | 1,000 | 10.0k | 0 | 100 | ? |",
        "| **session** | 153.6k | 1.16M | 9,999 | ≥ 12.4k | ≥ $0.4210 |",
        "",
        "- web search: 4",
    ]


@pytest.mark.parametrize(
    ("tokens", "short"),
    [("9,999", "9,999"), ("10,000", "10.0k"), ("999,949", "999.9k"), ("999,950", "1.00M")],
)
def test_a_number_is_shortened_to_its_nearest(tokens: str, short: str) -> None:
    row = f"| 1 | m | {tokens} | 0 | 0 | 0 |  |  | ? |"
    assert narrowed("\n".join([HEAD, RULE, row])).split("\n")[2].split(" | ")[1] == short


def test_any_other_text_stays() -> None:
    for text in ("", "Nothing was asked yet.", "| answer |\n|---|\n| 152,634 |"):
        assert narrowed(text) == text


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 24)])
async def test_where_the_whole_does_not_fit_each_answer_is_one_row(
    drive: Drive, size: tuple[int, int]
) -> None:
    async with drive(size=size) as d:
        d.conv.command_results["usage"] = CommandResult(text=TEXT)
        await d.type("/usage")
        await d.press("enter")
        await d.shows("web search: 4")
        rows = [row[: d.app.transcript.size.width] for row in d.screen.splitlines()]
        first = next(row for row in rows if "152.6k" in row)
        cells = [cell.strip() for cell in first.split("│")]
        assert [cell for cell in cells if cell] == [
            "1", "152.6k", "1.15M", "9,999", "≥ 12.3k", "$0.4210",
        ]  # fmt: skip


async def test_where_it_fits_it_is_whole(drive: Drive) -> None:
    async with drive(size=(200, 30)) as d:
        d.conv.command_results["usage"] = CommandResult(text=TEXT)
        await d.type("/usage")
        await d.press("enter")
        await d.shows("1,152,634")
        assert "cache read" in d.screen and "sonnet-5-5" in d.screen and "tok/s" in d.screen
