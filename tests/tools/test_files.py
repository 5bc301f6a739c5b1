"""read, write, edit: faults A30, A31, A34, A35, C11, C12, E17 and what a file must survive."""

# ruff: noqa: ASYNC240

import asyncio
import base64
import os
import shutil
import stat
import struct
import threading
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.messages import ImageContent
from agent_tui.agent.tools import AgentTool
from agent_tui.text import counted
from agent_tui.tools import file_text
from agent_tui.tools.diffs import changed_lines, split_lines, unified_diff
from agent_tui.tools.edits import Edit, apply_edits
from agent_tui.tools.workspace import ToolError, Workspace

from .conftest import Call, text_of


def png(width: int = 3, height: int = 2) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * (width + 1) * min(height, 10))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def jpeg(width: int, height: int) -> bytes:
    app0 = b"\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0"
    frame = b"\xff\xc0\x00\x0b\x08" + struct.pack(">HH", height, width) + b"\x01\x01\x11\0"
    return b"\xff\xd8" + app0 + frame + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00ab\xff\xd9"


def webp(width: int, height: int) -> bytes:
    bits = (width - 1) | (height - 1) << 14
    body = b"WEBPVP8L" + struct.pack("<I", 6) + b"\x2f" + struct.pack("<I", bits) + b"\0"
    return b"RIFF" + struct.pack("<I", len(body)) + body


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0\x3b"


# --- read -----------------------------------------------------------------------------


async def test_read_numbers_lines_and_says_which(call: Call, cwd: Path) -> None:
    (cwd / "f.py").write_text("one\n\ttwo\n\nfour")
    result = await call("read", path="f.py")
    assert text_of(result) == "     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour"
    assert result.details == {"path": "f.py", "first_line": 1, "last_line": 4}
    assert not result.is_error


async def test_read_window_tells_how_to_go_on(call: Call, cwd: Path) -> None:
    (cwd / "f").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    result = await call("read", path="f", offset=10, limit=3)
    text = text_of(result)
    assert text.startswith("    10\tline 10\n    11\tline 11\n    12\tline 12\n\n[")
    assert "Lines 10-12 of 100" in text and "offset=13" in text
    assert result.details == {"path": "f", "first_line": 10, "last_line": 12}

    last = text_of(await call("read", path="f", offset=100))
    assert last == "   100\tline 100"


async def test_read_past_the_end_says_how_long_the_file_is(call: Call, cwd: Path) -> None:
    (cwd / "f").write_text("a\nb\nc")
    result = await call("read", path="f", offset=7)
    assert result.is_error and "3 lines" in text_of(result)


async def test_read_caps_size_with_a_note_that_leads_through_the_whole_file(
    call: Call, cwd: Path
) -> None:
    lines = [f"{n} " + "x" * 90 for n in range(1, 5001)]
    (cwd / "f").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    offset = 1
    for _ in range(20):
        result = await call("read", path="f", offset=offset)
        text = text_of(result)
        assert len(text) < 60_000
        seen += [line.split("\t", 1)[1] for line in text.split("\n\n[")[0].split("\n")]
        assert result.details["first_line"] == offset
        offset = result.details["last_line"] + 1
        if "Go on" not in text:
            break
        assert f"offset={offset}" in text
    assert seen == lines


async def test_read_cuts_a_very_long_line_and_says_so(call: Call, cwd: Path) -> None:
    (cwd / "f").write_text("é" * 3_000_000 + "\nsecond\n")
    text = text_of(await call("read", path="f"))
    assert len(text) < 3000
    assert "not shown" in text and "     2\tsecond" in text
    assert "\ufffd" not in text and "UTF-8" not in text


async def test_read_of_an_empty_file(call: Call, cwd: Path) -> None:
    (cwd / "f").touch()
    assert "empty" in text_of(await call("read", path="f"))


