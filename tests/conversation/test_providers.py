"""Each provider, chosen by setting, completes a turn with a tool against a stand-in on loopback:
where its requests go, how they are signed, how its answers are framed."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.messages import AssistantMessage, ToolResultMessage
from agent_tui.conversation.build import build_conversation
from agent_tui.conversation.conversation import Conversation
from agent_tui.conversation.endpoint import configured_endpoint
from agent_tui.conversation.events import RetryEvent
from agent_tui.conversation.retry import RetryPolicy
from agent_tui.headless.exit_codes import exit_code
from agent_tui.messages_api.client import make_client
from agent_tui.messages_api.stream import raw_events
from agent_tui.messages_api.wire_request import wire_request
from agent_tui.settings import Settings, load_settings
from tests.messages_api.cloud_stand_in import (
    EVENTS,
    FRAMES,
    Clouds,
    Refusal,
    Seen,
    check_signature,
    clouds,
    event_frame,
    exception_frame,
    frame,
)

BOUND_S = 20.0
SECRET = "very-secret-aws-key-0123456789"
AWS = {"AWS_ACCESS_KEY_ID": "AKIDAMBIENT", "AWS_SECRET_ACCESS_KEY": SECRET}
TURNS = (
    {"thinking": "Which files?", "text": "I look.", "tool_calls": [{"name": "list", "input": {}}]},
    {"text": "There is a file named grüße.txt."},
)


@pytest.fixture(autouse=True)
def nothing_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No credential but those a test gives, and no question to the metadata of a cloud."""
    import anthropic.lib.aws._auth as aws_auth

    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", *AWS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    # The SDK keeps a session for the life of a process, and with it what the environment said.
    aws_auth._get_session.cache_clear()
    yield
    aws_auth._get_session.cache_clear()


