"""The demo's programs: they run for real, and what it says of them is read from their outcome."""

from typing import Any

import pytest
from offline_helpers import Serve, wait_for
from program_client import CALLERS, CODE, Client, call_api, tool

from agent_tui.offline import ContainerOptions

BOTH = ["direct", *CALLERS]
FILES = {
    "a.py": "     1\tone\n     2\t\n     3\tthree",
    "src/b.py": "     1\tx\n\n[Lines 1-1 of 1,234 (the most). Go on with offset=2.]",
    "c.rs": "[The file is empty.]",
    "README.md": "     1\t# hello",
}


def builtin(callers: list[str]) -> list[dict[str, Any]]:
    return [
        CODE,
        tool("read", "path", "offset", "limit", callers=callers),
        tool("list", "path", callers=callers),
        tool("glob", "pattern", "path", callers=callers),
        tool("grep", "pattern", "path", "glob", callers=callers),
        tool("write", "path", "content", callers=callers),
    ]


def workspace(files: dict[str, str]) -> Any:
    def answer(call: dict[str, Any]) -> Any:
        path = call["input"].get("path")
        if call["name"] == "read":
            return files.get(path) or FileNotFoundError(f"no such file: {path}\nmore about it")
        if call["name"] == "glob":
            return "\n".join(files)
        return "line one\nline two"

    return answer


class TestCountLines:
    def test_it_finds_reads_in_parallel_and_adds_up(self, serve: Serve) -> None:
        client = Client(serve(), builtin(BOTH))
        responses = client.run("count the lines of code with a program", workspace(FILES))
        made = [[c["input"] for c in r["content"] if c["type"] == "tool_use"] for r in responses]
        assert len(made[0]) == 1 and made[0][0]["pattern"].startswith("**/*.{py,")
        assert [c["path"] for c in made[1]] == ["a.py", "src/b.py", "c.rs"], "no README"
        assert client.outcome["stdout"].splitlines() == [
            ".py       2 files    1237 lines",
            ".rs       1 files       0 lines",
            "1237 lines in 3 of 3 files",
        ]
        text = client.last["content"][-1]["text"]
        assert "made 4 calls" in text and "1237 lines in 3 of 3 files" in text

    def test_other_files_other_numbers(self, serve: Serve) -> None:
        client = Client(serve(), builtin(BOTH))
        client.run("count lines with a program", workspace({"x.go": "     1\tonly"}))
        assert "1 lines in 1 of 1 files" in client.last["content"][-1]["text"]

    def test_a_file_that_cannot_be_read_is_named_and_left_out(self, serve: Serve) -> None:
        client = Client(serve(), builtin(BOTH))
        client.run(
            "count the lines of code with a program", workspace({"a.py": "", "b.py": " 1\tx"})
        )
        assert "skipped a.py: no such file: a.py" in client.outcome["stdout"]
        assert client.outcome["return_code"] == 0

    def test_without_the_tools_it_needs_it_says_which(self, serve: Serve) -> None:
        client = Client(serve(), [CODE, tool("read", "path"), tool("glob", callers=["direct"])])
        text = client.say("count the lines of code with a program")["content"][0]["text"]
        assert "`glob`" in text and "/tools" in text


class TestPrograms:
    def test_three_at_once_and_a_loop_of_20(self, serve: Serve) -> None:
        client = Client(serve(), builtin(CALLERS))
        responses = client.run("run a program", workspace(FILES))
        made = [[c["name"] for c in r["content"] if c["type"] == "tool_use"] for r in responses]
        assert made == [["list", "glob", "grep"], *[["glob"]] * 20, []]
        assert client.outcome["stderr"] == ""
        text = client.last["content"][-1]["text"]
        patterns = [r["content"][0]["input"]["pattern"] for r in responses[1:21]]
        assert len(set(patterns)) == 20 and "**/*.py" in patterns
        brought = sum(len(str(workspace(FILES)({"name": n, "input": {}}))) for r in made for n in r)
        assert "made 23 calls" in text and f"brought {brought} characters" in text
        assert client.state()["programs"] == 1

    def test_a_file(self, serve: Serve) -> None:
        client = Client(serve(), builtin(CALLERS))
        client.run("run a program that writes a file")
        assert "It wrote 1 file" in client.last["content"][-1]["text"]
        (output,) = client.outcome["content"]
        data = call_api(client.server, f"/v1/files/{output['file_id']}/content")
        assert data.splitlines()[:2] == [b"number,square", b"1,1"]

    def test_a_failure(self, serve: Serve) -> None:
        client = Client(serve(), builtin(CALLERS))
        client.run("run a program that fails")
        text = client.last["content"][-1]["text"]
        assert "failed after 0 calls" in text and "ZeroDivisionError" in text
        assert "about to divide" in text and client.last["stop_reason"] == "end_turn"

    def test_names_that_outlive_it(self, serve: Serve) -> None:
        client = Client(serve(), builtin(CALLERS))
        for number in (1, 2, 3):
            client.run("run a program that remembers")
            assert client.outcome["stdout"] == f"run {number} of this container\n"
            assert f"run {number} of" in client.last["content"][-1]["text"]

    def test_an_error_of_the_container_is_told(self, serve: Serve) -> None:
        options = ContainerOptions(idle_seconds=0.05, expired_answer="result")
        client = Client(serve(containers=options), builtin(CALLERS))
        client.say("run a program")
        wait_for(lambda: client.state()["state"] == "expired")
        client.answer(workspace(FILES))
        assert "`container_expired`" in client.last["content"][-1]["text"]

    def test_only_tools_that_change_things_are_not_tried(self, serve: Serve) -> None:
        client = Client(serve(), [CODE, tool("write", "path", "content")])
        answer = client.say("run a program")
        assert answer["stop_reason"] == "end_turn" and "`write`" in answer["content"][0]["text"]

    def test_a_turn_after_a_program_is_a_turn_of_its_own(self, serve: Serve) -> None:
        client = Client(serve(), builtin(BOTH))
        client.run("run a program", workspace(FILES))
        client.say("list the files")
        assert [c["name"] for c in client.calls] == ["list"]
        client.answer(workspace(FILES))
        assert "2 entries" in client.last["content"][-1]["text"]


@pytest.mark.parametrize(
    "said",
    [
        "list the files", "read a.py", "search TODO", "run ls", "tour", "make a tool fail",
        "count the lines of code", "run two things at once", "find files *.py",
        'call read with {"path": "x"}', "edit a.py: replace a by b", "write x.txt: hello",
    ],
)  # fmt: skip
def test_a_tool_for_programs_only_is_never_called_directly(serve: Serve, said: str) -> None:
    """It would be a breach: allowed_callers says who may call."""
    client = Client(serve(), builtin(CALLERS))
    client.say(said)
    assert client.calls == [] and client.last["stop_reason"] == "end_turn"
    assert client.last["content"][-1]["text"].strip()
