"""What is sent to each cloud is what the SDK's own client of it sends: compared request by
request; and what each cannot do without is named before anything is imported or sent."""

import contextlib
import importlib.util
import json
import sys
from typing import Any

import pytest

from agent_tui.messages_api.client import (
    ApiEndpoint,
    Cloud,
    check_endpoint,
    make_client,
    with_environment,
)
from agent_tui.messages_api.errors import ApiError, CredentialError
from agent_tui.messages_api.models import model_info
from agent_tui.messages_api.providers import PROVIDERS, Provider, default_model
from agent_tui.messages_api.stream import raw_events
from agent_tui.messages_api.wire_request import (
    beta_header,
    beta_names,
    count_request,
    wire_request,
)

Json = dict[str, Any]

KEY = "key-0123456789"
REQUEST: Json = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "now", "description": "The time.", "input_schema": {"type": "object"}}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Grüße \u2028 ✓"}]}],
    "thinking": {"type": "adaptive", "display": "summarized"},
}

AT: dict[Provider, ApiEndpoint] = {
    "anthropic": ApiEndpoint(api_key=KEY),
    "bedrock": ApiEndpoint(provider="bedrock", cloud=Cloud(region="eu-central-1"), api_key=KEY),
    "bedrock-mantle": ApiEndpoint(
        provider="bedrock-mantle", cloud=Cloud(region="eu-central-1"), api_key=KEY
    ),
    "vertex": ApiEndpoint(
        provider="vertex", cloud=Cloud(region="us-east5", project="p-1"), auth_token=KEY
    ),
    "google-cloud": ApiEndpoint(
        provider="google-cloud", cloud=Cloud(project="p-1", workspace="w_1"), auth_token=KEY
    ),
    "aws": ApiEndpoint(
        provider="aws", cloud=Cloud(region="us-west-2", workspace="w_1"), api_key=KEY
    ),
    "foundry": ApiEndpoint(provider="foundry", cloud=Cloud(resource="res-1"), api_key=KEY),
}
WHERE: dict[Provider, str] = {
    "anthropic": "https://api.anthropic.com/v1/messages",
    "bedrock": "https://bedrock-runtime.eu-central-1.amazonaws.com"
    "/model/{}/invoke-with-response-stream",
    "bedrock-mantle": "https://bedrock-mantle.eu-central-1.api.aws/anthropic/v1/messages",
    "vertex": "https://us-east5-aiplatform.googleapis.com/v1/projects/p-1/locations/us-east5"
    "/publishers/anthropic/models/{}:streamRawPredict",
    "google-cloud": "https://claude.googleapis.com/v1/projects/p-1/locations/global"
    "/workspaces/w_1/invoke/v1/messages",
    "aws": "https://aws-external-anthropic.us-west-2.api.aws/v1/messages",
    "foundry": "https://res-1.services.ai.azure.com/anthropic/v1/messages",
}
CHANGES = {"accept", "content-length", "x-stainless-timeout", "x-stainless-read-timeout"}
"""Headers that are ours (we ask for events, as they are) or follow from ours."""


class Wire:
    """A transport that keeps what would be sent and answers that there is no more to say."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    def __call__(self, request: Any) -> Any:
        import httpx2

        self.requests.append(request)
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=b"")

    def under(self, endpoint: ApiEndpoint) -> Any:
        """The endpoint's client, talking to this."""
        import httpx2

        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self))
        return make_client(endpoint).with_options(http_client=http)


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for facts in PROVIDERS.values():
        for name in (*facts.keys, *(v for vs in facts.variables.values() for v in vs)):
            monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("betas", [[], ["context-1m-2025-08-07", "other-2026-01-01"]])
@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "odd/name:1;2 é@x"])
@pytest.mark.parametrize("provider", list(PROVIDERS))
async def test_the_request_is_the_sdks(provider: Provider, model: str, betas: list[str]) -> None:
    wire, request = Wire(), {**REQUEST, "model": model}
    client = wire.under(AT[provider])
    sent = wire_request(AT[provider], client, request, betas)
    async for _ in raw_events(client, sent.body, betas, path=sent.path):
        pass
    more: Json = {"betas": betas} if betas else {}
    async for _ in await client.beta.messages.create(**request, stream=True, **more):
        pass
    ours, theirs = wire.requests
    assert (ours.method, str(ours.url)) == (theirs.method, str(theirs.url))
    assert json.loads(ours.content) == json.loads(theirs.content)
    kept = [
        {k.lower(): v for k, v in r.headers.items() if k.lower() not in CHANGES}
        for r in (ours, theirs)
    ]
    assert kept[0] == kept[1]
    assert ours.headers["accept"] == "text/event-stream"


@pytest.mark.parametrize("provider", list(PROVIDERS))
async def test_where_it_goes_without_a_base_url(provider: Provider) -> None:
    wire = Wire()
    client = wire.under(AT[provider])
    sent = wire_request(AT[provider], client, REQUEST)
    async for _ in raw_events(client, sent.body, path=sent.path):
        pass
    (request,) = wire.requests
    assert str(request.url) == WHERE[provider].format("claude-sonnet-5-5")
    said = {request.headers.get("authorization"), request.headers.get("x-api-key")}
    assert said & {f"Bearer {KEY}", KEY}


