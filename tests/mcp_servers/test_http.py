"""Servers behind an address: streamable HTTP in both protocols, the older SSE, and what HTTP
itself can say no with."""

import asyncio
import json

import httpx2
import pytest

from agent_tui.mcp_servers.config import parse_server
from agent_tui.mcp_servers.http import reason_of
from tests.mcp_servers.conftest import Keeper, garbled, text_of, until
from tests.mcp_servers.zoo_http import HttpZoo, Visit


def add(keeper: Keeper, url: str, **fields) -> None:
    keeper.manager.add(parse_server("zoo", {"url": url} | fields))


async def test_this_computer_is_reached_without_a_proxy(keeper: Keeper, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with HttpZoo() as zoo:
        add(keeper, zoo.url)
        await keeper.state("zoo", "connected")


async def test_streamable_http_in_the_older_protocol(keeper: Keeper):
    with HttpZoo() as zoo:
        add(keeper, zoo.url, headers={"X-Team": "blue"})
        snapshot = await keeper.state("zoo", "connected")
        assert (snapshot.protocol, snapshot.transport) == ("2025-11-25", "http")
        assert snapshot.target == zoo.url
        assert text_of(await keeper.call("zoo__echo", text="x")) == "x"
        assert text_of(await keeper.call("zoo__slow", steps=2)) == "done"
        assert [update["progress"] for update in keeper.updates] == [1, 2]
        assert all(headers["X-Team"] == "blue" for _, _, headers, _ in zoo.requests)
        # A notice on the session's own stream.
        await until(lambda: any(verb == "GET" for verb, *_ in zoo.requests))
        for session in zoo.sessions.values():
            session.animal.extra.append("grown")
        zoo.tell({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await until(lambda: "zoo__grown" in keeper.tools())
        await keeper.manager.close()
        assert zoo.requests[-1][0] == "DELETE"


async def test_streamable_http_in_the_newer_protocol(keeper: Keeper):
    with HttpZoo("Modern") as zoo:
        add(keeper, zoo.url)
        snapshot = await keeper.state("zoo", "connected")
        assert snapshot.protocol == "2026-07-28"
        assert text_of(await keeper.call("zoo__echo", text="x")) == "x"
        assert "initialize" not in zoo.methods()
        await until(lambda: zoo.shared.listeners)  # type: ignore[attr-defined]
        await keeper.call("zoo__grow")
        await until(lambda: "zoo__grown0" in keeper.tools())


async def test_the_older_sse(keeper: Keeper):
    with HttpZoo() as zoo:
        add(keeper, f"{zoo.base}/sse", type="sse")
        snapshot = await keeper.state("zoo", "connected")
        assert snapshot.transport == "sse"
        assert text_of(await keeper.call("zoo__echo", text="x")) == "x"


async def test_a_url_that_knows_no_post_is_tried_as_sse(keeper: Keeper, monkeypatch):
    monkeypatch.setattr("agent_tui.mcp_servers.connection._pause_s", lambda failures: 0.01)

    def refuse(visit: Visit) -> bool:
        if visit.command == "POST" and visit.path == "/sse":
            visit.reply(405)
            return True
        return False

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, f"{zoo.base}/sse")
        await keeper.state("zoo", "connected")
        assert text_of(await keeper.call("zoo__echo", text="x")) == "x"


async def test_a_result_of_megabytes_comes_through(keeper: Keeper):
    with HttpZoo("Wild") as zoo:
        add(keeper, zoo.url)
        await keeper.state("zoo", "connected")
        result = await keeper.call("zoo__megabytes")
        assert text_of(result).endswith("end") and not result.is_error


async def test_elicitation_over_http(make_keeper):
    from agent_tui.mcp_servers.types import ElicitAnswer

    async def elicit(question):
        return ElicitAnswer("accept", {"name": "Ann"})

    keeper = make_keeper(elicit=elicit)
    with HttpZoo() as zoo:
        add(keeper, zoo.url)
        await keeper.state("zoo", "connected")
        said = json.loads(text_of(await keeper.call("zoo__ask")))
        assert said == {"action": "accept", "content": {"name": "Ann"}}
        await keeper.manager.close()


async def test_stopping_a_call_reaches_the_server(keeper: Keeper):
    from agent_tui.agent.tools import ToolContext

    with HttpZoo() as zoo:
        add(keeper, zoo.url)
        await keeper.state("zoo", "connected")
        tool = keeper.tools()["zoo__slow"]
        ctx = ToolContext("c", keeper.updates.append)
        running = asyncio.create_task(tool.execute("c", {"steps": 400, "s": 0.05}, ctx))
        await until(lambda: keeper.updates)
        running.cancel()
        await until(lambda: "notifications/cancelled" in zoo.methods())


# --- what HTTP says ------------------------------------------------------------------------------


async def test_a_lost_session_is_made_anew_and_the_call_repeated(keeper: Keeper):
    with HttpZoo() as zoo:
        add(keeper, zoo.url)
        await keeper.state("zoo", "connected")
        zoo.forget()
        result = await keeper.call("zoo__echo", text="again")
        assert (text_of(result), result.is_error) == ("again", False)
        assert zoo.methods().count("initialize") == 2


async def test_a_server_that_is_away_for_a_while_comes_back(keeper: Keeper, monkeypatch):
    monkeypatch.setattr("agent_tui.mcp_servers.connection._pause_s", lambda failures: 0.05)
    zoo = HttpZoo()
    add(keeper, zoo.url)
    await keeper.state("zoo", "connected")
    zoo.close()
    result = await keeper.call("zoo__echo", text="x")
    assert result.is_error and "the connection was refused" in text_of(result)
    snapshot = await keeper.state("zoo", "failed")
    assert "refused" in (snapshot.error or "") and "zoo__echo" in keeper.tools()
    with HttpZoo(port=zoo.port):
        await keeper.state("zoo", "connected")
        assert text_of(await keeper.call("zoo__echo", text="back")) == "back"
        await keeper.manager.close()


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (502, "<h1>Bad gateway</h1>", "text/html", "HTTP 502 Bad Gateway"),
        (404, "nothing", "text/plain", "there is nothing at this address (HTTP 404)"),
        (403, '{"error": "no seat"}', "application/json", 'HTTP 403 Forbidden: {"error": "no'),
        (200, "<h1>Welcome</h1>", "text/html", "is no MCP server: it sent a web page"),
        (200, "hello", "text/plain", "is no MCP server: it sent text/plain"),
        (200, "{", "application/json", "answer cannot be read: it is not valid JSON"),
    ],
)
async def test_an_error_of_http_is_named(
    keeper: Keeper, status: int, body: str, kind: str, says: str
):
    def refuse(visit: Visit) -> bool:
        visit.reply(status, body, kind)
        return True

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, zoo.url, type="http")
        snapshot = await keeper.state("zoo", "failed")
        assert says in (snapshot.error or "")
        assert "<" not in (snapshot.error or "")


