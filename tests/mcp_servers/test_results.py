"""Results of servers: every kind of content becomes what a request can hold."""

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.tools import ToolResult
from agent_tui.image_head import image_type
from agent_tui.mcp_servers import results
from agent_tui.mcp_servers.lenient import block
from agent_tui.mcp_servers.masking import Secrets
from agent_tui.mcp_servers.results import Mapper
from agent_tui.tools.output import cap_text
from tests.mcp_servers.conftest import Keeper, content_of, is_private, text_of
from tests.mcp_servers.zoo import JPEG_HEAD, PNG, SVG, Wild, b64


@pytest.fixture
def mapper(outputs: Path) -> Mapper:
    return Mapper(
        lambda text, name: cap_text(text, str(outputs), name),
        Secrets(["s3cret-value"]),
        outputs,
    )


async def mapped(mapper: Mapper, *content: Any, structured: Any = None, failed: bool = False):
    """A result as it comes through the tap."""
    raw = {"content": [block(item) for item in content], "structuredContent": structured}
    return await mapper.tool_result(raw, failed=failed, server="zoo", tool="t", name="zoo__t")


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def image(data: bytes, kind: str = "image/png") -> dict[str, str]:
    return {"type": "image", "data": b64(data), "mimeType": kind}


def kinds(result: ToolResult) -> list[str]:
    return [b.media_type if b.type == "image" else "text" for b in result.content]


# --- images (A31) -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "said", "is_sent_as"),
    [
        (PNG, "image/png", "image/png"),
        (PNG, "image/jpeg", "image/png"),
        (JPEG_HEAD, "image/png", "image/jpeg"),
        (PNG, "", "image/png"),
    ],
    ids=["png", "png as jpeg", "jpeg as png", "no type"],
)
async def test_an_image_is_what_its_bytes_are(
    mapper: Mapper, data: bytes, said: str, is_sent_as: str
):
    [sent] = (await mapped(mapper, image(data, said))).content
    assert sent.type == "image" and sent.media_type == is_sent_as
    assert base64.b64decode(sent.data) == data


@pytest.mark.parametrize(
    ("data", "says", "ending"),
    [
        (SVG, "image image/svg+xml, sent as image/png", ".svg"),
        (PNG[:20], "damaged or cut short", ".png"),
        (b"BM" + bytes(20), "not a PNG, JPEG, GIF or WebP", ".png"),
        (PNG[:16] + (9000).to_bytes(4, "big") + PNG[20:], "9000 x 1 pixels", ".png"),
        (PNG + bytes(4 * 1024 * 1024), "more than 5 MB encoded", ".png"),
    ],
    ids=["svg", "cut", "bmp", "too many pixels", "too large"],
)
async def test_what_no_request_may_hold_is_a_line_and_a_file(
    mapper: Mapper, data: bytes, says: str, ending: str
):
    result = await mapped(mapper, image(data))
    assert kinds(result) == ["text"] and says in text_of(result)
    [path] = result.details["files"]
    assert path in text_of(result) and path.endswith(ending) and is_private(path)
    assert bytes_of(path) == data


def bytes_of(path: str) -> bytes:
    return Path(path).read_bytes()


@pytest.mark.parametrize("spell", ids=["plain", "data URL", "lines", "URL-safe"], argvalues=[
    lambda data: b64(data),
    lambda data: "data:image/png;base64," + b64(data),
    lambda data: "\n".join(b64(data)[n:n + 20] for n in range(0, 200, 20)),
    lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
])  # fmt: skip
async def test_base64_as_servers_spell_it(mapper: Mapper, spell: Any):
    item = {"type": "image", "data": spell(PNG), "mimeType": "image/png"}
    [sent] = (await mapped(mapper, item)).content
    assert sent.type == "image" and base64.b64decode(sent.data, validate=True) == PNG


async def test_more_images_than_a_request_can_hold_are_saved(mapper: Mapper, monkeypatch):
    monkeypatch.setattr(results, "MAX_IMAGES", 2)
    result = await mapped(mapper, *[image(PNG)] * 3)
    assert kinds(result) == ["image/png", "image/png", "text"]
    assert len(result.details["files"]) == 1


async def test_a_failed_result_holds_only_text(mapper: Mapper):
    """The API refuses images in an is_error result."""
    result = await mapped(mapper, text("see"), image(PNG), failed=True)
    assert result.is_error and kinds(result) == ["text"]
    assert text_of(result).startswith("see\n[image image/png") and result.details["files"]


# --- other kinds --------------------------------------------------------------------------