async def test_read_looks_at_the_disk_every_time(call: Call, cwd: Path) -> None:
    file = cwd / "f"
    file.write_text("before")
    os.utime(file, (1, 1))
    assert "before" in text_of(await call("read", path="f"))
    file.write_text("behind")
    os.utime(file, (1, 1))
    assert "behind" in text_of(await call("read", path="f"))


async def test_read_of_a_missing_file_names_the_nearest(call: Call, cwd: Path) -> None:
    (cwd / "settings.py").touch()
    result = await call("read", path="setings.py")
    assert result.is_error and "settings.py" in text_of(result)
    (cwd / "src").mkdir()
    result = await call("read", path="scr/main.py")
    assert "'scr'" in text_of(result) and "src" in text_of(result)


async def test_read_of_a_folder_says_use_list(call: Call, cwd: Path) -> None:
    result = await call("read", path=".")
    assert result.is_error and "list" in text_of(result)


async def test_read_of_a_pipe_does_not_hang(call: Call, cwd: Path) -> None:
    os.mkfifo(cwd / "pipe")
    result = await asyncio.wait_for(call("read", path="pipe"), 5)
    assert result.is_error and "regular file" in text_of(result)


async def test_C11_binary_is_refused_with_size_and_type(call: Call, cwd: Path) -> None:
    data = b"PK\x03\x04\x14\x00\x00\x08" + bytes(range(256)) * 4
    (cwd / "sheet.ods").write_bytes(data)
    result = await call("read", path="sheet.ods")
    assert result.is_error
    assert text_of(result).startswith(
        f"binary file, {len(data):,} bytes, application/vnd.oasis.opendocument.spreadsheet"
    )
    (cwd / "noname").write_bytes(b"\x7fELF\x02\x01\x01\0" + b"\0" * 100)
    assert "application/x-executable" in text_of(await call("read", path="noname"))


async def test_A35_controls_are_shown_never_raw(call: Call, cwd: Path) -> None:
    (cwd / "log").write_bytes(b"x" * 9000 + b"\na\0b \x1b[31mred\n")
    text = text_of(await call("read", path="log", offset=2))
    assert "a\\x00b \\x1b[31mred" in text and "\\xNN" in text


async def test_read_of_other_encodings(call: Call, cwd: Path) -> None:
    (cwd / "bom").write_bytes(b"\xef\xbb\xbffirst\n")
    assert text_of(await call("read", path="bom")) == "     1\tfirst"
    (cwd / "latin").write_bytes("caf\xe9 au lait\n".encode("latin-1"))
    latin = text_of(await call("read", path="latin"))
    assert "caf\ufffd au lait" in latin and "not UTF-8" in latin
    (cwd / "utf16").write_bytes("größe\r\nzwei\r\n".encode("utf-16"))
    assert text_of(await call("read", path="utf16")).startswith("     1\tgröße\n     2\tzwei")
    (cwd / "crlf").write_bytes(b"a\r\nb\r\n")
    assert text_of(await call("read", path="crlf")).startswith("     1\ta\n     2\tb\n\n[Line ends")


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.png", png(), "image/png"),
        ("photo", jpeg(3, 2), "image/jpeg"),
        ("a.gif", gif(3, 2), "image/gif"),
        ("logo.png", webp(3, 2), "image/webp"),  # the bytes count, not the name
    ],
    ids=["png", "jpeg", "gif", "webp named png"],
)
async def test_A31_images_carry_the_type_of_their_bytes(
    call: Call, cwd: Path, name: str, data: bytes, kind: str
) -> None:
    (cwd / name).write_bytes(data)
    result = await call("read", path=name)
    [image] = [block for block in result.content if isinstance(block, ImageContent)]
    assert image.media_type == kind
    assert base64.b64decode(image.data) == data
    assert (result.details["width"], result.details["height"]) == (3, 2)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (png(9000, 200), "9000 x 200"),
        (png() + b"\0" * (5 * 1024 * 1024), "bytes"),
        (png() + b"\0" * (4 * 1024 * 1024), "bytes"),  # its base64 text is over 5 MB
        (png()[:-12], "damaged"),
        (jpeg(3, 2)[:-2], "damaged"),
        (webp(3, 2)[:-4], "damaged"),
        (png(0, 5), "damaged"),
    ],
    ids=["9000 px", "5 MB", "5 MB as base64", "cut png", "cut jpeg", "cut webp", "no width"],
)
async def test_A30_an_image_the_api_would_refuse_never_enters(
    call: Call, cwd: Path, data: bytes, why: str
) -> None:
    (cwd / "big.png").write_bytes(data)
    result = await call("read", path="big.png")
    assert result.is_error and why in text_of(result)
    assert all(block.type == "text" for block in result.content)


