"""/container against the offline server: what it shows, and what its actions change."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.messages import UserMessage, text_content
from agent_tui.conversation import container_files
from agent_tui.conversation.commands.container import complete
from agent_tui.conversation.results import CommandResult
from agent_tui.offline.containers import ContainerOptions
from agent_tui.sessions.store import Session
from tests.faults.helpers import Gate, Talk, blocks, instant, said, talking

MAKES = {
    "text": "I write it.",
    "program": "open('chart.csv', 'w').write('region,sum\\nnorth,12\\n')\nprint('written')",
}
DONE = {"text": "There it is."}


@asynccontextmanager
async def ready(tmp_path: Path, *turns: dict[str, Any], **more: Any) -> AsyncIterator[Talk]:
    more = {"tools": [instant()], "programmatic": "both"} | more
    async with talking(*turns, cwd=tmp_path, **more) as talk:
        yield talk


async def run(talk: Talk, line: str) -> CommandResult:
    return await talk.conversation.command(line)


async def good(talk: Talk, line: str) -> dict[str, Any]:
    """The data of a command that must succeed."""
    result = await run(talk, line)
    assert result.error is None, result.error
    return result.data or {}


async def error(talk: Talk, line: str) -> str:
    result = await run(talk, line)
    assert result.error and "\n" not in result.error
    return result.error


# --- state ------------------------------------------------------------------------------------


async def test_the_state_equals_the_servers_at_each_step(tmp_path: Path) -> None:
    gate = Gate("slow")
    turns = [
        {"program": "a = await work()\nb = await slow()\nprint(a, b)"},
        DONE,
        {"program": "await work()\n1 / 0"},
        {"text": "It failed."},
    ]

    async with ready(tmp_path, *turns, tools=[instant(), gate.tool]) as talk:
        assert (await good(talk, "/container"))["container"] is None

        async def same() -> dict[str, Any]:
            """What the command says, held against what the server says of its container."""
            ours = (await good(talk, "/container"))["container"]
            (theirs,) = talk.server.containers
            for name in ("id", "state", "pending", "programs", "reused"):
                assert ours[name] == theirs[name], name
            return ours

        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        paused = await same()
        assert (paused["state"], paused["pending"], paused["calls"]) == ("paused", 1, 2)
        assert paused["answer_due_at"] is not None
        gate.may_end(gate.begun[0])
        await talk.idle()
        idle = await same()
        assert (idle["state"], idle["last_output"]) == ("idle", "done done\n")
        assert idle["round_trips_saved"] == 1 and idle["kept_out_tokens_estimate"] > 0
        await talk.say("again")
        failed = await same()
        assert [(r["state"], r["exit_code"]) for r in failed["runs"]] == [
            ("done", 0),
            ("failed", 1),
        ]
        text = (await run(talk, "/container")).text
        assert "**idle**" in text and "| program 2 | 1 | 1 |" in text and "estimate" in text


async def test_created_without_a_program_and_expired_by_its_time(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n")
    options = ContainerOptions(idle_seconds=0.3)
    async with ready(tmp_path, {"text": "I have it."}, containers=options) as talk:
        await good(talk, "/container upload data.csv")
        await talk.say("look at this")
        (theirs,) = talk.server.containers
        ours = talk.conversation.container
        assert ours is not None and ours.id == theirs["id"]
        assert ours.state == "created" == theirs["state"]
        await talk.until(lambda: talk.conversation.container.state == "expired")  # type: ignore[union-attr]
        await talk.until(lambda: talk.server.containers[0]["state"] == "expired")


async def test_the_estimate_is_near_to_what_the_server_counts(tmp_path: Path) -> None:
    """Kept out of the context: the results of the calls, as count_tokens has them."""
    text = "The sales of the north grew by 12.5 % in 2026, those of the south fell. " * 40
    program = "for _ in range(6):\n    x = await work()\nprint(len(x))"
    async with ready(tmp_path, {"program": program}, DONE, tools=[instant(result=text)]) as talk:
        await talk.say("go")
        from agent_tui.offline.wire import input_tokens

        def counted(words: str) -> int:
            return input_tokens({"messages": [{"role": "user", "content": words}]})

        container = talk.conversation.container
        assert container is not None
        exact = 6 * (counted(text) - counted("x"))
        assert abs(container.kept_out_tokens_estimate - exact) <= 0.2 * exact


async def test_another_start_knows_the_container_and_its_programs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    session = Session.create(str(tmp_path), home)
    async with ready(tmp_path, MAKES, DONE, session=session) as talk:
        await talk.say("go")
        before = talk.conversation.container
        path = talk.conversation.session.path
        assert before is not None and path is not None
        await talk.until(lambda: talk.conversation.container.files[0].get("name"))  # type: ignore[union-attr]
        await talk.conversation.close()
        again = await asyncio.to_thread(Session.open, path)
        async with talking(cwd=tmp_path, session=again, tools=[instant()]) as resumed:
            after = resumed.conversation.container
            assert after is not None
            for name in ("id", "state", "programs", "calls", "reused", "last_output"):
                assert getattr(after, name) == getattr(before, name), name
            assert [r.exit_code for r in after.runs] == [0]


# --- files ------------------------------------------------------------------------------------


async def test_files_are_listed_previewed_and_saved_by_name_or_id(tmp_path: Path) -> None:
    async with ready(tmp_path, MAKES, DONE) as talk:
        await talk.say("make a chart")
        file = (await talk.until(lambda: (f := talk.conversation.files.known()) and f[0].get("name")
                                 and f[0]))  # fmt: skip
        (listed,) = (await good(talk, "/container files"))["files"]
        assert (listed["name"], listed["where"]) == ("chart.csv", "container")
        assert (listed["file_id"], listed["size"]) == (file["file_id"], 20)
        preview = await good(talk, "/container preview chart.csv")
        assert (preview["kind"], preview["text"]) == ("text", "region,sum\nnorth,12\n")
        saved = await good(talk, f"/container download {file['file_id']}")
        assert saved["path"] == str(tmp_path / "chart.csv")
        assert (tmp_path / "chart.csv").read_text() == "region,sum\nnorth,12\n"
        again = await good(talk, "/container download chart.csv")
        assert again["path"] == str(tmp_path / "chart (2).csv")
        named = await good(talk, "/container download chart.csv 'sub dir.csv'")
        assert named["path"] == str(tmp_path / "sub dir.csv")
        assert (tmp_path / "sub dir.csv").read_bytes() == (tmp_path / "chart.csv").read_bytes()
        assert "exists already" in await error(talk, "/container download chart.csv chart.csv")
        assert "no folder" in await error(talk, "/container download chart.csv nowhere/")
        assert "no file nothing.csv" in await error(talk, "/container preview nothing.csv")
        assert "no file file_0" in await error(talk, "/container preview file_0")


async def test_an_upload_goes_into_the_container_with_the_next_message(tmp_path: Path) -> None:
    (tmp_path / "sales figures.csv").write_text("north,12\n")
    turns = [{"program": "import os\nprint(open('sales figures.csv').read())"}, DONE]
    async with ready(tmp_path, *turns) as talk:
        data = await good(talk, "/container upload 'sales figures.csv'")
        waiting = (await good(talk, "/container"))["attached"]
        assert [w["file_id"] for w in waiting] == [data["file_id"]]
        await talk.say("sum it")
        talk.assert_accepted()
        (block,) = blocks(talk.bodies[0], "container_upload")
        assert block["file_id"] == data["file_id"]
        assert said(talk.bodies[0]["messages"][0]) == ["sum it"]
        assert (await good(talk, "/container"))["container"]["attached"] == []
        await talk.say("and?")
        assert len(blocks(talk.bodies[-1], "container_upload")) == 1, "it stays in the history"
        (uploaded,) = talk.conversation.messages[0].uploads  # type: ignore[union-attr]
        assert (uploaded.name, uploaded.size) == ("sales figures.csv", 9)
        assert "does not give it back" in await error(
            talk, "/container preview 'sales figures.csv'"
        )


async def test_without_code_execution_an_upload_does_not_spoil_the_history(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    async with ready(tmp_path, DONE, DONE, programmatic="off") as talk:
        result = await run(talk, "/container upload a.csv")
        assert "see /tools" in result.text
        await talk.say("look")
        talk.assert_accepted()
        assert blocks(talk.bodies[0], "container_upload") == []
        assert any("a.csv" in text for text in said(talk.bodies[0]["messages"][0]))


async def test_an_upload_that_the_service_has_no_more_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    async with ready(tmp_path, DONE, DONE, DONE) as talk:
        data = await good(talk, "/container upload a.csv")
        await talk.conversation.files.api.delete(data["file_id"])
        await talk.say("look")
        assert [e["status"] for e in talk.entries] == [404, 200]
        assert "a.csv no more" in talk.notices
        await talk.say("and?")
        assert talk.entries[-1]["status"] == 200 and len(talk.entries) == 3
        assert blocks(talk.bodies[-1], "container_upload") == []


async def test_a_queued_message_carries_its_upload_and_keeps_it_when_edited(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    gate = Gate("slow")
    turns = [{"tool_calls": [{"name": "slow", "input": {}}]}, DONE, DONE]
    async with ready(tmp_path, *turns, tools=[instant(), gate.tool]) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        await good(talk, "/container upload a.csv")
        await talk.conversation.submit("with this")
        (item,) = talk.conversation.queue()
        talk.conversation.queue_lock(item.id)
        await talk.conversation.queue_edit(item.id, "with this file")
        gate.may_end(gate.begun[0])
        await talk.idle()
        talk.assert_accepted()
        last = next(m for m in reversed(talk.bodies[-1]["messages"]) if m["role"] == "user")
        assert [b["type"] for b in last["content"]] == ["tool_result", "container_upload", "text"]


async def test_a_withdrawn_message_leaves_its_upload_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    gate = Gate("slow")
    turns = [{"tool_calls": [{"name": "slow", "input": {}}]}, DONE]
    async with ready(tmp_path, *turns, tools=[instant(), gate.tool]) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        data = await good(talk, "/container upload a.csv")
        await talk.conversation.submit("with this")
        talk.conversation.queue_remove(talk.conversation.queue()[0].id)
        await talk.conversation.submit("or with this")
        gate.may_end(gate.begun[0])
        await talk.idle()
        (block,) = blocks(talk.bodies[-1], "container_upload")
        assert block["file_id"] == data["file_id"]


async def test_a_waiting_upload_outlives_the_container(tmp_path: Path) -> None:
    """The file is kept at the service, not in the container."""
    (tmp_path / "a.csv").write_text("x")
    async with ready(tmp_path, {"program": "x = 1"}, DONE, DONE) as talk:
        await talk.say("go")
        data = await good(talk, "/container upload a.csv")
        assert (await good(talk, "/container new"))["given_up"]
        await talk.say("again")
        talk.assert_accepted()
        (block,) = blocks(talk.bodies[-1], "container_upload")
        assert block["file_id"] == data["file_id"]


async def test_a_waiting_upload_is_there_after_a_crash(tmp_path: Path) -> None:
    """Also one that nothing was said with yet; what has gone out waits no more."""
    (tmp_path / "a.csv").write_text("x")
    (tmp_path / "b.csv").write_text("y")
    kept = Session.create(str(tmp_path), tmp_path / "home")
    async with ready(tmp_path, DONE, session=kept) as talk:
        sent = await good(talk, "/container upload a.csv")
        again = Session.open(_crashed(talk.conversation.session, tmp_path / "first.jsonl"))
        assert [u.file_id for u in again.uploads] == [sent["file_id"]]
        again.close()
        await talk.say("look")
        waits = await good(talk, "/container upload b.csv")
        copy = _crashed(talk.conversation.session, tmp_path / "second.jsonl")
    again = Session.open(copy)
    async with ready(tmp_path, DONE, session=again) as talk:
        assert [u.file_id for u in talk.conversation.files.attached] == [waits["file_id"]]
        assert "b.csv" in (await run(talk, "/container")).text
        assert any("b.csv" in notice for notice in talk.conversation.restored().notices)
        message = talk.conversation.files.attach_to(UserMessage(content=text_content("go")))
        assert [u.file_id for u in message.uploads] == [waits["file_id"]]


async def test_a_crash_leaves_an_upload_waiting_or_sent_never_both(tmp_path: Path) -> None:
    """Cut behind each line of the record."""
    (tmp_path / "a.csv").write_text("x")
    kept = Session.create(str(tmp_path), tmp_path / "home")
    async with ready(tmp_path, DONE, session=kept) as talk:
        upload = await good(talk, "/container upload a.csv")
        await talk.say("look")
        lines = _crashed(talk.conversation.session, tmp_path / "whole.jsonl").read_bytes()
    seen: list[tuple[int, int]] = []
    written = lines.splitlines(keepends=True)
    for count in range(1, len(written) + 1):
        cut = tmp_path / f"cut-{count}.jsonl"
        cut.write_bytes(b"".join(written[:count]))
        again = Session.open(cut)
        waits = [u.file_id for u in again.uploads]
        sent = [u.file_id for m in again.messages() if m.role == "user" for u in m.uploads]
        sent += [u.file_id for i in again.queue_items() for u in i.message.uploads]
        assert {*waits, *sent} <= {upload["file_id"]}
        seen.append((len(waits), len(sent)))
        again.close()
    assert set(seen[seen.index((1, 0)) :]) == {(1, 0), (0, 1)}


def _crashed(session: Session, to: Path) -> Path:
    """A copy of what is on disk now, as kill -9 leaves it."""
    assert session.path is not None
    to.write_bytes(session.path.read_bytes())
    return to


# --- a new one --------------------------------------------------------------------------------


async def test_a_new_container(tmp_path: Path) -> None:
    turns = [{"program": "x = 1"}, DONE, {"program": "print('fresh')"}, DONE]
    async with ready(tmp_path, *turns) as talk:
        assert "no live container" in (await run(talk, "/container new")).text
        await talk.say("go")
        (first,) = talk.server.containers
        assert (await good(talk, "/container new"))["given_up"] == first["id"]
        assert talk.conversation.container.id == ""  # type: ignore[union-attr]
        await talk.say("again")
        talk.assert_accepted()
        assert talk.bodies[1].get("container") is None
        assert any("container of this conversation is gone" in t
                   for t in said(talk.bodies[1]["messages"][-1]))  # fmt: skip
        assert [c["id"] == first["id"] for c in talk.server.containers] == [True, False]
        assert talk.conversation.container.programs == 1  # type: ignore[union-attr]


async def test_a_new_container_waits_for_the_end_of_the_run(tmp_path: Path) -> None:
    gate = Gate()
    async with ready(tmp_path, {"program": "await work()"}, DONE, tools=[gate.tool]) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        assert "Stop the run first" in await error(talk, "/container new")
        gate.may_end(gate.begun[0])
        await talk.idle()


# --- forms ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("/container what", "The form is: /container ["),
        ("/container files now", "The form is: /container files"),
        ("/container preview", "The form is: /container preview FILE"),
        ("/container download", "The form is: /container download FILE [PATH]"),
        ("/container download a b c", "quotation marks"),
        ("/container upload", "The form is: /container upload PATH"),
        ("/container upload 'a b", "quotation mark is not closed"),
        ("/container upload missing.csv", "No such file"),
        ("/container upload ~nobody-here/x", "nobody-here"),
    ],
)
async def test_what_is_typed_wrong_is_told_the_right_form(
    tmp_path: Path, line: str, says: str
) -> None:
    async with ready(tmp_path) as talk:
        assert says in await error(talk, line)


async def test_a_server_without_files_is_said(tmp_path: Path) -> None:
    async with ready(tmp_path) as talk:
        talk.conversation.endpoint.api.provider = "bedrock"
        assert "no Files API" in await error(talk, "/container files")


# --- foreign names and content ------------------------------------------------------------------


async def test_previews_of_every_kind(tmp_path: Path) -> None:
    contents = {
        "long.txt": "\n".join(f"line {n}" for n in range(500)).encode(),
        "odd.md": b"```\nrm -rf /\n````\n| x |\n\x1b[31mred",
        "picture.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x20\x00\x00\x00\x10\x08",
        "data.bin": bytes(range(256)),
        "cut.txt": ("é" * 40_000).encode(),
    }
    async with ready(tmp_path) as talk:
        files = talk.server._files  # type: ignore[attr-defined]
        for name, content in contents.items():
            files.add(name, content, made_by_program=True)
        previews = {name: await run(talk, f"/container preview {name}") for name in contents}
        kinds = {name: (p.data or {})["kind"] for name, p in previews.items()}
        assert kinds == {
            "long.txt": "text", "odd.md": "text", "picture.png": "image", "data.bin": "binary",
            "cut.txt": "text",
        }  # fmt: skip
        assert (
            "line 59\n" in previews["long.txt"].text
            and "line 60\n" not in previews["long.txt"].text
        )
        assert "There is more of it" in previews["long.txt"].text
        assert "32 × 16 pixels" in previews["picture.png"].text
        assert "0010  10 11 12" in previews["data.bin"].text
        assert "\x1b" not in previews["odd.md"].text
        opening = previews["odd.md"].text.split("\n")[2]
        assert opening == "`````text" and previews["odd.md"].text.endswith("\n`````")


async def test_all_pages_of_the_service_are_read(tmp_path: Path) -> None:
    async with ready(tmp_path) as talk:
        for number in range(130):
            talk.server._files.add(f"f{number}.txt", b"x", made_by_program=True)  # type: ignore[attr-defined]
        listed = await talk.conversation.files.api.list()
        assert [f.name for f in listed] == [f"f{n}.txt" for n in reversed(range(130))]
        saved = await good(talk, "/container download f0.txt")
        assert saved["bytes"] == 1, "a name is looked for on every page"


async def test_names_with_marks_of_tables_stay_in_their_cell(tmp_path: Path) -> None:
    async with ready(tmp_path) as talk:
        talk.server._files.add("a|b`c\x1b.txt", b"x", made_by_program=True)  # type: ignore[attr-defined]
        text = (await run(talk, "/container files")).text
        assert "`a\\|b'c␛.txt`" in text and "\x1b" not in text


# --- completion ---------------------------------------------------------------------------------


async def test_actions_names_and_paths_are_completed(tmp_path: Path) -> None:
    (tmp_path / "sales figures.csv").write_text("x")
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").write_text("x")
    async with ready(tmp_path, MAKES, DONE) as talk:
        await talk.say("go")
        await talk.until(lambda: talk.conversation.files.known()[0].get("name"))

        def offered(arguments: str) -> list[str]:
            return [c.arguments for c in complete(talk.conversation, arguments)]

        assert offered("") == ["files", "preview ", "download ", "upload ", "new"]
        assert offered("do") == ["download "]
        assert offered("preview ") == ["preview chart.csv"]
        assert offered("download ch") == ["download chart.csv"]
        assert offered("download x") == []
        assert offered("upload s") == ["upload 'sales figures.csv'", "upload sub/"]
        assert offered("upload .h") == ["upload .hidden"]
        assert offered("upload nowhere/") == []


async def test_a_list_of_files_waits_for_their_names(tmp_path: Path) -> None:
    """What a program makes is known by its id until the service was asked."""
    async with ready(tmp_path, MAKES, DONE) as talk:
        files = talk.conversation.files
        files._has_files = False  # nobody asks by itself
        await talk.say("make a chart")
        assert [f.get("name") for f in files.known()] in ([None], [""])
        result = await run(talk, "/container files")
        assert "chart.csv" in result.text
        (listed,) = (result.data or {})["files"]
        assert (listed["name"], listed["where"], listed["size"]) == ("chart.csv", "container", 20)


async def test_a_name_that_the_service_does_not_tell_is_not_made_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ready(tmp_path, MAKES, DONE) as talk:
        files = talk.conversation.files
        files._has_files = False
        await talk.say("make a chart")

        async def none(most: int = 0) -> list[Any]:
            return []

        async def never(file_id: str) -> Any:
            await asyncio.Event().wait()

        monkeypatch.setattr(files.api, "list", none)
        monkeypatch.setattr(files.api, "metadata", never)
        monkeypatch.setattr(container_files, "NAMES_S", 0.01)
        files._has_files = True
        text = (await run(talk, "/container files")).text
        assert "(name not fetched yet)" in text and "file_" in text
