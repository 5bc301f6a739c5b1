"""A client for one scenario of the MCP conformance suite: `client.py manager|sdk URL`.

The suite starts a server, runs this and judges what the server saw. The same steps are played
by the product's McpManager and by the bare SDK, so that what differs is the manager's doing.
Login pages are followed by HTTP: the suite's service sends everyone straight back.
"""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2

from agent_tui.agent.tools import ToolContext
from agent_tui.mcp_servers import McpManager, parse_server
from agent_tui.mcp_servers.types import CatalogChanged, ElicitAnswer, FormQuestion, McpEvent
from agent_tui.tools.output import cap_text

Json = dict[str, Any]

CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json"
"""What auth/basic-cimd wants to see as the client's id."""
OAUTH_OPTIONS = {
    "client_id": "client_id", "client_secret": "client_secret", "issuer": "issuer",
    "private_key_pem": "private_key", "signing_algorithm": "signing_algorithm",
}  # fmt: skip
"""What the suite hands out, and what the configuration calls it."""
NEWEST_WITH_HANDSHAKE = "2025-11-25"
LOGINS = 2
"""So often a person tries to log in for one thing."""
WAIT_S = 25.0


class Player(Protocol):
    """What the steps need of a client. Errors of the server are raised."""

    async def tools(self) -> dict[str, Json]:
        """Schemas as the server sent them, by the server's own names."""
        ...

    async def call(self, name: str, arguments: Json) -> None: ...
    async def read_resources(self) -> None: ...
    async def get_prompts(self) -> None: ...


