"""ModelChoice: which model answers, and what is known of it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from agent_tui.conversation import model_lists
from agent_tui.conversation.endpoint import Endpoint
from agent_tui.conversation.model_lists import KnownModels
from agent_tui.messages_api.addresses import endpoint_host, is_loopback
from agent_tui.messages_api.models import (
    ModelInfo,
    info_from_api,
    list_models,
    model_info,
    retrieve_model,
)
from agent_tui.messages_api.prices import FREE
from agent_tui.messages_api.providers import default_model

log = logging.getLogger(__name__)

LEARN_AFTER_S = 0.5
"""The screen and a first request go first."""


class ModelChoice:
    """The name in use and the facts about it.

    explicit: the user named it; then it is used as it is, also where the endpoint lacks it
    (the service's answer says so). Else the first model of the endpoint's list stands in for
    a default that the list lacks (DESIGN).

    on_learned is called when the endpoint has said more than was known before.
    """

    def __init__(self, endpoint: Endpoint, name: str, *, explicit: bool) -> None:
        self._endpoint = endpoint
        self._explicit = self._at_first = explicit
        self._known = KnownModels()
        self._listed: list[str] | None = None
        self._learning: asyncio.Task[None] | None = None
        self._loaded = False
        self.name = name
        self.on_learned: Callable[[], None] = lambda: None

    async def go_on_with(self, name: str) -> str:
        """The model of another session, or what stands in for it here; gives its name."""
        self.name, self._explicit = name, self._at_first
        return await self.settle()

    def choose(self, name: str) -> None:
        self.name = name
        self._explicit = True

    def info(self, name: str | None = None) -> ModelInfo:
        """As the endpoint says, now or at an earlier start; else what the built-in table knows
        or guesses."""
        wanted = name or self.name
        info = self._known.models.get(wanted) or model_info(wanted)
        return replace(info, prices=FREE) if self._endpoint.demo else info

    async def names(self) -> list[str]:
        """Ids the endpoint lists (asked once); what was found on loopback if it cannot say."""
        if self._listed is None:
            try:
                await self._ask()
            except Exception as error:
                log.info("the model list could not be read: %s", error)
                return list(self._endpoint.models)
        return list(self._listed or ())

    def known(self) -> list[str]:
        """The names that are known by now, without asking; the endpoint's order."""
        listed = self._listed or list(self._known.models) or self._endpoint.models
        return list(dict.fromkeys([*listed, self.name]))

    async def settle(self) -> str:
        """Make sure that the name exists at an endpoint that is not the service; gives it."""
        await self._load()
        if self._explicit:
            return self.name
        self.name = default_model(self._endpoint.api.provider, self.name)
        if self._endpoint.is_service:
            return self.name
        names = self._endpoint.models or await self.names()
        if names and self.name not in names:
            self.name = names[0]
        return self.name

    # --- learning ---------------------------------------------------------------------

    def learn(self) -> None:
        """Ask the endpoint in the background what its models can do, unless it has been asked
        not long ago. Needs a running event loop."""
        asked = self._learning is not None or self._known.fresh
        if not asked and self._endpoint.api.lists_models:
            self._learning = asyncio.create_task(self._learn(), name="ask about the models")

    async def _learn(self) -> None:
        await asyncio.sleep(LEARN_AFTER_S)
        try:
            await self._ask()
            if self.name not in self._known.models:
                await self._ask_one(self.name)
        except Exception as error:
            # The first request meets the same failure and says so.
            log.info("nothing could be learned about the models: %s", error)

    async def _ask(self) -> None:
        models = await list_models(self._endpoint.api)
        self._listed = [m.id for m in models]
        self._known = KnownModels({m.id: m for m in models}, 0.0)
        self.on_learned()
        if self._keeps and models:
            await asyncio.to_thread(self._store, models)

    async def _ask_one(self, name: str) -> None:
        """An alias, or a model that this account may use though it is not listed."""
        info = await retrieve_model(self._endpoint.api, name)
        self._known.models[name] = replace(info, id=name)
        self.on_learned()

    async def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        if self._endpoint.demo:
            self._known = await asyncio.to_thread(_of_the_demo)
        elif self._keeps:
            self._known = await asyncio.to_thread(model_lists.load, self._endpoint.api.url)

    def _store(self, models: list[ModelInfo]) -> None:
        try:
            model_lists.store(self._endpoint.api.url, models)
        except OSError as error:
            log.info("the list of models could not be kept: %s", error)

    @property
    def _keeps(self) -> bool:
        """Another server may stand at a local port tomorrow; a service stays what it is."""
        return bool(self._endpoint.api.url) and not (
            self._endpoint.demo or is_loopback(endpoint_host(self._endpoint.api.base_url))
        )

    async def close(self) -> None:
        """End what still asks."""
        if self._learning is not None:
            self._learning.cancel()
            await asyncio.wait([self._learning])


def _of_the_demo() -> KnownModels:
    """Its server runs in this process: nothing has to be asked."""
    from agent_tui.offline.models import demo_models

    found = [info_from_api(entry) for entry in demo_models()]
    return KnownModels({m.id: m for m in found if m is not None}, 0.0)