@pytest.fixture
def ambient(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """ambient(NAME=value): variables of the process, where the clouds' own libraries look."""

    def put(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return put


@asynccontextmanager
async def talking(cwd: Path, **settings: Any) -> AsyncIterator[Conversation]:
    """A conversation with these settings, as the front door makes it."""
    (cwd / "grüße.txt").write_text("hello", "utf-8")
    loaded = load_settings(cwd=str(cwd), flags=settings, environ={})
    endpoint = configured_endpoint(loaded.settings, os.environ)
    assert endpoint is not None
    conversation = await build_conversation(
        loaded, endpoint, str(cwd), retry_policy=RetryPolicy(first_wait_s=0.01)
    )
    try:
        yield conversation
    finally:
        await conversation.close()


async def say(conversation: Conversation, text: str = "which files are here?") -> AssistantMessage:
    await conversation.submit(text)
    async with asyncio.timeout(BOUND_S):
        await conversation.wait_idle()
    last = conversation.messages[-1]
    assert isinstance(last, AssistantMessage)
    return last


async def tool_turn(cwd: Path, cloud: Clouds, **settings: Any) -> list[Seen]:
    """The requests of a turn with a tool, once it has gone as it should."""
    cloud.seen.clear()
    async with talking(cwd, **settings) as conversation:
        last = await say(conversation)
        assert last.error_message is None
        assert last.text == "There is a file named grüße.txt."
        (result,) = [m for m in conversation.messages if isinstance(m, ToolResultMessage)]
        assert "grüße.txt" in result.text and not result.is_error
    assert [seen.status for seen in cloud.seen] == [200, 200]
    first, second = cloud.seen
    assert first.api and second.api
    assert [b["type"] for b in second.api["messages"][-2]["content"]] == [
        "thinking", "text", "tool_use",
    ]  # fmt: skip
    (answer,) = second.api["messages"][-1]["content"]
    assert answer["type"] == "tool_result"
    assert len({seen.path for seen in cloud.seen}) == 1
    return list(cloud.seen)


# --- Amazon -----------------------------------------------------------------------------------


async def test_bedrock(tmp_path: Path, ambient: Callable[..., None]) -> None:
    ambient(**AWS, AWS_SESSION_TOKEN="session-token-1")
    with clouds(*TURNS, *TURNS) as cloud:
        seen = await tool_turn(
            tmp_path, cloud, provider="bedrock", aws_region="eu-central-1", base_url=cloud.url,
            betas=["context-1m-2025-08-07"], headers={"anthropic-beta": "mine-1"},
        )  # fmt: skip
        for request in seen:
            model = "/model/global.anthropic.claude-sonnet-5-5"
            assert request.path == f"{model}/invoke-with-response-stream"
            assert request.kind == FRAMES
            key = check_signature(
                request, cloud.url, SECRET, service="bedrock", region="eu-central-1"
            )
            assert key == "AKIDAMBIENT"
            assert request.headers["x-amz-security-token"] == "session-token-1"
            assert request.json["anthropic_version"] == "2026-10-21"
            assert request.json["anthropic_beta"] == ["mine-1", "context-1m-2025-08-07"]
        seen = await tool_turn(
            tmp_path, cloud, provider="bedrock", aws_region="us-west-2", base_url=cloud.url,
            model="us.anthropic.claude-sonnet-4-5-20250929-v1:0", thinking="off",
        )  # fmt: skip
        assert seen[0].path == (
            "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/invoke-with-response-stream"
        )
        check_signature(seen[0], cloud.url, SECRET, service="bedrock", region="us-west-2")
        assert seen[0].json["anthropic_version"] == "bedrock-2023-05-31"
        assert "anthropic_beta" not in seen[0].json


async def test_a_profile_of_aws_is_chosen_by_setting(
    tmp_path: Path, ambient: Callable[..., None]
) -> None:
    file = tmp_path / "aws-credentials"
    file.write_text(
        "".join(
            f"[{name}]\naws_access_key_id = AKID{name.upper()}\n"
            f"aws_secret_access_key = secret-of-{name}\n"
            for name in ("home", "work")
        )
    )
    ambient(AWS_SHARED_CREDENTIALS_FILE=str(file))
    with clouds(*TURNS, *TURNS) as cloud:
        for profile in ("home", "work"):
            seen = await tool_turn(
                tmp_path, cloud, provider="bedrock", aws_region="us-east-1", base_url=cloud.url,
                aws_profile=profile,
            )  # fmt: skip
            key = check_signature(
                seen[0], cloud.url, f"secret-of-{profile}", service="bedrock", region="us-east-1"
            )
            assert key == f"AKID{profile.upper()}"


async def test_bedrock_with_a_key_of_its_own(tmp_path: Path, ambient: Callable[..., None]) -> None:
    ambient(AWS_BEARER_TOKEN_BEDROCK="bedrock-key-1", ANTHROPIC_API_KEY="sk-ant-not-for-aws")
    with clouds(*TURNS) as cloud:
        seen = await tool_turn(
            tmp_path, cloud, provider="bedrock", aws_region="eu-central-1", base_url=cloud.url
        )
    assert {s.headers["authorization"] for s in seen} == {"Bearer bedrock-key-1"}
    assert "not-for-aws" not in str([s.headers for s in seen])


async def test_bedrock_mantle(tmp_path: Path, ambient: Callable[..., None]) -> None:
    ambient(**AWS)
    with clouds(*TURNS, *TURNS) as cloud:
        where = {"provider": "bedrock-mantle", "base_url": f"{cloud.url}/anthropic"}
        seen = await tool_turn(tmp_path, cloud, **where, aws_region="eu-central-1")
        assert seen[0].path == "/anthropic/v1/messages"
        assert seen[0].kind == EVENTS
        assert seen[0].json["model"] == "anthropic.claude-sonnet-5-5"
        assert seen[0].headers["anthropic-version"] == "2026-10-21"
        check_signature(seen[1], cloud.url, SECRET, service="bedrock-mantle", region="eu-central-1")
        seen = await tool_turn(
            tmp_path, cloud, **where, aws_region="eu-central-1", api_key="mantle-key-1"
        )
        assert seen[0].headers["authorization"] == "Bearer mantle-key-1"


async def test_claude_platform_on_aws(tmp_path: Path, ambient: Callable[..., None]) -> None:
    ambient(**AWS)
    with clouds(*TURNS, *TURNS) as cloud:
        where = {"provider": "aws", "base_url": cloud.url, "aws_region": "us-west-2"}
        seen = await tool_turn(tmp_path, cloud, **where, aws_workspace="wrkspc_one")
        assert seen[0].path == "/v1/messages"
        assert seen[0].kind == EVENTS
        assert seen[0].json["model"] == "claude-sonnet-5-5"
        assert seen[0].headers["anthropic-workspace-id"] == "wrkspc_one"
        check_signature(
            seen[1], cloud.url, SECRET, service="aws-external-anthropic", region="us-west-2"
        )
        ambient(ANTHROPIC_AWS_API_KEY="aws-key-1", ANTHROPIC_AWS_WORKSPACE_ID="wrkspc_two")
        seen = await tool_turn(tmp_path, cloud, **where)
        assert seen[0].headers["authorization"] == "Bearer aws-key-1"
        assert seen[0].headers["anthropic-workspace-id"] == "wrkspc_two"


# --- Google -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def private_key() -> str:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def service_account(folder: Path, private_key: str, url: str) -> str:
    """A key file of Google's form whose tokens come from the stand-in."""
    file = folder / "service-account.json"
    file.write_text(json.dumps({
        "type": "service_account", "project_id": "project-of-the-key", "private_key_id": "1",
        "private_key": private_key, "client_email": "agent@example.iam.gserviceaccount.com",
        "client_id": "1", "token_uri": f"{url}/token",
    }))  # fmt: skip
    return str(file)


async def test_vertex(tmp_path: Path, ambient: Callable[..., None], private_key: str) -> None:
    with clouds(*TURNS, *TURNS) as cloud:
        ambient(GOOGLE_APPLICATION_CREDENTIALS=service_account(tmp_path, private_key, cloud.url))
        where = {"provider": "vertex", "base_url": f"{cloud.url}/v1"}
        seen = await tool_turn(
            tmp_path, cloud, **where, google_project="project-1", google_region="europe-west1"
        )
        for request in seen:
            assert request.path == (
                "/v1/projects/project-1/locations/europe-west1/publishers/anthropic/models/"
                "claude-sonnet-5-5:streamRawPredict"
            )
            assert request.kind == EVENTS
            assert request.headers["authorization"] == "Bearer token-for-True"
            assert request.json["anthropic_version"] == "2026-10-21"
        assert len(cloud.tokens) == 1, "one token serves both requests"
        ambient(ANTHROPIC_VERTEX_PROJECT_ID="project-2", CLOUD_ML_REGION="global")
        seen = await tool_turn(
            tmp_path, cloud, **where, model="claude-sonnet-4-5@20250929", auth_token="token-given",
            thinking="off",
        )  # fmt: skip
        assert seen[0].path == (
            "/v1/projects/project-2/locations/global/publishers/anthropic/models/"
            "claude-sonnet-4-5@20250929:streamRawPredict"
        )
        assert seen[0].headers["authorization"] == "Bearer token-given"


async def test_google_cloud(tmp_path: Path, ambient: Callable[..., None], private_key: str) -> None:
    with clouds(*TURNS, *TURNS) as cloud:
        ambient(GOOGLE_APPLICATION_CREDENTIALS=service_account(tmp_path, private_key, cloud.url))
        ambient(ANTHROPIC_API_KEY="sk-ant-not-for-google")
        base = f"{cloud.url}/v1/projects/p/locations/global/workspaces/w/invoke"
        where = {"provider": "google-cloud", "base_url": base}
        seen = await tool_turn(tmp_path, cloud, **where)
        assert seen[0].path == ("/v1/projects/p/locations/global/workspaces/w/invoke/v1/messages")
        assert seen[0].kind == EVENTS
        assert {s.headers["authorization"] for s in seen} == {"Bearer token-for-True"}
        seen = await tool_turn(tmp_path, cloud, **where, auth_token="token-given")
        assert seen[0].headers["authorization"] == "Bearer token-given"


# --- Microsoft ----------------------------------------------------------------------------------


async def test_foundry(tmp_path: Path, ambient: Callable[..., None]) -> None:
    ambient(ANTHROPIC_FOUNDRY_API_KEY="foundry-key-1", ANTHROPIC_API_KEY="sk-ant-not-for-azure")
    with clouds(*TURNS, *TURNS) as cloud:
        where = {"provider": "foundry", "base_url": f"{cloud.url}/anthropic"}
        seen = await tool_turn(tmp_path, cloud, **where)
        assert seen[0].path == "/anthropic/v1/messages"
        assert seen[0].kind == EVENTS
        assert seen[0].headers["x-api-key"] == "foundry-key-1"
        assert "not-for-azure" not in str([s.headers for s in seen])
        ambient(ANTHROPIC_FOUNDRY_API_KEY="")
        seen = await tool_turn(tmp_path, cloud, **where, auth_token="token-given")
        assert seen[0].headers["authorization"] == "Bearer token-given"


async def test_foundry_with_a_managed_identity(
    tmp_path: Path, ambient: Callable[..., None]
) -> None:
    with clouds(*TURNS) as cloud:
        ambient(IDENTITY_ENDPOINT=f"{cloud.url}/identity", IDENTITY_HEADER="secret-of-the-host")
        seen = await tool_turn(
            tmp_path, cloud, provider="foundry", base_url=f"{cloud.url}/anthropic"
        )
        assert {s.headers["authorization"] for s in seen} == {"Bearer token-of-entra"}
        assert "x-api-key" not in seen[0].headers
        assert "ai.azure.com" in cloud.tokens[0].path


# --- each setting, two values -----------------------------------------------------------------


async def sent(settings: dict[str, Any]) -> Any:
    """The first request with these settings, at the address its client makes up."""
    import httpx2

    seen: list[Any] = []

    def answer(request: Any) -> Any:
        seen.append(request)
        return httpx2.Response(200, headers={"content-type": EVENTS}, content=b"")

    endpoint = configured_endpoint(Settings(**settings), {})
    assert endpoint is not None
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    client = make_client(endpoint.api).with_options(http_client=http)
    wire = wire_request(endpoint.api, client, {"model": "m", "messages": []})
    async for _ in raw_events(client, wire.body, path=wire.path):
        pass
    return seen[0]


@pytest.mark.parametrize(
    ("setting", "values", "others", "part"),
    [
        ("aws_region", ["eu-west-1", "us-east-2"], {"provider": "bedrock", "api_key": "key-1"},
         "host"),
        ("aws_workspace", ["wrkspc_a", "wrkspc_b"],
         {"provider": "aws", "aws_region": "r-1", "api_key": "key-1"}, "anthropic-workspace-id"),
        ("google_region", ["us-east5", "europe-west1"],
         {"provider": "vertex", "google_project": "p", "auth_token": "tok-1"}, "host"),
        ("google_region", ["global", "us"],
         {"provider": "google-cloud", "google_project": "p", "google_workspace": "w",
          "auth_token": "tok-1"}, "path"),
        ("google_project", ["project-a", "project-b"],
         {"provider": "vertex", "google_region": "global", "auth_token": "tok-1"}, "path"),
        ("google_workspace", ["wrkspc_a", "wrkspc_b"],
         {"provider": "google-cloud", "google_project": "p", "auth_token": "tok-1"}, "path"),
        ("foundry_resource", ["res-a", "res-b"], {"provider": "foundry", "api_key": "key-1"},
         "host"),
    ],
)  # fmt: skip
async def test_each_setting_is_seen_on_the_wire(
    setting: str, values: list[str], others: dict[str, str], part: str
) -> None:
    found: list[str] = []
    for value in values:
        request = await sent({setting: value, **others})
        shown = {"host": request.url.host, "path": request.url.path}.get(part)
        shown = shown if shown is not None else request.headers[part]
        assert value in shown
        found.append(shown.replace(value, "…"))
    assert found[0] == found[1]


# --- what goes wrong at a cloud --------------------------------------------------------------


@pytest.fixture
def bedrock(ambient: Callable[..., None]) -> dict[str, str]:
    ambient(**AWS)
    return {"provider": "bedrock", "aws_region": "eu-central-1"}


async def test_a_throttled_bedrock_is_asked_again(tmp_path: Path, bedrock: dict[str, str]) -> None:
    """Before the stream by status, in it by a frame: both are tried again, and struck."""
    with clouds(TURNS[1], TURNS[1]) as cloud:
        cloud.refuse.append(
            Refusal(429, b'{"message": "Too many tokens"}',
                    {"x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/"})
        )  # fmt: skip
        cloud.tails.append(exception_frame("throttlingException", "Slow down"))
        async with talking(tmp_path, **bedrock, base_url=cloud.url) as conversation:
            retries: list[RetryEvent] = []
            conversation.subscribe(
                lambda e: retries.append(e) if isinstance(e, RetryEvent) else None
            )
            last = await say(conversation)
            assert last.text == "There is a file named grüße.txt."
            assert len(cloud.seen) == 3
            assert [m.role for m in conversation.messages] == ["user", "assistant"]
    assert "Too many tokens" in retries[0].reason
    assert "Slow down" in retries[-1].reason


@pytest.mark.parametrize(
    ("tail", "kind", "words"),
    [
        (exception_frame("validationException", "Bad\x1b[2J input"), "validationException", "Bad"),
        (exception_frame("accessDeniedException", "Not yours"), "accessDeniedException", "yours"),
        (frame(b"", message_type="error", error_code="InternalFailure", error_message="Oh"),
         "server", "Oh"),
        (event_frame({"type": "ping"})[:-6] + b"\0\0\0\0\0\0", "invalid_response", "damaged"),
        (event_frame({"type": "ping"})[:-1], "stream_cut", "cut off before its end"),
    ],
    ids=["refused", "denied", "failed", "damaged", "cut"],
)  # fmt: skip
async def test_a_broken_stream_of_frames_is_told(
    tail: bytes, kind: str, words: str, tmp_path: Path, bedrock: dict[str, str]
) -> None:
    with clouds(*[TURNS[1]] * 4) as cloud:
        cloud.tails = [tail] * 4
        async with talking(tmp_path, **bedrock, base_url=cloud.url) as conversation:
            last = await say(conversation)
    assert last.stop_reason == "error"
    assert last.error_type == kind
    assert words in (last.error_message or "")
    assert "\x1b" not in (last.error_message or "")


@pytest.mark.parametrize(
    ("settings", "status", "body", "words"),
    [
        ({"provider": "bedrock", "aws_region": "r-1", "api_key": "bedrock-key-1"}, 403,
         {"message": "The security token is invalid"}, ["security token", "AWS credentials"]),
        ({"provider": "vertex", "google_project": "p", "google_region": "r", "auth_token": "tok"},
         403, [{"error": {"code": 403, "message": "Denied on project", "status":
                          "PERMISSION_DENIED"}}], ["Denied on project", "PERMISSION_DENIED",
                                                   "Google credentials"]),
        ({"provider": "foundry", "api_key": "foundry-key-1"}, 404,
         {"error": {"code": "DeploymentNotFound", "message": "No deployment"}},
         ["No deployment", "deployed"]),
        ({"provider": "foundry", "api_key": "foundry-key-1"}, 401,
         {"statusCode": 401, "message": "Wrong key foundry-key-1"}, ["Wrong key ***"]),
    ],
)  # fmt: skip
async def test_a_refusal_says_what_to_look_at_on_that_cloud(
    settings: dict[str, str], status: int, body: Any, words: list[str], tmp_path: Path
) -> None:
    with clouds() as cloud:
        cloud.refuse.append(Refusal(status, json.dumps(body).encode()))
        async with talking(tmp_path, **settings, base_url=cloud.url) as conversation:
            last = await say(conversation)
    said = last.error_message or ""
    assert all(word in said for word in words), said
    assert "API key and that it belongs" not in said


async def test_a_gateway_may_answer_for_bedrock_with_plain_events(
    tmp_path: Path, bedrock: dict[str, str]
) -> None:
    block = {"type": "content_block_start", "index": 0}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
        {**block, "content_block": {"type": "text", "text": "Hello there"}},
        end, {"type": "message_stop"},
    ]  # fmt: skip
    plain = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    with clouds() as cloud:
        cloud.refuse.append(Refusal(200, plain.encode(), {"content-type": EVENTS}))
        async with talking(tmp_path, **bedrock, base_url=cloud.url) as conversation:
            assert (await say(conversation)).text == "Hello there"


# --- what a cloud has not --------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["bedrock", "bedrock-mantle", "vertex", "foundry"])
async def test_a_provider_without_a_list_of_models_is_not_asked_for_it(
    provider: str, tmp_path: Path, ambient: Callable[..., None]
) -> None:
    ambient(AWS_BEARER_TOKEN_BEDROCK="bedrock-key-1", ANTHROPIC_FOUNDRY_API_KEY="foundry-key-1")
    flags = {"aws_region": "r-1"} if "bedrock" in provider else {}
    if provider == "vertex":
        flags = {"google_region": "r-1", "google_project": "p", "auth_token": "tok"}
    with clouds() as cloud:
        async with talking(
            tmp_path, provider=provider, base_url=cloud.url, **flags
        ) as conversation:
            assert await conversation.model_names() == []
            info = conversation.models.info()
            assert info.context_window == 1_000_000 and info.prices is not None
        assert cloud.seen == [] and cloud.tokens == []


async def test_login_says_that_it_keeps_no_key_of_a_cloud(
    tmp_path: Path, bedrock: dict[str, str]
) -> None:
    async with talking(tmp_path, **bedrock) as conversation:
        result = await conversation.command("/login")
        assert result.action is None and "the provider here is bedrock" in (result.error or "")
    async with talking(tmp_path, api_key="key-0123456789") as conversation:
        assert (await conversation.command("/login")).action == "login"


# --- no credentials -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"provider": "bedrock", "aws_region": "r-1"}, ["No AWS credentials", "aws sso login"]),
        ({"provider": "bedrock", "aws_region": "r-1", "aws_profile": "nobody"},
         ["nobody", "aws_profile"]),
        ({"provider": "bedrock"}, ["region", "aws_region"]),
        ({"provider": "bedrock-mantle", "aws_region": "r-1"}, ["No AWS credentials"]),
        ({"provider": "aws", "aws_region": "r-1", "aws_workspace": "w"}, ["No AWS credentials"]),
        ({"provider": "vertex", "google_project": "p", "google_region": "r"},
         ["No usable Google credentials", "gcloud auth application-default login"]),
        ({"provider": "google-cloud"}, ["No usable Google credentials"]),
    ],
)  # fmt: skip
async def test_credentials_that_are_missing_are_named_and_nothing_is_sent(
    settings: dict[str, str], words: list[str], tmp_path: Path, ambient: Callable[..., None]
) -> None:
    ambient(AWS_CONFIG_FILE=str(tmp_path / "none"), PATH=str(tmp_path))
    ambient(AWS_SHARED_CREDENTIALS_FILE=str(tmp_path / "none"))
    with clouds() as cloud:
        async with talking(tmp_path, **settings, base_url=cloud.url) as conversation:
            last = await say(conversation)
        assert cloud.seen == []
    said = last.error_message or ""
    assert all(word in said for word in words), said
    assert "\n" not in said
    assert last.error_type in ("credentials", "setup")
    assert exit_code(last, None) == 2