async def play(player: Player, scenario: str, context: Json) -> None:
    """The steps of a scenario; most want nothing but a call of every tool."""
    tools = await player.tools()
    if scenario == "json-schema-ref-no-deref":
        # What it waits for is a look at the schema; its server takes no calls.
        return
    if scenario == "json-schema-2020-12-preservation":
        await player.call("json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]})
        return
    if "toolCalls" in context:
        for wanted in context["toolCalls"]:
            await player.call(wanted["name"], wanted["arguments"])
        return
    for name, schema in tools.items():
        await player.call(name, made_up(schema))
    if scenario == "http-standard-headers":
        await player.read_resources()
        await player.get_prompts()


def made_up(schema: Json) -> Json:
    """Arguments that fit a schema of the suite's."""
    values: Json = {
        "string": "x", "number": 2, "integer": 3, "boolean": True, "array": [], "object": {},
    }  # fmt: skip
    properties = schema.get("properties", {})
    return {key: values.get(field.get("type"), "x") for key, field in properties.items()}


def filled_in(schema: Json) -> Json:
    """A form sent off as it stands: what has a default has it, the rest is made up."""
    properties = schema.get("properties", {})
    return made_up(schema) | {k: f["default"] for k, f in properties.items() if "default" in f}


# --- the product's manager ----------------------------------------------------------------------


class ManagerPlayer:
    """Everything through McpManager, as the app holds it."""

    def __init__(self, manager: McpManager, catalogs: dict[str, asyncio.Event]) -> None:
        """catalogs: by resources and prompts, set when these have been listed."""
        self._manager = manager
        self._catalogs = catalogs

    async def _connected(self, logins: int = LOGINS) -> None:
        """Connected, with a login where one is wanted."""
        if await self._manager.wait_ready(WAIT_S):
            raise RuntimeError("it is still connecting")
        snapshot = self._manager.snapshot("peer")
        if snapshot.state == "needs_auth" and logins:
            await self._manager.login("peer", show_url=follow)
            await self._connected(logins - 1)
        elif snapshot.state != "connected":
            raise RuntimeError(f"{snapshot.state}: {snapshot.error}")

    async def tools(self) -> dict[str, Json]:
        await self._connected()
        return {tool.name: tool.input_schema for tool in self._manager.snapshot("peer").tools}

    async def call(self, name: str, arguments: Json, logins: int = LOGINS) -> None:
        await self._connected()
        infos = self._manager.snapshot("peer").tools
        alias = next(info.alias for info in infos if info.name == name)
        tool = next(tool for tool in self._manager.tools("peer") if tool.name == alias)
        given = tool.prepare_arguments(arguments) if tool.prepare_arguments else arguments
        result = await tool.execute("c1", given, ToolContext("c1", lambda partial: None))
        if result.is_error and self._manager.state("peer") == "needs_auth" and logins:
            await self.call(name, arguments, logins - 1)
        elif result.is_error:
            raise RuntimeError(f"{name}: {[getattr(b, 'text', b.type) for b in result.content]}")

    async def read_resources(self) -> None:
        await asyncio.wait_for(self._catalogs["resources"].wait(), WAIT_S)
        for resource in self._manager.resources("peer"):
            if not resource.template:
                await self._manager.read_resource("peer", resource.uri)

    async def get_prompts(self) -> None:
        await asyncio.wait_for(self._catalogs["prompts"].wait(), WAIT_S)
        for prompt in self._manager.prompts("peer"):
            given = {a.name: "x" for a in prompt.arguments}
            await self._manager.get_prompt("peer", prompt.name, given)


async def follow(url: str) -> None:
    """A browser whose user agrees to everything, back to the address the manager waits at."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(url)


async def agree(question: Any) -> ElicitAnswer:
    """Sends a form off as it stands."""
    content = filled_in(question.schema) if isinstance(question, FormQuestion) else None
    return ElicitAnswer("accept", content)


@contextlib.asynccontextmanager
async def manager_player(url: str, scenario: str, context: Json) -> AsyncIterator[Player]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AGENT_TUI_HOME"] = str(Path(folder, "home"))
        catalogs = {"resources": asyncio.Event(), "prompts": asyncio.Event()}

        def on_event(event: McpEvent) -> None:
            if isinstance(event, CatalogChanged):
                catalogs[event.what].set()

        manager = McpManager(
            folder,
            on_event=on_event,
            cap_text=lambda text, name: cap_text(text, folder, name),
            elicit=agree,
        )
        oauth = {key: context[given] for given, key in OAUTH_OPTIONS.items() if given in context}
        oauth["client_metadata_url"] = CLIENT_METADATA_URL
        if scenario.startswith("auth/client-credentials"):
            oauth["grant"] = "client_credentials"
        manager.add(parse_server("peer", {"type": "http", "url": url, "oauth": oauth}))
        try:
            yield ManagerPlayer(manager, catalogs)
        finally:
            await manager.close()


# --- the bare SDK ---------------------------------------------------------------------------------


class SdkPlayer:
    """The SDK's own Client, used as its documentation says."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def tools(self) -> dict[str, Json]:
        listed = await self._client.list_tools()
        return {tool.name: tool.input_schema for tool in listed.tools}

    async def call(self, name: str, arguments: Json) -> None:
        await self._client.call_tool(name, arguments)

    async def read_resources(self) -> None:
        for resource in (await self._client.list_resources()).resources:
            await self._client.read_resource(resource.uri)

    async def get_prompts(self) -> None:
        for prompt in (await self._client.list_prompts()).prompts:
            given = {argument.name: "x" for argument in prompt.arguments or ()}
            await self._client.get_prompt(prompt.name, given)


class MemoryStorage:
    """The SDK's TokenStorage."""

    def __init__(self, client: Any = None) -> None:
        self.client = client
        self.tokens: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


def sdk_auth(url: str, scenario: str, context: Json) -> Any:
    """As the SDK's documentation has it for each kind of login."""
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.extensions.client_credentials import (
        ClientCredentialsOAuthProvider,
        PrivateKeyJWTOAuthProvider,
        SignedJWTParameters,
    )
    from mcp.shared.auth import (
        AuthorizationCodeResult,
        OAuthClientInformationFull,
        OAuthClientMetadata,
    )
    from pydantic import AnyUrl

    if scenario == "auth/client-credentials-basic":
        return ClientCredentialsOAuthProvider(
            url, MemoryStorage(), context["client_id"], context["client_secret"]
        )
    if scenario == "auth/client-credentials-jwt":
        signed = SignedJWTParameters(
            issuer=context["client_id"],
            subject=context["client_id"],
            signing_key=context["private_key_pem"],
            signing_algorithm=context["signing_algorithm"],
        )
        provider = signed.create_assertion_provider()
        return PrivateKeyJWTOAuthProvider(url, MemoryStorage(), context["client_id"], provider)
    came: dict[str, str] = {}

    async def redirect(address: str) -> None:
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(address)
        query = parse_qs(urlsplit(answer.headers["location"]).query)
        came.update({name: values[0] for name, values in query.items()})

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(
            code=came["code"], state=came.get("state"), iss=came.get("iss")
        )

    back = AnyUrl("http://127.0.0.1:3030/callback")
    known = None
    if "client_secret" in context:
        known = OAuthClientInformationFull(
            client_id=context["client_id"],
            client_secret=context["client_secret"],
            redirect_uris=[back],
            token_endpoint_auth_method="client_secret_basic",
        )
    return OAuthClientProvider(
        url,
        OAuthClientMetadata(client_name="bare", redirect_uris=[back]),
        MemoryStorage(known),
        redirect_handler=redirect,
        callback_handler=callback,
        client_metadata_url=CLIENT_METADATA_URL,
    )


async def sdk_agrees(context: Any, params: Any) -> Any:
    from mcp_types import ElicitResult

    schema = params.requested_schema
    if not isinstance(schema, dict):
        schema = schema.model_dump(by_alias=True, mode="json", exclude_none=True)
    return ElicitResult(action="accept", content=filled_in(schema))


@contextlib.asynccontextmanager
async def sdk_player(url: str, scenario: str, context: Json, version: str) -> AsyncIterator[Player]:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    auth = sdk_auth(url, scenario, context) if scenario.startswith("auth/") else None
    mode = "legacy" if version and version <= NEWEST_WITH_HANDSHAKE else "auto"
    async with (
        httpx2.AsyncClient(auth=auth, timeout=WAIT_S) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=mode,
            read_timeout_seconds=WAIT_S,
            elicitation_callback=sdk_agrees,
        ) as client,
    ):
        yield SdkPlayer(client)


async def main(who: str, url: str) -> None:
    """Exits with an error when a step fails."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
    if who == "manager":
        entered = manager_player(url, scenario, context)
    else:
        entered = sdk_player(url, scenario, context, version)
    async with entered as player:
        await play(player, scenario, context)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