async def test_A34_lone_surrogates_in_arguments_and_names(call: Call, cwd: Path) -> None:
    result = await call("write", path="f", content="half \ud83d and whole \ud83d\ude00")
    assert not result.is_error
    assert (cwd / "f").read_text("utf-8") == "half \ufffd and whole \U0001f600"
    Path(os.fsdecode(bytes(cwd) + b"/\xff\xfe")).touch()
    text_of(await call("list"))
    text_of(await call("glob", pattern="*"))
    result = await call("read", path="\udcff\udcff")
    assert result.is_error
    text_of(result)


async def test_E17_a_missing_working_folder_is_a_clear_error(call: Call, cwd: Path) -> None:
    outside = cwd.parent / "other.txt"
    outside.write_text("still here")
    shutil.rmtree(cwd)
    for name, arguments in [
        ("read", {"path": "f"}),
        ("write", {"path": "f", "content": ""}),
        ("edit", {"path": "f", "edits": [{"old": "a", "new": "b"}]}),
        ("list", {}),
        ("glob", {"pattern": "*"}),
        ("grep", {"pattern": "x"}),
        ("shell", {"command": "ls"}),
    ]:
        result = await call(name, **arguments)
        assert result.is_error, name
        assert "no longer exists" in text_of(result) and str(cwd) in text_of(result), name
    assert not cwd.exists(), "write must not bring the folder back by the way"
    assert "still here" in text_of(await call("read", path=str(outside)))


