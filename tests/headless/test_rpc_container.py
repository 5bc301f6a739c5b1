"""The container over RPC: its events, `state` and the /container command (DESIGN: RPC)."""

from pathlib import Path

from .rpc_making import rpc

PROGRAM = {
    "text": "I count.",
    "program": "open('out.txt', 'w').write('kept')\nprint(await read(path='a.txt'))",
}


async def test_what_is_queued_takes_the_uploads_that_wait(tmp_path: Path) -> None:
    async with rpc(tmp_path, {"text": "Done."}) as it:
        (tmp_path / "work" / "a.txt").write_text("alpha\n")
        for kind in ("steer", "follow_up"):
            upload = await it.ok("command", text="/container upload a.txt")
            item_id = (await it.ok(kind, text=kind))["item_id"]
            stored = {item.id: item for item in it.stored().queue_items()}
            (held,) = stored[item_id].message.uploads  # type: ignore[union-attr]
            assert held.file_id == upload["data"]["file_id"]
            assert it.stored().uploads == []


async def test_a_program_is_told_as_it_goes_and_its_files_are_saved(tmp_path: Path) -> None:
    async with rpc(tmp_path, PROGRAM, {"text": "Done."}) as it:
        work = tmp_path / "work"
        (work / "a.txt").write_text("alpha\n")
        assert (await it.ok("state"))["container"] is None
        await it.ok("command", text="/tools all both")
        await it.ok("prompt", text="go")
        await it.idle()
        told = it.all("container_changed")
        states = [event["state"] for event in told]
        assert {"busy", "paused", "idle"} <= set(states) and states[-1] == "idle"
        paused = next(event for event in told if event["state"] == "paused")
        assert paused["pending"] == 1 and paused["answer_due_at"] is not None
        last = told[-1]
        assert (last["programs"], last["calls"], last["location"]) == (1, 1, "hosted")
        assert [(run["number"], run["state"], run["exit_code"]) for run in last["runs"]] == [
            (1, "done", 0)
        ]
        assert last["kept_out_tokens_estimate"] > 0, "an estimate, and called one"
        state = (await it.ok("state"))["container"]
        assert (state["id"], state["state"]) == (last["id"], "idle")
        answer = await it.ok("command", text="/container")
        assert answer["data"]["container"]["programs"] == 1
        await it.ok("command", text="/container download out.txt")
        assert (work / "out.txt").read_text() == "kept"
        refused = await it.error("command", text="/container download nothing.txt")
        assert "no file nothing.txt" in refused
