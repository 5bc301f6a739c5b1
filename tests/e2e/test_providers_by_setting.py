"""`agent-tui -p` on a cloud, chosen by setting: a turn with a tool, and what is said where the
package or the credentials are missing."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.fixtures import Begin, Run
from tests.messages_api.cloud_stand_in import EVENTS, FRAMES, Clouds, check_signature, clouds

SECRET = "very-secret-aws-key-0123456789"
TURNS = (
    {"match": "by bedrock", "tool_calls": [{"name": "list", "input": {}}]},
    {"match": "by bedrock", "text": "Bedrock has looked."},
    {"match": "by foundry", "tool_calls": [{"name": "list", "input": {}}]},
    {"match": "by foundry", "text": "Foundry has looked."},
)
WITHOUT_BOTO3 = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "boto3":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Without())
"""


@pytest.fixture(scope="module")
def cloud() -> Iterator[Clouds]:
    with clouds(*TURNS) as found:
        yield found


@pytest.fixture(scope="module")
def runs(cloud: Clouds, begin: Begin, folder: Callable[[str], Path]) -> dict[str, Run]:
    home = folder("bedrock")
    (home / "agent-tui").mkdir()
    (home / "agent-tui" / "config.toml").write_text(
        f"provider = 'bedrock'\naws_region = 'eu-central-1'\nbase_url = '{cloud.url}'\n"
    )
    shim = folder("shim")
    (shim / "sitecustomize.py").write_text(WITHOUT_BOTO3)
    nobody = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/none"}
    aws = {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": SECRET}
    foundry = {
        "AGENT_TUI_PROVIDER": "foundry", "AGENT_TUI_BASE_URL": f"{cloud.url}/anthropic",
        "ANTHROPIC_FOUNDRY_API_KEY": "foundry-key-1", "ANTHROPIC_API_KEY": "sk-ant-not-here",
    }  # fmt: skip
    return {
        "bedrock": begin("-p", "look by bedrock", home=home, env=nobody | aws),
        "foundry": begin("-p", "look by foundry", env=foundry),
        "no credentials": begin("-p", "look in vain", home=home, env=nobody),
        "no package": begin("-p", "look in vain", home=home, env={"PYTHONPATH": str(shim)}),
    }


def test_the_setting_chooses_where_and_how_it_is_asked(runs: dict[str, Run], cloud: Clouds) -> None:
    for name in ("bedrock", "foundry"):
        run = runs[name].result()
        assert (run.returncode, run.stderr) == (0, b"")
        assert run.stdout == f"{name.capitalize()} has looked.\n".encode()
    by_bedrock = [s for s in cloud.seen if s.path.startswith("/model/")]
    by_foundry = [s for s in cloud.seen if s.path == "/anthropic/v1/messages"]
    assert len(by_bedrock) == len(by_foundry) == 2 and len(cloud.seen) == 4
    assert {s.kind for s in by_bedrock} == {FRAMES}
    assert {s.kind for s in by_foundry} == {EVENTS}
    for seen in by_bedrock:
        key = check_signature(seen, cloud.url, SECRET, service="bedrock", region="eu-central-1")
        assert key == "AKIDTEST"
    assert {s.headers["x-api-key"] for s in by_foundry} == {"foundry-key-1"}


def test_a_missing_package_is_told_with_the_command_that_installs_it(
    runs: dict[str, Run],
) -> None:
    run = runs["no package"].result()
    assert (run.returncode, run.stdout) == (2, b"")
    (line,) = run.stderr.decode().splitlines()
    assert "boto3" in line
    assert f"run {sys.executable} -m pip install 'agent-tui[bedrock]'" in line


def test_missing_credentials_are_told_with_what_to_do(runs: dict[str, Run]) -> None:
    run = runs["no credentials"].result()
    assert (run.returncode, run.stdout) == (2, b"")
    (line,) = run.stderr.decode().splitlines()
    assert "No AWS credentials were found" in line and "aws sso login" in line