@pytest.mark.parametrize("model", ["", ".", "..", "..;x"])
@pytest.mark.parametrize("provider", ["bedrock", "vertex"])
def test_a_model_that_would_lead_elsewhere_is_refused(provider: Provider, model: str) -> None:
    client = Wire().under(AT[provider])
    with pytest.raises(ApiError, match="no model named"):
        wire_request(AT[provider], client, {**REQUEST, "model": model})


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("global.anthropic.claude-sonnet-5-5", "2026-10-21"),
        ("us.anthropic.claude-opus-4-6-v1", "bedrock-2023-05-31"),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", "bedrock-2023-05-31"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
         "bedrock-2023-05-31"),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", "2026-10-21"),
    ],
)  # fmt: skip
def test_bedrocks_old_models_get_the_version_they_take(model: str, version: str) -> None:
    client = Wire().under(AT["bedrock"])
    sent = wire_request(AT["bedrock"], client, {**REQUEST, "model": model})
    assert json.loads(sent.body)["anthropic_version"] == version
    assert sent.path.startswith("/model/") and sent.path.count("/") == 3


# --- names of models ---------------------------------------------------------------------------


def test_the_default_model_has_each_providers_name() -> None:
    names = {p: default_model(p, "claude-sonnet-5-5") for p in PROVIDERS}
    assert names == {
        "anthropic": "claude-sonnet-5-5",
        "bedrock": "global.anthropic.claude-sonnet-5-5",
        "bedrock-mantle": "anthropic.claude-sonnet-5-5",
        "vertex": "claude-sonnet-5-5",
        "google-cloud": "claude-sonnet-5-5",
        "aws": "claude-sonnet-5-5",
        "foundry": "claude-sonnet-5-5",
    }
    assert default_model("anthropic", "eu.anthropic.claude-opus-5-5") == "claude-opus-5-5"
    assert default_model("bedrock", "my-own-model") == "my-own-model"


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet-4-5@20250929",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
)
def test_the_table_knows_a_model_by_its_clouds_name(model: str) -> None:
    known, here = model_info("claude-sonnet-4-5"), model_info(model)
    assert here.id == model and here.known
    assert here.context_window == known.context_window and here.thinking == known.thinking


# --- what a provider cannot do without ------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "fields", "words"),
    [
        ("bedrock-mantle", {}, ["region", "aws_region", "AWS_REGION"]),
        ("aws", {"region": "r-1"}, ["workspace", "ANTHROPIC_AWS_WORKSPACE_ID"]),
        ("aws", {"workspace": "w_1"}, ["region", "AWS_REGION"]),
        ("vertex", {"project": "p-1"}, ["region", "google_region", "CLOUD_ML_REGION"]),
        ("vertex", {"region": "r-1"}, ["project", "ANTHROPIC_VERTEX_PROJECT_ID"]),
        ("google-cloud", {"project": "p-1"}, ["workspace", "google_workspace"]),
        ("foundry", {}, ["resource", "ANTHROPIC_FOUNDRY_RESOURCE"]),
        ("foundry", {"resource": "r", "base_url": "https://h/anthropic"}, ["either", "remove"]),
        ("bedrock", {"region": "evil.example/x"}, ["aws_region", "does not look like a region"]),
        ("foundry", {"resource": "evil.example/"}, ["does not look like a resource"]),
        ("vertex", {"region": "r-1", "project": "a/b"}, ["does not look like a project"]),
        ("vertex", {"api_key": KEY, "region": "r-1", "project": "p"}, ["takes no API key"]),
        ("google-cloud", {"api_key": KEY, "workspace": "w"}, ["takes no API key"]),
        ("bedrock", {"auth_token": KEY}, ["takes no auth_token"]),
        ("foundry", {"auth_token": KEY, "api_key": KEY, "resource": "r"}, ["either"]),
        ("bedrock", {"api_key": KEY, "profile": "work"}, ["aws_profile", "remove one"]),
        ("bedrock", {"api_key": ""}, ["is empty"]),
        ("foundry", {"api_key": "a b", "resource": "r"}, ["space"]),
    ],
)  # fmt: skip
def test_what_is_missing_or_too_much_is_named(
    provider: Provider, fields: dict[str, str], words: list[str]
) -> None:
    parts = {k: v for k, v in fields.items() if k in Cloud.__slots__}
    rest: Any = {k: v for k, v in fields.items() if k not in parts}
    endpoint = ApiEndpoint(provider=provider, cloud=Cloud(**parts), **rest)
    with pytest.raises(ApiError) as refused:
        check_endpoint(endpoint)
    said = str(refused.value)
    assert all(word in said for word in words), said
    assert refused.value.kind in ("setup", "credentials") and not refused.value.retryable
    assert KEY not in said and "\n" not in said