async def test_paths_relative_home_and_absolute(
    call: Call, cwd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "me"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    (home / "f").write_text("of home")
    (cwd / "f").write_text("of cwd")
    assert "of home" in text_of(await call("read", path="~/f"))
    assert "of cwd" in text_of(await call("read", path="./f"))
    assert "of home" in text_of(await call("read", path=str(home / "f")))
    assert "of home" in text_of(await call("read", path="../me/f"))


# --- write ----------------------------------------------------------------------------


async def test_write_makes_folders_and_gives_a_diff(call: Call, cwd: Path) -> None:
    result = await call("write", path="a/b/c.txt", content="x\ny\n")
    assert (cwd / "a/b/c.txt").read_bytes() == b"x\ny\n"
    assert result.details["path"] == "a/b/c.txt"
    assert result.details["diff"] == "--- a/b/c.txt\n+++ a/b/c.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n"
    result = await call("write", path="a/b/c.txt", content="x\nz\n")
    assert result.details["diff"].endswith("@@ -1,2 +1,2 @@\n x\n-y\n+z\n")
    assert sorted(p.name for p in (cwd / "a/b").iterdir()) == ["c.txt"], "no temporary file stays"


async def test_write_keeps_the_mode_and_the_link(call: Call, cwd: Path) -> None:
    script = cwd / "run.sh"
    script.write_text("old")
    script.chmod(0o751)
    (cwd / "link").symlink_to("run.sh")
    await call("write", path="link", content="new")
    assert (cwd / "link").is_symlink()
    assert script.read_text() == "new"
    assert stat.S_IMODE(script.stat().st_mode) == 0o751


async def test_write_keeps_hard_links_together(call: Call, cwd: Path) -> None:
    (cwd / "one").write_text("a long old content")
    os.link(cwd / "one", cwd / "two")
    await call("write", path="one", content="new")
    assert (cwd / "two").read_text() == "new"


async def test_a_new_file_has_the_mode_of_the_umask(call: Call, cwd: Path) -> None:
    before = os.umask(0o027)
    try:
        await call("write", path="f", content="")
    finally:
        os.umask(before)
    assert stat.S_IMODE((cwd / "f").stat().st_mode) == 0o640


async def test_write_over_what_is_no_file(call: Call, cwd: Path) -> None:
    (cwd / "folder").mkdir()
    os.mkfifo(cwd / "pipe")
    (cwd / "file").touch()
    for path in ("folder", "pipe", "file/below"):
        result = await asyncio.wait_for(call("write", path=path, content="x"), 5)
        assert result.is_error, path
        text_of(result)
    assert stat.S_ISFIFO((cwd / "pipe").stat().st_mode)


def test_a_stopped_call_does_not_change_the_file(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("before")
    stop = threading.Event()
    stop.set()
    with pytest.raises(ToolError):
        file_text.replace_file(Workspace(str(tmp_path)), file, b"after", stop)
    assert file.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f"
    file.write_text("before")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        file_text.replace_file(Workspace(str(tmp_path)), file, b"after", threading.Event())
    assert file.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


# --- edit -----------------------------------------------------------------------------


async def test_edit_makes_all_replacements_of_the_file_as_it_was(call: Call, cwd: Path) -> None:
    (cwd / "f").write_text("a\nb\nc\n")
    result = await call(
        "edit", path="f", edits=[{"old": "c", "new": "a"}, {"old": "a\n", "new": "c\n"}]
    )
    assert not result.is_error
    assert (cwd / "f").read_text() == "c\nb\na\n"
    assert "-a\n+c\n b\n-c\n+a\n" in result.details["diff"]


async def test_edit_is_all_or_nothing_and_names_each_failure(call: Call, cwd: Path) -> None:
    content = "alpha = 1\nbeta = 2\nbeta = 2\n"
    (cwd / "f").write_text(content)
    result = await call(
        "edit",
        path="f",
        edits=[
            {"old": "alpha = 1", "new": "alpha = 3"},
            {"old": "beta = 2", "new": "beta = 4"},
            {"old": "alhpa = 1", "new": "x"},
        ],
    )
    text = text_of(result)
    assert result.is_error and (cwd / "f").read_text() == content
    assert "Nothing was changed" in text
    assert "Edit 2" in text and "2 times" in text and "lines 2, 3" in text
    assert "Edit 3" in text and "line 1" in text and "alpha = 1" in text
    assert "Edit 1" not in text


async def test_edit_knows_overlapping_occurrences_as_not_unique(call: Call, cwd: Path) -> None:
    (cwd / "f").write_text("aaa")
    assert (await call("edit", path="f", edits=[{"old": "aa", "new": "b"}])).is_error


async def test_edit_refuses_overlapping_edits(call: Call, cwd: Path) -> None:
    (cwd / "f").write_text("one two three")
    result = await call(
        "edit", path="f", edits=[{"old": "one two", "new": "1"}, {"old": "two three", "new": "2"}]
    )
    assert result.is_error and "overlap" in text_of(result)


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("if x:\n    go()", "white space"),
        ("     1\tif x:\n     2\t\tgo()", "line numbers"),
        ("\tgo_on()", "line 2"),
        ("zzzz", "Read the file again"),
    ],
)
async def test_edit_not_found_says_what_to_do(call: Call, cwd: Path, old: str, hint: str) -> None:
    (cwd / "f").write_text("if x:\n\tgo()\n")
    result = await call("edit", path="f", edits=[{"old": old, "new": "y"}])
    assert result.is_error and hint in text_of(result)


