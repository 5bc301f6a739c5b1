"""What endpoints say of their models: kept with its age, asked for again when it is old."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from agent_tui.conversation import model_choice, model_lists
from agent_tui.conversation.endpoint import Endpoint
from agent_tui.conversation.model_choice import ModelChoice
from agent_tui.messages_api.client import ApiEndpoint
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.models import ModelInfo, info_from_api

URL = "https://models.example"
KEY = "sk-test-key-of-somebody"


def entry(model: str = "claude-new-9", tokens: int = 77_000) -> ModelInfo:
    info = info_from_api({"id": model, "max_tokens": tokens, "max_input_tokens": 900_000})
    assert info is not None
    return info


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_what_was_stored_is_read_with_its_age(home: Path) -> None:
    clock = Clock()
    model_lists.store(URL, [entry()], clock)
    clock.now += 3600
    known = model_lists.load(URL, clock)
    assert known.models == {"claude-new-9": entry()}
    assert known.age_s == 3600 and known.fresh
    clock.now += model_lists.FRESH_S
    assert not model_lists.load(URL, clock).fresh
    clock.now -= 100 * 3600
    assert not model_lists.load(URL, clock).fresh, "a clock that was set back tells nothing"
    (file,) = (home / "models").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_each_endpoint_has_its_own() -> None:
    model_lists.store(URL, [entry()])
    assert model_lists.load("https://other.example").models == {}
    assert model_lists.load("https://other.example").age_s is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"models": 7, "time": 1}', b'{"models": [], "time": "x"}', b"\xff"],
)
def test_a_broken_file_is_as_none(home: Path, content: bytes) -> None:
    model_lists.store(URL, [entry()])
    (file,) = (home / "models").iterdir()
    file.write_bytes(content)
    assert model_lists.load(URL).models == {}


class Service:
    """Stands in for GET /v1/models of a service."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        self.asked_for: list[str] = []
        self.listed = [entry()]
        self.failure: Exception | None = None
        monkeypatch.setattr(model_choice, "list_models", self._list)
        monkeypatch.setattr(model_choice, "retrieve_model", self._retrieve)
        monkeypatch.setattr(model_choice, "LEARN_AFTER_S", 0.0)

    async def _list(self, endpoint: ApiEndpoint) -> list[ModelInfo]:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return self.listed

    async def _retrieve(self, endpoint: ApiEndpoint, model: str) -> ModelInfo:
        self.asked_for.append(model)
        return entry("claude-new-9-20270101", 55_000)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    return Service(monkeypatch)


def choice(name: str = "claude-new-9", base_url: str | None = URL) -> ModelChoice:
    endpoint = Endpoint(ApiEndpoint(base_url=base_url, api_key=KEY))
    return ModelChoice(endpoint, name, explicit=True)


async def learned(models: ModelChoice) -> None:
    """settle() as at the start, then all that goes on in the background."""
    await models.settle()
    models.learn()
    under_way = [t for t in asyncio.all_tasks() if t.get_name() == "ask about the models"]
    if under_way:
        await asyncio.wait(under_way, timeout=10)


async def test_the_next_start_knows_at_once(service: Service, home: Path) -> None:
    first = choice()
    await first.settle()
    assert first.info().max_output is None
    await learned(first)
    assert first.info().max_output == 77_000
    second = choice()
    await second.settle()
    assert second.info().max_output == 77_000, "before anything was asked"
    await learned(second)
    assert service.asked == 1, "what was asked for not long ago is not asked for again"
    stored = "".join(f.read_text() for f in (home / "models").iterdir())
    assert KEY not in stored and "claude-new-9" in stored


async def test_an_old_list_is_used_until_a_new_one_has_come(service: Service) -> None:
    model_lists.store(URL, [entry(tokens=11_000)], lambda: 0.0)
    models = choice()
    told: list[int | None] = []
    models.on_learned = lambda: told.append(models.info().max_output)
    await models.settle()
    assert models.info().max_output == 11_000
    await learned(models)
    assert told == [77_000] and service.asked == 1


async def test_an_alias_is_asked_for_by_its_name(service: Service) -> None:
    models = choice("claude-new-latest")
    await learned(models)
    assert service.asked_for == ["claude-new-latest"]
    assert models.info().max_output == 55_000 and models.info().id == "claude-new-latest"


async def test_a_failure_leaves_what_was_known_and_harms_nothing(service: Service) -> None:
    model_lists.store(URL, [entry(tokens=11_000)], lambda: 0.0)
    service.failure = ApiError("no", kind="permission")
    models = choice()
    await learned(models)
    assert models.info().max_output == 11_000
    assert model_lists.load(URL, lambda: 10.0).models["claude-new-9"].max_output == 11_000


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:1", "http://localhost:8080"])
async def test_a_local_server_may_be_another_one_tomorrow(
    service: Service, home: Path, base_url: str
) -> None:
    await learned(choice(base_url=base_url))
    assert service.asked == 1
    assert not (home / "models").exists()
    second = choice(base_url=base_url)
    await second.settle()
    assert second.info().max_output is None


async def test_a_cloud_without_a_list_is_not_asked(service: Service) -> None:
    api = ApiEndpoint(provider="bedrock", api_key=KEY)
    models = ModelChoice(Endpoint(api), "anthropic.claude-sonnet-5-5", explicit=True)
    await learned(models)
    assert service.asked == 0
    assert models.info().context_window == 1_000_000, "the table knows it under any of its names"


async def test_the_demo_is_known_and_costs_nothing(service: Service, home: Path) -> None:
    models = ModelChoice(
        Endpoint(ApiEndpoint(base_url="http://127.0.0.1:1", api_key="demo"), demo=True),
        "demo",
        explicit=True,
    )
    await learned(models)
    assert service.asked == 0
    info = models.info()
    assert info.context_window == 200_000
    assert info.prices is not None and info.prices.cost(input=10**6, output=10**6) == 0


async def test_the_end_of_a_conversation_ends_the_asking(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_choice, "LEARN_AFTER_S", 3600.0)
    models = choice()
    models.learn()
    async with asyncio.timeout(5):
        await models.close()
    assert service.asked == 0


async def test_what_is_kept_is_what_was_sent(service: Service, home: Path) -> None:
    raw: dict[str, Any] = {"id": "m", "capabilities": {"thinking": {"types": {"adaptive": True}}}}
    info = info_from_api(raw)
    assert info is not None
    service.listed = [info]
    await learned(choice())
    (file,) = (home / "models").iterdir()
    kept = json.loads(file.read_text())
    assert kept["models"] == [raw] and kept["endpoint"] == URL