@pytest.mark.parametrize(
    ("provider", "module", "extra"),
    [
        ("bedrock", "boto3", "bedrock"),
        ("bedrock-mantle", "boto3", "bedrock"),
        ("aws", "boto3", "aws"),
        ("vertex", "google.auth", "vertex"),
        ("google-cloud", "google.auth", "google-cloud"),
        ("foundry", "azure.identity", "foundry"),
    ],
)
@pytest.mark.parametrize("parent_too", [False, True])
def test_a_missing_package_is_named_with_the_command(
    provider: Provider, module: str, extra: str, parent_too: bool, monkeypatch: Any
) -> None:
    real = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> Any:
        if name == module:
            if parent_too:
                raise ModuleNotFoundError(name)
            return None
        return real(name, package)

    monkeypatch.setattr("agent_tui.messages_api.providers.find_spec", find_spec)
    cloud = Cloud(region="r-1", project="p-1", workspace="w_1")
    if provider == "foundry":
        cloud = Cloud(resource="res-1")
    with pytest.raises(CredentialError) as refused:
        check_endpoint(ApiEndpoint(provider=provider, cloud=cloud))
    said = str(refused.value)
    assert f"{sys.executable} -m pip install 'agent-tui[{extra}]'" in said
    # A key does without the package, but for Bedrock, whose frames it reads.
    given: Any = {"auth_token": KEY} if module == "google.auth" else {"api_key": KEY}
    keyed = ApiEndpoint(provider=provider, cloud=cloud, **given)
    if provider == "bedrock":
        with pytest.raises(CredentialError, match="pip install"):
            check_endpoint(keyed)
    else:
        check_endpoint(keyed)


def test_every_extra_that_is_named_exists() -> None:
    import tomllib
    from pathlib import Path

    root = Path(__file__).resolve().parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    assert {f.extra for f in PROVIDERS.values() if f.extra} | {"socks"} == extras.keys() - {"dev"}


def test_the_settings_name_the_same_providers() -> None:
    from typing import get_args

    from agent_tui.settings import ProviderName, Settings

    assert get_args(ProviderName) == tuple(PROVIDERS)
    for facts in PROVIDERS.values():
        for part in facts.variables:
            assert f"{facts.settings}_{part}" in Settings.model_fields


# --- from the environment ------------------------------------------------------------------------


def test_what_is_given_wins_over_the_environment() -> None:
    environ = {
        "AWS_REGION": "from-env", "AWS_BEARER_TOKEN_BEDROCK": "env-key-123",
        "ANTHROPIC_BEDROCK_BASE_URL": "https://env.example",
    }  # fmt: skip
    filled = with_environment(ApiEndpoint(provider="bedrock"), environ)
    assert (filled.cloud.region, filled.api_key, filled.base_url) == (
        "from-env", "env-key-123", "https://env.example",
    )  # fmt: skip
    given = ApiEndpoint(
        "https://given.example", KEY, provider="bedrock", cloud=Cloud(region="given-1")
    )
    filled = with_environment(given, environ)
    assert (filled.cloud.region, filled.api_key, filled.base_url) == (
        "given-1", KEY, "https://given.example",
    )  # fmt: skip


def test_a_profile_that_was_chosen_wins_over_a_key_that_lies_about() -> None:
    environ = {"ANTHROPIC_AWS_API_KEY": "env-key-123"}
    endpoint = ApiEndpoint(provider="aws", cloud=Cloud(profile="work"))
    assert with_environment(endpoint, environ).api_key is None


def test_secrets_of_the_environment_are_masked() -> None:
    environ = {
        "AWS_SECRET_ACCESS_KEY": "secret-of-aws", "AWS_SESSION_TOKEN": "session-of-aws",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Gate: gate-secret\n\n X-More : b:c ",
    }  # fmt: skip
    filled = with_environment(ApiEndpoint(provider="bedrock"), environ)
    assert {"secret-of-aws", "session-of-aws", "gate-secret"} <= set(filled.secrets)
    assert filled.headers == {"X-Gate": "gate-secret", "X-More": "b:c"}
    assert "secret" not in repr(filled)


@pytest.mark.parametrize("provider", [p for p, f in PROVIDERS.items() if f.counts_tokens])
async def test_a_count_is_asked_for_where_the_sdk_asks(provider: Provider) -> None:
    import httpx2

    wire = Wire()
    client = wire.under(AT[provider])
    question = {k: v for k, v in REQUEST.items() if k != "max_tokens"}
    sent = count_request(AT[provider], client, question)
    options = {"headers": {"Content-Type": "application/json"}}
    await client.post(sent.path, cast_to=httpx2.Response, content=sent.body, options=options)
    with contextlib.suppress(Exception):  # it reads the answer, which is empty
        await client.beta.messages.count_tokens(**question)
    ours, theirs = wire.requests
    assert (ours.method, str(ours.url)) == (theirs.method, str(theirs.url))
    assert json.loads(ours.content) == json.loads(theirs.content)


def test_betas_of_the_client_and_of_the_request_are_one_list() -> None:
    own = {"Anthropic-Beta": "a, b", "x": "y"}
    assert beta_names(["b", "c"], own) == ["a", "b", "c"]
    assert beta_header(["c"], own) == {"anthropic-beta": "a,b,c"}
    assert beta_header([], own) == {}