async def test_edit_of_a_missing_or_binary_file(call: Call, cwd: Path) -> None:
    (cwd / "b").write_bytes(b"\0\1\2")
    (cwd / "dangling").symlink_to("nowhere")
    edits = [{"old": "a", "new": "b"}]
    assert "binary" in text_of(await call("edit", path="b", edits=edits))
    assert "does not exist" in text_of(await call("edit", path="nothing", edits=edits))
    assert "does not exist" in text_of(await call("edit", path="dangling", edits=edits))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nold\r\nz\r\n", b"a\r\nnew\r\nline\r\nz\r\n"),
        (b"\xef\xbb\xbfa\nold\nz", b"\xef\xbb\xbfa\nnew\nline\nz"),
        (b"a\r\nb\nold\r\nz\rq\n", b"a\r\nb\nnew\nline\r\nz\rq\n"),
        ("ä\nold\nz".encode("utf-16"), "ä\nnew\nline\nz".encode("utf-16")),
        (b"caf\xe9\nold\n\xff", b"caf\xe9\nnew\nline\n\xff"),
    ],
    ids=["crlf", "bom", "mixed", "utf-16", "not utf-8"],
)
async def test_edit_keeps_every_other_byte(
    call: Call, cwd: Path, before: bytes, after: bytes
) -> None:
    (cwd / "f").write_bytes(before)
    result = await call("edit", path="f", edits=[{"old": "old", "new": "new\nline"}])
    assert not result.is_error, text_of(result)
    assert (cwd / "f").read_bytes() == after
    result.details["diff"].encode("utf-8")


async def test_edit_matches_over_crlf_line_ends(call: Call, cwd: Path) -> None:
    (cwd / "f").write_bytes(b"a\r\nb\r\nc\r\n")
    result = await call("edit", path="f", edits=[{"old": "a\nb\n", "new": "x\n"}])
    assert not result.is_error
    assert (cwd / "f").read_bytes() == b"x\r\nc\r\n"


async def test_C12_parallel_edits_of_one_file_all_land(call: Call, cwd: Path) -> None:
    (cwd / "f").write_text("".join(f"{n}\n" for n in range(1, 101)))
    (cwd / "folder").mkdir()
    (cwd / "link").symlink_to("f")
    ways = ["f", "./f", "link", "folder/../f", str(cwd / "f")]
    results = await asyncio.gather(
        *(
            call("edit", path=ways[n % len(ways)], edits=[{"old": f"\n{n}\n", "new": f"\n<{n}>\n"}])
            for n in range(2, 100, 3)
        )
    )
    assert not any(result.is_error for result in results)
    expected = [f"<{n}>" if n % 3 == 2 and n < 100 else str(n) for n in range(1, 101)]
    assert (cwd / "f").read_text().split() == expected
    assert (cwd / "link").is_symlink()


def test_C12_different_files_do_not_wait_for_each_other(tmp_path: Path) -> None:
    entered = threading.Event()
    release = threading.Event()

    def hold() -> None:
        with file_text.locked(str(tmp_path / "a")):
            entered.set()
            release.wait(5)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert entered.wait(5)
        with file_text.locked(str(tmp_path / "b")):
            assert holder.is_alive()
    finally:
        release.set()
        holder.join(5)


async def test_arguments_as_models_know_them_elsewhere(
    call: Call, cwd: Path, tools: dict[str, AgentTool]
) -> None:
    (cwd / "f").write_text("a b")
    assert not (await call("edit", file_path="f", old_string="a", new_string="1")).is_error
    assert not (await call("edit", path="f", edits='[{"old": "b", "new": "2"}]')).is_error
    assert (cwd / "f").read_text() == "1 2"
    assert not (await call("read", path="f", offset=None, limit=None)).is_error
    prepare = tools["edit"].prepare_arguments
    assert prepare
    for odd in (None, 3, [], "x", {"edits": 3, "path": 1}, {"edits": [1, None]}, {}):
        prepare(odd)  # validation says what is wrong; preparing must not break before it


