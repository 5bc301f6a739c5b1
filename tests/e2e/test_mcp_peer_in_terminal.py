"""A server that others wrote, asked of the user by keys: accept, decline and cancel reach it."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.peers import from_npm
from tests.e2e.servers import OfflineProcess, result_text
from tests.e2e.terminal import F4, UP, Terminal
from tests.mcp_servers.test_real_peers import NPM

pytestmark = pytest.mark.network_registry


@pytest.fixture(scope="module")
def everything(request: pytest.FixtureRequest) -> Path:
    names = [
        f"@modelcontextprotocol/server-{n}@{NPM}" for n in ("everything", "filesystem", "memory")
    ]
    folder = from_npm(request.config, f"mcp-servers-{NPM}", *names)
    return folder / "node_modules" / ".bin" / "mcp-server-everything"


def told(api: OfflineProcess, terminal: Terminal) -> str:
    """What the tool gave back, once the run has ended."""
    terminal.wait_ready()
    return result_text(api.requests()[-1].tool_results[0])


def asked(terminal: Terminal, tool: str, question: str, **given: Any) -> None:
    terminal.say(f"call ev__trigger-{tool}-request" + (f" with {given['input']}" if given else ""))
    terminal.wait_for(question)
    terminal.send(F4)
    terminal.wait_for("cancel: no answer" if tool == "sampling" else "[ decline ]")


def test_questions_of_server_everything_are_answered_by_keys(
    everything: Path, serve: Serve, open_terminal: Open
) -> None:
    api = serve()
    argv = ["--base-url", api.url, "--model", "demo", "--allow", "ev__*"]
    terminal = open_terminal(*argv, rows=44)
    terminal.wait_ready()
    terminal.say(f"/mcp add ev -- {everything}")
    terminal.wait_for("ev is connected: 16 tools.", timeout=20)
    for number, (up, says) in enumerate(
        [(3, "- Name: Ann"), (2, "declined"), (1, "cancelled")], start=1
    ):
        asked(terminal, "elicitation", "ev asks for details")
        terminal.send("Ann")
        terminal.wait_for("Ann▍")
        terminal.send(UP * up + b"\r")
        terminal.wait_gone("ev asks for details")
        assert says in told(api, terminal), number
    sampling = '{"prompt": "say something", "maxTokens": 40}'
    asked(terminal, "sampling", "ev wants an answer of the model", input=sampling)
    terminal.send("y")
    terminal.wait_for("ev would get this answer")
    terminal.send(F4)
    terminal.wait_for("cancel: no answer")
    terminal.send("y")
    terminal.wait_gone("ev would get this answer")
    assert "LLM sampling result" in told(api, terminal)
    asked(terminal, "sampling", "ev wants an answer of the model", input=sampling)
    terminal.send("n")
    terminal.wait_gone("ev wants an answer of the model")
    assert "refused" in told(api, terminal)
