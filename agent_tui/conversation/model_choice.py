"""ModelChoice: which model answers, and what is known of it."""

import logging
from dataclasses import replace

from agent_tui.conversation.endpoint import Endpoint
from agent_tui.messages_api.models import ModelInfo, Prices, list_models, model_info
from agent_tui.messages_api.providers import default_model

log = logging.getLogger(__name__)


class ModelChoice:
    """The name in use and the facts about it.

    explicit: the user named it; then it is used as it is, also where the endpoint lacks it
    (the service's answer says so). Else the first model of the endpoint's list stands in for
    a default that the list lacks (DESIGN).
    """

    def __init__(self, endpoint: Endpoint, name: str, *, explicit: bool) -> None:
        self._endpoint = endpoint
        self._explicit = self._at_first = explicit
        self._listed: dict[str, ModelInfo] | None = None
        self.name = name

    async def go_on_with(self, name: str) -> str:
        """The model of another session, or what stands in for it here; gives its name."""
        self.name, self._explicit = name, self._at_first
        return await self.settle()

    def choose(self, name: str) -> None:
        self.name = name
        self._explicit = True

    def info(self, name: str | None = None) -> ModelInfo:
        """As listed by the endpoint, else what the built-in table knows or guesses."""
        wanted = name or self.name
        listed = self._listed or {}
        info = listed[wanted] if wanted in listed else model_info(wanted)
        if self._endpoint.demo:
            return replace(info, prices=Prices(0, 0, 0, 0))  # nobody is paid for a script
        return info

    async def names(self) -> list[str]:
        """Ids the endpoint lists (asked once); what was found on loopback if it cannot say."""
        if self._listed is None:
            try:
                models = await list_models(self._endpoint.api)
            except Exception as error:
                log.info("the model list could not be read: %s", error)
                return list(self._endpoint.models)
            self._listed = {m.id: m for m in models}
        return list(self._listed)

    async def settle(self) -> str:
        """Make sure that the name exists at an endpoint that is not the service; gives it."""
        if self._explicit:
            return self.name
        self.name = default_model(self._endpoint.api.provider, self.name)
        if self._endpoint.is_service:
            return self.name
        names = self._endpoint.models or await self.names()
        if names and self.name not in names:
            self.name = names[0]
        return self.name