@pytest.mark.parametrize("way", ["json", "stream", "sse"])
async def test_answers_that_no_parser_takes_end_their_call_at_once(keeper: Keeper, way: str):
    with HttpZoo("Garbled") as zoo:
        zoo.answers_in_json = way == "json"
        if way == "sse":
            add(keeper, f"{zoo.base}/sse", type="sse", call_timeout_s=600)
        else:
            add(keeper, zoo.url, call_timeout_s=600)
        snapshot = await keeper.state("zoo", "connected")
        assert set(snapshot.left_out) == {"nested", "abyss"}
        await garbled(keeper)
        assert "an answer of it is not valid JSON, so its call has failed" in keeper.notices("zoo")
        assert text_of(await keeper.call("zoo__echo", text="x")) == "x"
        await keeper.manager.close()


async def test_an_answer_that_cannot_be_unpacked_is_one_clear_line(keeper: Keeper):
    def refuse(visit: Visit) -> bool:
        visit.reply(200, b"no gzip at all", "application/json", content_encoding="gzip")
        return True

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, zoo.url, type="http")
        snapshot = await keeper.state("zoo", "failed")
        assert snapshot.error == "its answer is compressed in a way that cannot be read"


@pytest.mark.parametrize(
    ("body", "packed", "says"),
    [
        (b"no gzip at all", {"content_encoding": "gzip"}, "its answer broke off"),
        (b"event: message\ndata: I am no JSON\n\n", {}, "cannot be read: it is not valid JSON"),
        (b": nothing more comes\n\n", {}, "its answer broke off"),
    ],
)
async def test_a_stream_that_is_none_costs_its_call_and_no_library_speaks(
    keeper: Keeper, body: bytes, packed: dict[str, str], says: str
):
    def refuse(visit: Visit) -> bool:
        if b'"fail"' in visit.body:
            visit.reply(200, body, "text/event-stream", **packed)
        return b'"fail"' in visit.body

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, zoo.url)
        await keeper.state("zoo", "connected")
        result = await keeper.call("zoo__fail")
        assert result.is_error and says in text_of(result)
        assert "SSE" not in text_of(result) and "parse" not in text_of(result)
        assert text_of(await keeper.call("zoo__echo", text="x")) == "x"


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_circle_of_redirects_is_left_and_named(keeper: Keeper, kind: str):
    def refuse(visit: Visit) -> bool:
        visit.reply(307, location="/b" if visit.path != "/b" else "/a")
        return True

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, zoo.url, type=kind)
        snapshot = await keeper.state("zoo", "failed")
        assert snapshot.error == "it redirects in a circle: /mcp → /b → /a → /b"
        # It is not tried again, and each request went round once.
        assert snapshot.retry_in_s is None and len(zoo.requests) <= 6


async def test_a_redirect_to_another_server_is_not_followed_and_named(keeper: Keeper):
    def refuse(visit: Visit) -> bool:
        visit.reply(302, location="https://login.example/in?state=s3cret")
        return True

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, zoo.url)
        snapshot = await keeper.state("zoo", "failed")
        assert snapshot.error == (
            "it redirects to https://login.example/in: if that is the server, give its address"
        )