# --- what must always hold ------------------------------------------------------------

_lines = st.lists(st.sampled_from(["a", "b", "c", "", "dd"]), max_size=12)
_texts = st.builds(lambda lines, end: "\n".join(lines) + end, _lines, st.sampled_from(["", "\n"]))


def patched(old: list[str], diff: str) -> str:
    """A unified diff applied, by the rules of the format."""
    out: list[str] = []
    at = 0
    rows = diff.split("\n")[2:-1]
    for number, row in enumerate(rows):
        bare = number + 1 < len(rows) and rows[number + 1].startswith("\\")
        line = row[1:] + ("" if bare else "\n")
        if row.startswith("@@"):
            start, _, length = row.split()[1][1:].partition(",")
            first = int(start) - (length != "0")
            out += old[at:first]
            at = first
        elif row.startswith("+"):
            out.append(line)
        elif row.startswith((" ", "-")):
            assert old[at] == line, (old, diff)
            at += 1
            if row.startswith(" "):
                out.append(line)
    return "".join(out + old[at:])


@settings(deadline=None)
@given(_texts, _texts)
def test_a_diff_applied_to_the_old_text_gives_the_new(old: str, new: str) -> None:
    a, b = split_lines(old), split_lines(new)
    diff = unified_diff(a, b, changed_lines(a, b), "f")
    assert (patched(a, diff) if diff else old) == new
    assert bool(diff) == (old != new)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "é", "\n", "\r\n", "\r", "\udcff"]), max_size=30),
    st.lists(st.tuples(st.sampled_from(["", "x", "\n", "x\ny\n"]), st.booleans()), max_size=6),
)
def test_edits_change_what_they_name_and_nothing_else(
    pieces: list[str], news: list[tuple[str, bool]]
) -> None:
    """Unique markers are put between the pieces; each is replaced. All else must stay."""
    markers = [f"<{n}>" if n < len(news) else "" for n in range(len(pieces))]
    text = "".join(piece + marker for piece, marker in zip(pieces, markers, strict=True))
    mostly_crlf = 2 * text.count("\r\n") > text.count("\n")
    expected, edits = "", []
    for n, piece in enumerate(pieces):
        new, keep = news[n] if n < len(news) else ("", True)
        written = new.replace("\n", "\r\n") if mostly_crlf else new
        expected += piece + (markers[n] if keep else written)
        if not keep:
            edits.append(Edit(markers[n], new))
    if not edits:
        return
    edited = apply_edits(text, edits[::-1], "f")
    assert edited.text == expected
    diff = unified_diff(edited.old_lines, edited.new_lines, edited.changes, "f")
    flat = expected.replace("\r\n", "\n")
    assert (patched(edited.old_lines, diff) if diff else "".join(edited.old_lines)) == flat


@settings(deadline=None)
@given(st.binary(max_size=60), st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]))
def test_decoding_and_encoding_give_back_the_same_bytes(data: bytes, bom: bytes) -> None:
    known = file_text.decode(bom + data)
    if known is not None:
        assert known.encode(known.text) == bom + data
        file_text.shown_text(known.text)[0].encode("utf-8")


def test_a_diff_of_a_whole_large_file_is_bounded() -> None:
    old = [f"{n}\n" for n in range(60_000)]
    new = [f"{n}x\n" for n in range(60_000)]
    diff = unified_diff(old, new, changed_lines(old, new), "f")
    assert len(diff) < 41_000 and "more lines" in diff.splitlines()[-1]


@pytest.mark.parametrize(
    ("n", "told"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (2400, "2,400 lines")]
)
def test_one_is_not_many(n: int, told: str) -> None:
    assert counted(n, "line") == told
