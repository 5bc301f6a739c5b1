"""The files of a session: what programs write is told, what is put there can be read."""

import asyncio
import errno
import posixpath
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox_making import TOOLS, answer, finished, paused, run

from agent_tui.programs.files import SandboxFiles
from agent_tui.programs.monty import MontySession


def written(done: object) -> dict[str, bytes]:
    return {file.path: file.data for file in done.files}  # type: ignore[attr-defined]


async def test_what_a_program_writes_is_in_its_outcome(session: MontySession) -> None:
    code = (
        "from pathlib import Path\n"
        "with open('a.txt', 'w') as file:\n    file.write('one ')\n    file.write('two')\n"
        "with open('a.txt', 'a') as file:\n    file.write(' three')\n"
        "Path('sub').mkdir()\nPath('sub/b.bin').write_bytes(b'\\x00\\xff')\n"
        "open('empty', 'w')\n"
        "open('gone', 'w').write('x')\nPath('gone').unlink()\n"
        "open('old', 'w').write('moved')\nPath('old').rename('new')\n"
    )
    done = await run(session, code)
    assert done.stderr == ""
    assert written(done) == {
        "/files/a.txt": b"one two three",
        "/files/sub/b.bin": b"\x00\xff",
        "/files/empty": b"",
        "/files/new": b"moved",
    }
    assert written(await run(session, "print(open('a.txt').read())")) == {}
    again = await run(session, "open('a.txt', 'w').write('z')")
    assert written(again) == {"/files/a.txt": b"z"}


async def test_an_uploaded_file_can_be_read_and_is_no_output(session: MontySession) -> None:
    path = session.put_file("../../etc/data.csv", b"a,b\n1,2\n")
    assert path == "/files/data.csv"
    done = await run(
        session, "import os\nprint(open(os.environ['INPUT_DIR'] + '/data.csv').read())"
    )
    assert done.stdout == "a,b\n1,2\n\n" and done.files == ()


async def test_files_written_before_a_pause_count_too(session: MontySession) -> None:
    step = paused(await session.start("open('a', 'w').write('x')\nawait read('b')", TOOLS))
    assert written(finished(await answer(session, step, ""))) == {"/files/a": b"x"}


async def test_many_small_writes_are_not_slow(session: MontySession) -> None:
    """Each write costs the same, however long the file has become."""
    code = (
        "with open('log', 'w') as file:\n    for n in range(3000):\n        file.write('x' * 30)\n"
        "print(len(open('log').read()))"
    )
    done = await asyncio.wait_for(run(session, code), 20)
    assert done.stdout == "90000\n"


NAMES = st.sampled_from(["a", "b", "a/c", "a/c/d", "e/.././b", "a/c/../f"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["write", "append"]), NAMES, st.text("xyé", max_size=4)),
        st.tuples(st.just("mkdir"), NAMES, st.tuples(st.booleans(), st.booleans())),
        st.tuples(st.sampled_from(["unlink", "rmdir", "read", "list", "exists"]), NAMES),
        st.tuples(st.just("rename"), NAMES, NAMES),
    ),
    max_size=14,
)


def on_disk(root: Path, step: tuple[Any, ...]) -> Any:
    kind, name, *rest = step
    path = root / posixpath.normpath(name)
    match kind:
        case "write":
            return path.write_text(rest[0], encoding="utf-8")
        case "append":
            with path.open("a", encoding="utf-8") as file:
                return file.write(rest[0])
        case "mkdir":
            return path.mkdir(parents=rest[0][0], exist_ok=rest[0][1])
        case "read":
            return path.read_text(encoding="utf-8")
        case "list":
            return sorted(p.name for p in path.iterdir())
        case "rename":
            path.rename(root / posixpath.normpath(rest[0]))
            return None
        case "exists":
            return (path.exists(), path.is_file(), path.is_dir())
        case _:
            return getattr(path, kind)()


def in_memory(files: SandboxFiles, step: tuple[Any, ...]) -> Any:
    kind, name, *rest = step
    path = PurePosixPath(name)
    match kind:
        case "write":
            return files.dispatch("Path.write_text", (path, rest[0]), {})
        case "append":
            handle = files.dispatch("open", (path, "a"), {})
            return files.dispatch("Path.append_text", (handle, rest[0]), {})
        case "mkdir":
            more = {"parents": rest[0][0], "exist_ok": rest[0][1]}
            return files.dispatch("Path.mkdir", (path,), more)
        case "read":
            return files.dispatch("Path.read_text", (path,), {})
        case "list":
            return [p.name for p in files.dispatch("Path.iterdir", (path,), {})]
        case "rename":
            return files.dispatch("Path.rename", (path, PurePosixPath(rest[0])), {})
        case "exists":
            kinds = ("Path.exists", "Path.is_file", "Path.is_dir")
            return tuple(files.dispatch(kind, (path,), {}) for kind in kinds)  # type: ignore[arg-type]
        case _:
            return files.dispatch(f"Path.{kind}", (path,), {})


def outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except OSError as error:
        return type(error).__name__, error.errno


@settings(deadline=None, max_examples=150)
@given(STEPS)
def test_the_tree_behaves_as_a_disk_does(steps: list[tuple[Any, ...]]) -> None:
    """Each operation answers or fails as on the real file system, and leaves the same files."""
    files = SandboxFiles(limit_bytes=10_000, limit_files=100)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for step in steps:
            assert outcome(partial(in_memory, files, step)) == outcome(partial(on_disk, root, step))
        real = {
            f"/files/{p.relative_to(root)}": p.read_bytes() for p in root.rglob("*") if p.is_file()
        }
    assert files.all() == real
    assert set(files.take_written()) == set(real) and files.take_written() == []


@settings(deadline=None)
@given(STEPS)
def test_the_tree_never_holds_more_than_its_limits(steps: list[tuple[Any, ...]]) -> None:
    files = SandboxFiles(limit_bytes=6, limit_files=2)
    for step in steps:
        before = files.all()
        result = outcome(partial(in_memory, files, step))
        held = files.all()
        assert len(held) <= 2 and sum(map(len, held.values())) <= 6
        if result == ("OSError", errno.ENOSPC) and step[0] == "write":
            assert held == before, "what does not fit changes nothing"