async def test_audio_links_resources_and_unknown_things_are_lines_that_name_them(mapper: Mapper):
    result = await mapped(
        mapper,
        {"type": "audio", "data": b64(b"RIFF"), "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "zoo://x", "name": "x", "size": 5, "description": "d"},
        {"type": "resource", "resource": {"uri": "zoo://t", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "zoo://p", "blob": b64(b"%PDF-1.7")}},
        {"type": "resource", "resource": {"uri": "zoo://i", "blob": b64(PNG)}},
        {"type": "hologram", "depth": 3},
        "just text",
        None,
    )
    assert kinds(result) == ["text", "image/png", "text"]
    lines = text_of(result).split("\n")
    assert lines[0].startswith("[audio audio/wav, 4 bytes. Saved to ")
    assert lines[1] == "[link to the resource zoo://x, x (5 bytes): d]"
    assert lines[2:4] == ["[resource zoo://t]", "inside"]
    assert lines[4].startswith("[resource zoo://p, application/pdf, 8 bytes. Saved to ")
    assert lines[5] == "[resource zoo://i]"
    assert lines[6].startswith("[content of a kind that is not known]") and "hologram" in lines[6]
    assert lines[7] == "just text"
    assert [Path(path).suffix for path in result.details["files"]] == [".wav", ".pdf"]


async def test_more_files_than_anyone_wants_are_not_saved(mapper: Mapper, monkeypatch, outputs):
    monkeypatch.setattr(results, "MAX_FILES", 3)
    audio = {"type": "audio", "data": b64(b"x"), "mimeType": "audio/wav"}
    result = await mapped(mapper, *[audio] * 5)
    assert len(result.details["files"]) == 3 and text_of(result).count("Not saved") == 2


# --- text ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "structured", "says"),
    [
        ([text("the text")], {"n": 1}, "the text"),
        ([], {"n": 1}, '{\n "n": 1\n}'),
        ([text("  ")], {"n": 1}, '{\n "n": 1\n}'),
        ([image(PNG)], {"n": 1}, '{\n "n": 1\n}'),
        ([], [1], "[\n 1\n]"),
        ([], None, "(The tool answered without any content.)"),
    ],
)
async def test_structured_content_is_told_when_there_is_no_text(
    mapper: Mapper, content: list, structured: Any, says: str
):
    result = await mapped(mapper, *content, structured=structured)
    assert text_of(result) == says
    assert result.details.get("structured") == structured


async def test_a_failure_without_a_word_says_so(mapper: Mapper):
    result = await mapped(mapper, failed=True)
    assert result.is_error and text_of(result) == "The tool failed and did not say why."


async def test_text_that_is_too_much_only_together_is_cut_and_saved_whole(
    mapper: Mapper, outputs: Path
):
    parts = [text(f"part {n} " + "x" * 9000) for n in range(10)]
    result = await mapped(mapper, *parts[:5], image(PNG), *parts[5:])
    assert kinds(result) == ["text", "image/png"]
    assert len(text_of(result)) < 40_000
    whole = content_of(result.details["output_path"])
    assert all(f"part {n} x" in whole for n in range(10))


async def test_secrets_do_not_come_back_in_a_result(mapper: Mapper):
    result = await mapped(
        mapper, text("KEY=s3cret-value"), structured={"env": {"KEY": "s3cret-value"}}
    )
    assert text_of(result) == "KEY=***"
    assert result.details["structured"] == {"env": {"KEY": "***"}}


# --- whatever comes -----------------------------------------------------------------------

FIELDS = st.fixed_dictionaries({}, optional={
    "type": st.sampled_from(["text", "image", "audio", "resource", "resource_link", "x", 3]),
    "text": st.one_of(st.text(max_size=5), st.none(), st.integers()),
    "data": st.sampled_from([b64(PNG), b64(SVG), "!", "", 7, "ä"]),
    "mimeType": st.sampled_from(["image/png", "", None, 3]),
    "uri": st.sampled_from(["zoo://x", "", 4]),
    "resource": st.one_of(st.none(), st.fixed_dictionaries({}, optional={
        "uri": st.just("zoo://x"), "text": st.text(max_size=3), "blob": st.just("AA=="),
        "mimeType": st.sampled_from(["text/plain", 3]),
    })),
    "annotations": st.just("not a table"),
    "size": st.sampled_from([3, "big", True]),
})  # fmt: skip
ITEMS = st.lists(st.one_of(FIELDS, st.none(), st.text(max_size=3), st.integers()), max_size=4)


@settings(max_examples=80, deadline=None)
@given(ITEMS, st.booleans())
def test_any_content_becomes_legal_blocks(tmp_path_factory, items: list, failed: bool):
    import asyncio

    folder = tmp_path_factory.mktemp("out")
    mapper = Mapper(lambda text, name: cap_text(text, str(folder), name), Secrets(), folder)
    result = asyncio.run(mapped(mapper, *items, failed=failed))
    assert result.content
    for part in result.content:
        if part.type == "image":
            assert not failed
            assert image_type(base64.b64decode(part.data, validate=True)) == part.media_type
        else:
            assert part.text.strip()
            part.text.encode()
            assert "\x00" not in part.text and "\x1b" not in part.text


async def test_results_of_a_real_server_come_through_whole(keeper: Keeper):
    """The same over a pipe: the SDK, its types and its checks of schemas are in between."""
    keeper.add("zoo", "Wild")
    await keeper.ready()
    found = {name: await keeper.call(f"zoo__{name}") for name in Wild.RESULTS}
    assert kinds(found["png"]) == ["image/png"]
    assert kinds(found["jpeg_as_png"]) == ["image/jpeg"]
    for name, says in [
        ("svg_as_png", "image/svg+xml"), ("cut_png", "cut short"), ("no_base64", "not base64"),
        ("audio", "audio/wav"), ("link", "zoo://x"), ("embedded", "embedded text"),
        ("blob", "application/pdf"), ("unknown", "hologram"), ("structured", '"n": 1'),
        ("structured_list", "1"), ("no_content", "without any content"),
        ("empty", "without any content"), ("escape", "red"),
    ]:  # fmt: skip
        assert says in text_of(found[name]), name
        assert not found[name].is_error
    # Its structured part breaks its own schema: the text is not lost for that.
    assert text_of(found["structured_wrong"]) == "the text"
    assert found["failed_image"].is_error