@pytest.mark.parametrize("kind", ["text/plain; charset=utf-8", "application/json-rpc", "x"])
async def test_an_answer_is_taken_by_what_it_is_whatever_it_is_called(keeper: Keeper, kind: str):
    def refuse(visit: Visit) -> bool:
        reply = visit.reply
        visit.reply = lambda status, body="", _="", **more: reply(status, body, kind, **more)  # type: ignore[method-assign]
        return False

    with HttpZoo(refuse=refuse) as zoo:
        zoo.answers_in_json = True
        add(keeper, zoo.url, type="http")
        await keeper.state("zoo", "connected")
        assert text_of(await keeper.call("zoo__echo", text="x")) == "x"


async def test_a_redirect_within_the_server_is_followed(keeper: Keeper):
    def refuse(visit: Visit) -> bool:
        if visit.path != "/start":
            return False
        visit.reply(307, location="/mcp")
        return True

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, f"{zoo.base}/start")
        await keeper.state("zoo", "connected")
        assert text_of(await keeper.call("zoo__echo", text="x")) == "x"


@pytest.mark.parametrize("to_get", [404, 500])
async def test_an_address_with_nothing_is_said_to_have_nothing(
    keeper: Keeper, monkeypatch, to_get: int
):
    """Whatever it says to the older way, which is tried too."""
    monkeypatch.setattr("agent_tui.mcp_servers.connection._pause_s", lambda failures: 0.01)

    def refuse(visit: Visit) -> bool:
        visit.reply(to_get if visit.command == "GET" else 404, "<h1>Not here</h1>", "text/html")
        return True

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, zoo.url)
        await until(
            lambda: (
                keeper.manager.snapshot("zoo").retry_in_s is None
                and keeper.manager.state("zoo") == "failed"
            )
        )
        told = {e.error for e in keeper.events if getattr(e, "state", "") == "failed"}
        assert told == {"there is nothing at this address (HTTP 404)"}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("All connection attempts failed", "the connection was refused or the name is not known"),
        ("[Errno -2] Name or service not known", "its name is not known"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate "
         "(_ssl.c:1006)", "its certificate is not accepted (self-signed certificate)"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)",
         "it does not speak TLS at this address: is it http:// and not https://?"),
        ("something else", "the connection was refused or the name is not known (something else)"),
    ],
)  # fmt: skip
def test_why_there_is_no_connection_is_said_in_words(raw: str, says: str):
    assert reason_of(httpx2.ConnectError(raw)) == says


async def test_https_where_there_is_none_is_said_so(keeper: Keeper):
    with HttpZoo() as zoo:
        add(keeper, zoo.url.replace("http:", "https:"), type="http")
        snapshot = await keeper.state("zoo", "failed")
        assert "does not speak TLS" in (snapshot.error or "")


async def test_nobody_at_the_address(keeper: Keeper):
    zoo = HttpZoo()
    zoo.close()
    add(keeper, zoo.url, type="http")
    snapshot = await keeper.state("zoo", "failed")
    assert "the connection was refused" in (snapshot.error or "")
    assert snapshot.retry_in_s is not None


async def test_one_request_that_breaks_off_costs_that_request(keeper: Keeper):
    broken = []

    def refuse(visit: Visit) -> bool:
        if b'"fail"' in visit.body:
            broken.append(visit)
            visit.close_connection = True
            visit.connection.close()
            return True
        return False

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, zoo.url)
        await keeper.state("zoo", "connected")
        result = await keeper.call("zoo__fail")
        assert result.is_error and broken
        assert text_of(await keeper.call("zoo__echo", text="x")) == "x"
        assert zoo.methods().count("initialize") == 1


async def test_a_server_that_stays_away_is_waited_for_without_its_tools(
    keeper: Keeper, monkeypatch
):
    monkeypatch.setattr("agent_tui.mcp_servers.connection._pause_s", lambda failures: 0.01)
    zoo = HttpZoo()
    add(keeper, zoo.url)
    await keeper.state("zoo", "connected")
    zoo.close()
    keeper.manager.reconnect("zoo")
    await until(lambda: keeper.manager.state("zoo") == "failed" and not keeper.tools())
    with HttpZoo(port=zoo.port):
        await keeper.state("zoo", "connected")
        assert text_of(await keeper.call("zoo__echo", text="back")) == "back"
        await keeper.manager.close()


async def test_a_refused_header_is_not_said_to_need_a_login(keeper: Keeper):
    def refuse(visit: Visit) -> bool:
        visit.reply(401)
        return True

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, zoo.url, headers={"authorization": "Bearer old-token"})
        snapshot = await keeper.state("zoo", "needs_auth")
        assert "Authorization header of its configuration" in (snapshot.error or "")
        assert "/mcp login" not in (snapshot.error or "")


async def test_a_refused_login_is_its_own_state(keeper: Keeper):
    def refuse(visit: Visit) -> bool:
        visit.reply(401, www_authenticate='Bearer realm="zoo"')
        return True

    with HttpZoo(refuse=refuse) as zoo:
        add(keeper, zoo.url)
        snapshot = await keeper.state("zoo", "needs_auth")
        assert "HTTP 401" in (snapshot.error or "") and "/mcp login zoo" in (snapshot.error or "")
        assert snapshot.retry_in_s is None
