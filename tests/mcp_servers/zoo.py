"""The zoo: MCP servers that behave badly, each in its own way. Standard library only.

    python zoo.py ANIMAL            over stdin and stdout
    from tests.mcp_servers.zoo_http import HttpZoo      over HTTP, in threads of the test

An animal is a class; it speaks the protocol of 2025-11-25 unless it says else. Whatever a client
tells it is noted in the file named by ZOO_DIARY, one JSON line each.
"""

import base64
import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Send = Callable[[Any], None]
"""Takes a message, or bytes that are to be sent in the place of one."""

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
JPEG_HEAD = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0000b080001000101011100ffd9")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def text(value: str) -> Json:
    return {"content": [{"type": "text", "text": value}]}


def schema(**properties: Any) -> Json:
    return {"type": "object", "properties": properties}


class Animal:
    """A well-behaved server with a tool for each thing a client must get right."""

    capabilities: Json = {
        "tools": {"listChanged": True}, "resources": {}, "prompts": {}, "logging": {},
        "completions": {},
    }  # fmt: skip
    instructions: str | None = None

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: dict[str, queue.Queue[Json]] = {}
        self.cancelled: set[Any] = set()
        self.extra: list[str] = []
        self.asked = 0

    # --- messages -------------------------------------------------------------------------

    def receive(self, message: Json, send: Send) -> None:
        """One message of the client; may block (a call is answered in a thread of its own)."""
        if "method" not in message:
            if waiting := self.waiting.get(str(message.get("id"))):
                waiting.put(message)
            return
        diary(message)
        if "id" not in message:
            self.notified(message)
            return
        try:
            result = self.answer(message["method"], message.get("params") or {}, message, send)
        except LookupError as error:
            code = -32601
            send({"jsonrpc": "2.0", "id": message["id"],
                  "error": {"code": code, "message": f"no {error}"}})  # fmt: skip
            return
        if result is not None and message["id"] not in self.cancelled:
            send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def notified(self, message: Json) -> None:
        if message["method"] == "notifications/cancelled":
            self.cancelled.add(message["params"]["requestId"])

    def answer(self, method: str, params: Json, message: Json, send: Send) -> Json | None:
        """The result of a request; None: it is never answered."""
        match method:
            case "initialize":
                return self.introduce(params)
            case "ping" | "logging/setLevel":
                return {}
            case "tools/list":
                return {"tools": self.tools()}
            case "tools/call":
                return self.call(params["name"], params.get("arguments") or {}, message, send)
            case "resources/list":
                return {"resources": [{"uri": "zoo://cage/1", "name": "cage", "size": 12}]}
            case "resources/templates/list":
                return {"resourceTemplates": [{"uriTemplate": "zoo://cage/{n}", "name": "cages"}]}
            case "resources/read":
                return {"contents": [{"uri": params["uri"], "text": f"inside {params['uri']}"}]}
            case "prompts/list":
                arguments = [{"name": "who", "description": "to be fed", "required": True}]
                return {"prompts": [{"name": "feed", "arguments": arguments}]}
            case "prompts/get":
                said = f"Feed {params['arguments']['who']}."
                return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}
            case "completion/complete":
                words = ["ape", "ant", "bear"]
                begun = params["argument"]["value"]
                return {"completion": {"values": [w for w in words if w.startswith(begun)]}}
            case _:
                raise LookupError(method)

    def introduce(self, params: Json) -> Json:
        said = {"instructions": self.instructions} if self.instructions else {}
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": self.capabilities,
            "serverInfo": {"name": type(self).__name__, "version": "1"},
        } | said

    def tools(self) -> list[Json]:
        plain = ["fail", "crash", "env", "pid", "grow", "log", "roots", "stuck", *self.extra]
        return [
            {"name": "echo", "inputSchema": schema(text={"type": "string"})},
            {
                "name": "slow",
                "inputSchema": schema(
                    steps={"type": "integer"}, s={"type": "number"}, until={"type": "string"}
                ),
            },
            {"name": "ask", "inputSchema": schema(schema={"type": "object"})},
            {"name": "ask_url", "inputSchema": schema(url={"type": "string"})},
            {"name": "sample", "inputSchema": schema(tokens={"type": "integer"})},
            *({"name": name, "inputSchema": schema()} for name in plain),
        ]

    def call(self, name: str, arguments: Json, message: Json, send: Send) -> Json | None:
        match name:
            case "echo":
                return text(arguments.get("text", ""))
            case "fail":
                return text("it went wrong") | {"isError": True}
            case "env":
                return text(json.dumps(dict(os.environ) | {"cwd": str(Path.cwd())}))
            case "pid":
                return text(str(os.getpid()))
            case "crash":
                print("the cage is open", file=sys.stderr, flush=True)
                os._exit(3)
            case "stuck":
                return None
            case "slow":
                return self.slow(arguments, message, send)
            case "grow":
                self.extra.append(f"grown{len(self.extra)}")
                notify(send, "notifications/tools/list_changed")
                return text("grown")
            case "log":
                notify(send, "notifications/message", level="warning", data="from the log")
                return text("logged")
            case "roots":
                return text(json.dumps(self.ask(send, "roots/list", {})))
            case "ask":
                wanted = arguments.get("schema") or schema(name={"type": "string"})
                said = {"message": "Who are you?", "requestedSchema": wanted}
                return text(json.dumps(self.ask(send, "elicitation/create", said)))
            case "ask_url":
                said = {"mode": "url", "message": "Look", "url": arguments["url"],
                        "elicitationId": "e1"}  # fmt: skip
                return text(json.dumps(self.ask(send, "elicitation/create", said)))
            case "sample":
                content = {"type": "text", "text": "Say something."}
                said = {"messages": [{"role": "user", "content": content}],
                        "maxTokens": arguments.get("tokens", 10)}  # fmt: skip
                return text(json.dumps(self.ask(send, "sampling/createMessage", said)))
            case _ if name in self.extra:
                return text(name)
            case _:
                return text(f"no tool {name}") | {"isError": True}

    def slow(self, arguments: Json, message: Json, send: Send) -> Json:
        """until: a file; it is done as soon as that is there. stays: it comes to this step and
        no further."""
        steps, until = arguments.get("steps", 3), arguments.get("until")
        token = ((message.get("params") or {}).get("_meta") or {}).get("progressToken")
        for step in range(1, steps + 1):
            time.sleep(arguments.get("s", 0.01))
            if message["id"] in self.cancelled:
                diary({"stopped": step})
                return {}
            if until and Path(until).exists():
                break
            if token is not None:
                notify(send, "notifications/progress", progressToken=token, progress=step,
                       total=steps, message=f"step {step}")  # fmt: skip
            if step == arguments.get("stays"):
                time.sleep(3600)
        return text("done")

    def ask(self, send: Send, method: str, params: Json) -> Json:
        """Ask the client something: its result, or its error."""
        with self.lock:
            self.asked += 1
            name = f"ask-{self.asked}"
        self.waiting[name] = queue.Queue()
        send({"jsonrpc": "2.0", "id": name, "method": method, "params": params})
        answer = self.waiting[name].get(timeout=60)
        diary({"answered": answer})
        return answer.get("result") or {"error": answer.get("error")}


def notify(send: Send, method: str, **params: Any) -> None:
    send({"jsonrpc": "2.0", "method": method} | ({"params": params} if params else {}))


def encoded(message: Any) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def diary(entry: Json) -> None:
    path = os.environ.get("ZOO_DIARY")
    if path:
        with Path(path).open("a") as file:
            file.write(json.dumps(entry) + "\n")


# --- animals ----------------------------------------------------------------------------------


class Plain(Animal):
    instructions = "Be kind to the animals."


class ToolsOnly(Animal):
    """Has nothing but tools, and says so."""

    capabilities: Json = {"tools": {}}


class BadPrompts(Animal):
    """Says that it has prompts, and cannot list them."""

    def answer(self, method: str, params: Json, message: Json, send: Send) -> Json | None:
        if method == "prompts/list":
            raise LookupError("prompts today")
        return super().answer(method, params, message, send)


class Silent(Animal):
    """Takes everything and never says a word."""

    def receive(self, message: Json, send: Send) -> None:
        diary(message)


class SilentList(Animal):
    """Is friendly, but never lists its tools."""

    def answer(self, method: str, params: Json, message: Json, send: Send) -> Json | None:
        return None if method == "tools/list" else super().answer(method, params, message, send)


class Gated(Animal):
    """Says nothing before the gate is open: until there is the file of ZOO_GATE."""

    def receive(self, message: Json, send: Send) -> None:
        while not Path(os.environ["ZOO_GATE"]).exists():
            time.sleep(0.02)
        super().receive(message, send)


class DeafToTheNew(Animal):
    """Does not answer what it does not know, so the older protocol begins late."""

    def answer(self, method: str, params: Json, message: Json, send: Send) -> Json | None:
        return None if method == "server/discover" else super().answer(
            method, params, message, send
        )  # fmt: skip


class DiesOfTheNew(Animal):
    """Ends when it is asked what it does not know."""

    def answer(self, method: str, params: Json, message: Json, send: Send) -> Json | None:
        if method == "server/discover":
            os._exit(4)
        return super().answer(method, params, message, send)


class DeadAtStart(Animal):
    def __init__(self) -> None:
        print("cannot open the gate: no key", file=sys.stderr, flush=True)
        os._exit(7)


class BadNames(Animal):
    """Names no API takes, names that meet, entries that are none."""

    NAMES = (
        "read.file", "read_file", "read/file", "read file", "ünïcödé", "x" * 200, "x" * 201,
        "tool\x1b[2J", "a__b", "-", "__",
    )  # fmt: skip

    def tools(self) -> list[Any]:
        good = [{"name": name, "inputSchema": schema()} for name in self.NAMES]
        return [*good, good[0], {"inputSchema": schema()}, {"name": 7}, "tool", None]

    def call(self, name: str, arguments: Json, message: Json, send: Send) -> Json | None:
        return text(f"this is {name}")


class Many(Animal):
    """300 tools, some with schemas that fail a whole list elsewhere."""

    def tools(self) -> list[Any]:
        tools: list[Json] = [
            {"name": f"t{n:03}", "description": "x" * 200,
             "inputSchema": schema(a={"type": "string"}, b={"type": "integer"})}
            for n in range(295)
        ]  # fmt: skip
        odd: dict[str, Any] = {
            "typeless": {"properties": {"a": {"type": "string"}}},
            "union": {
                "type": "object",
                "oneOf": [{"properties": {"a": {"const": n}}} for n in (1, 2)],
            },
            "keys": schema(**{"user name": {"type": "string"}}),
            "array": {"type": "array"},
            "none": None,
        }
        return tools + [{"name": name, "inputSchema": value} for name, value in odd.items()]

    def call(self, name: str, arguments: Json, message: Json, send: Send) -> Json | None:
        return text(json.dumps({"name": name, "arguments": arguments}))


class Endless(Animal):
    """There is always another page."""

    def answer(self, method: str, params: Json, message: Json, send: Send) -> Json | None:
        if method != "tools/list":
            return super().answer(method, params, message, send)
        page = int(params.get("cursor") or 0)
        tools = [{"name": f"p{page}", "inputSchema": schema()}]
        return {"tools": tools, "nextCursor": str(page + 1)}


class Circular(Animal):
    """The next page is always the same."""

    def answer(self, method: str, params: Json, message: Json, send: Send) -> Json | None:
        if method != "tools/list":
            return super().answer(method, params, message, send)
        name = "second" if params.get("cursor") else "first"
        return {"tools": [{"name": name, "inputSchema": schema()}], "nextCursor": "again"}


class Pages(Animal):
    """Three pages, as it should be."""

    def answer(self, method: str, params: Json, message: Json, send: Send) -> Json | None:
        if method != "tools/list":
            return super().answer(method, params, message, send)
        page = int(params.get("cursor") or 0)
        more = {"nextCursor": str(page + 1)} if page < 2 else {}
        return {"tools": [{"name": f"p{page}", "inputSchema": schema()}]} | more


class Shuffled(Animal):
    """Its tools come in another order each time."""

    def tools(self) -> list[Json]:
        return random.sample(super().tools(), len(super().tools()))


class Wild(Animal):
    """Results of every kind, true and false."""

    def tools(self) -> list[Json]:
        broken = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        return [
            {"name": name, "inputSchema": schema(), "outputSchema": broken}
            for name in (*self.RESULTS, "megabytes")
        ]

    RESULTS: dict[str, Json] = {
        "png": {"content": [{"type": "image", "data": b64(PNG), "mimeType": "image/png"}]},
        "jpeg_as_png": {
            "content": [{"type": "image", "data": b64(JPEG_HEAD), "mimeType": "image/png"}]
        },
        "svg_as_png": {"content": [{"type": "image", "data": b64(SVG), "mimeType": "image/png"}]},
        "cut_png": {"content": [{"type": "image", "data": b64(PNG[:20]), "mimeType": "image/png"}]},
        "no_base64": {"content": [{"type": "image", "data": "*" * 8, "mimeType": "image/png"}]},
        "audio": {"content": [{"type": "audio", "data": b64(b"RIFF1234WAVE"),
                               "mimeType": "audio/wav"}]},
        "link": {"content": [{"type": "resource_link", "uri": "zoo://x", "name": "x",
                              "description": "a link", "size": 5}]},
        "embedded": {"content": [{"type": "resource", "resource": {
            "uri": "zoo://t", "mimeType": "text/plain", "text": "embedded text"}}]},
        "blob": {"content": [{"type": "resource", "resource": {
            "uri": "zoo://b", "mimeType": "application/pdf", "blob": b64(b"%PDF-1.7 x")}}]},
        "unknown": {"content": [{"type": "hologram", "depth": 3},
                                {"type": "text", "text": "and text"}]},
        "structured": {"content": [], "structuredContent": {"n": 1}},
        "structured_wrong": {"content": [{"type": "text", "text": "the text"}],
                             "structuredContent": {"n": "not a number"}},
        "structured_list": {"content": [], "structuredContent": [1, 2]},
        "no_content": {},
        "empty": {"content": []},
        "failed_image": {"isError": True, "content": [
            {"type": "text", "text": "see"}, {"type": "image", "data": b64(PNG),
                                             "mimeType": "image/png"}]},
        "escape": {"content": [{"type": "text", "text": "\x1b]52;c;aGk=\x07red\x1b[2J"}]},
    }  # fmt: skip

    def call(self, name: str, arguments: Json, message: Json, send: Send) -> Json | None:
        if name == "megabytes":
            return text("start " + "a line of the four megabytes\n" * 145_000 + "end")
        return self.RESULTS[name]


class Rude(Animal):
    """Answers that are no valid JSON-RPC."""

    def tools(self) -> list[Json]:
        names = ("null_result", "text_code", "both", "bare", "echo")
        return [{"name": name, "inputSchema": schema()} for name in names]

    def call(self, name: str, arguments: Json, message: Json, send: Send) -> Json | None:
        number = message["id"]
        match name:
            case "null_result":
                send({"jsonrpc": "2.0", "id": number, "result": None})
            case "text_code":
                send({"jsonrpc": "2.0", "id": number, "error": {"code": "E1", "message": "why"}})
            case "bare":
                send({"id": number, "result": text("without a version")})
            case "both":
                send({"jsonrpc": "2.0", "id": number, "error": "just text"})
            case _:
                return super().call(name, arguments, message, send)
        return None


class Garbled(Animal):
    """Answers that no parser takes, and a list with such things in it."""

    TEXT = b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"SAID"}]MORE}}'
    ANSWERS: dict[str, bytes] = {
        "digits": TEXT.replace(b"SAID", b"so many").replace(
            b"MORE", b',"structuredContent":{"id":99,"n":' + b"9" * 5_000 + b"}"
        ),
        "deep": b'{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"n":'
        + b"[" * 5_000 + b"]" * 5_000 + b"}}}",
        "deep300": b'{"result":{"content":[{"type":"text","text":"300 of them"}],'
        b'"structuredContent":'
        + b'{"a":' * 300 + b"1" + b"}" * 300 + b'},"id":ID,"jsonrpc":"2.0"}',
        "latin1": TEXT.replace(b"SAID", b"caf\xe9").replace(b"MORE", b""),
        "surrogate": TEXT.replace(b"SAID", b"half \\ud83d of it").replace(b"MORE", b""),
        "control": TEXT.replace(b"SAID", b"a\tb").replace(b"MORE", b""),
        "broken": b'{"jsonrpc":"2.0","result":{"content":[{"id":98,"text":nope}]},"id":ID}',
        "cut": b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"and th',
    }  # fmt: skip

    def tools(self) -> list[Json]:
        deep: Any = {"type": "string"}
        for _ in range(150):
            deep = {"type": "object", "properties": {"a": deep}}
        names = [*self.ANSWERS, "echo"]
        plain = [{"name": name, "inputSchema": schema()} for name in names]
        return [*plain, {"name": "nested", "inputSchema": deep}]

    def answer(self, method: str, params: Json, message: Json, send: Send) -> Json | None:
        if method != "tools/list":
            return super().answer(method, params, message, send)
        listed = json.dumps({"jsonrpc": "2.0", "id": message["id"],
                             "result": {"tools": self.tools()}})  # fmt: skip
        # One nested beyond every parser, and one with a number beyond every parser.
        more = (
            ',{"name":"abyss","inputSchema":{"type":"object","properties":{"a":'
            + '{"items":' * 5_000
            + "{}"
            + "}" * 5_000
            + "}}}"
            ',{"name":"huge","inputSchema":{"type":"object","properties":{"a":'
            '{"maximum":' + "9" * 5_000 + "}}}}"
        )
        send(f"{listed.removesuffix(']}}')}{more}]}}}}".encode())
        return None

    def call(self, name: str, arguments: Json, message: Json, send: Send) -> Json | None:
        if name not in self.ANSWERS:
            return super().call(name, arguments, message, send)
        send(self.ANSWERS[name].replace(b"ID", json.dumps(message["id"]).encode()))
        return None


class Noisy(Animal):
    """Banners on stdout, before and between messages, and a talkative stderr."""

    def __init__(self) -> None:
        super().__init__()
        banner = "Starting...\n╔══════╗\n║ ZOO  ║\n╚══════╝\n\n"
        sys.stdout.buffer.write(banner.encode() + b"{not json}\n\xff\xfe\n")
        sys.stdout.flush()
        secret = os.environ.get("ZOO_TOKEN", "")
        print(f"\x1b[31mlistening with {secret}\x1b[0m", file=sys.stderr, flush=True)

    def call(self, name: str, arguments: Json, message: Json, send: Send) -> Json | None:
        sys.stdout.write("DEBUG called\n[1, 2]\n")
        return super().call(name, arguments, message, send)


class Flood(Animal):
    """Writes to stdout for ever, and nothing of it is a message."""

    def __init__(self) -> None:
        while True:
            sys.stdout.write("I am a log file, am I not?\n" * 1000)


class ErrorFlood(Animal):
    """Works, and writes to stderr as fast as it can."""

    def __init__(self) -> None:
        super().__init__()
        threading.Thread(target=self.flood, daemon=True).start()

    def flood(self) -> None:
        line = b"2026-01-01 DEBUG something of no interest happened again\n" * 500
        while True:
            os.write(2, line)


class Stubborn(Animal):
    """Ignores signals and the end of its input, and so does what it has started."""

    def __init__(self) -> None:
        super().__init__()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        code = (
            "import signal,time\n"
            "for n in (signal.SIGTERM, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)\n"
            "while True: time.sleep(60)"
        )
        child = subprocess.Popen(
            [sys.executable, "-S", "-c", code], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        diary({"pids": [os.getpid(), child.pid]})

    @staticmethod
    def at_end() -> None:
        while True:
            time.sleep(60)


class LeavesAChild(Animal):
    """Ends as it should; the server it is only a wrapper for does not."""

    def __init__(self) -> None:
        super().__init__()
        child = subprocess.Popen(
            ["sleep", "300"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        diary({"pids": [os.getpid(), child.pid]})


class Curious(Animal):
    """Asks more than anyone wants to answer."""

    def call(self, name: str, arguments: Json, message: Json, send: Send) -> Json | None:
        if name != "echo":
            return super().call(name, arguments, message, send)
        said = {"message": "Again?", "requestedSchema": schema(name={"type": "string"})}
        answers: list[Json] = []
        threads = [
            threading.Thread(
                target=lambda: answers.append(self.ask(send, "elicitation/create", said))
            )
            for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return text(json.dumps(answers))


class Modern(Animal):
    """Speaks 2026-07-28: no handshake, one question of its own by input_required, listen."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[tuple[Any, Send]] = []

    def answer(self, method: str, params: Json, message: Json, send: Send) -> Json | None:
        stamp = {"resultType": "complete"}
        cached = stamp | {"ttlMs": 60_000, "cacheScope": "private"}
        match method:
            case "server/discover":
                return cached | {
                    "supportedVersions": ["2026-07-28"], "capabilities": self.capabilities,
                    "_meta": {"io.modelcontextprotocol/serverInfo": {
                        "name": "Modern", "version": "2"}},
                }  # fmt: skip
            case "initialize":
                raise LookupError(method)
            case "subscriptions/listen":
                self.listeners.append((message["id"], send))
                self.tell("notifications/subscriptions/acknowledged",
                          notifications=params["notifications"])  # fmt: skip
                diary({"listening": True})
                return None
            case "tools/call" if params["name"] == "ask":
                if "inputResponses" not in params:
                    asked = {"message": "Who are you?",
                             "requestedSchema": schema(name={"type": "string"})}  # fmt: skip
                    return {
                        "resultType": "input_required", "requestState": "s1",
                        "inputRequests": {
                            "who": {"method": "elicitation/create", "params": asked}
                        },
                    }  # fmt: skip
                return stamp | text(json.dumps(params["inputResponses"]["who"]))
            case _:
                result = super().answer(method, params, message, send)
                listing = method.endswith("/list") or method == "resources/read"
                return None if result is None else result | (cached if listing else stamp)

    def call(self, name: str, arguments: Json, message: Json, send: Send) -> Json | None:
        if name == "grow":
            self.extra.append(f"grown{len(self.extra)}")
            self.tell("notifications/tools/list_changed")
            return text("grown")
        return super().call(name, arguments, message, send)

    def tell(self, method: str, **params: Any) -> None:
        for number, send in self.listeners:
            meta = {"io.modelcontextprotocol/subscriptionId": number}
            notify(send, method, _meta=meta, **params)


ANIMALS: dict[str, type[Animal]] = {
    animal.__name__: animal
    for animal in (
        Plain, Silent, SilentList, Gated, DeafToTheNew, DiesOfTheNew, DeadAtStart, BadNames, Many,
        Endless, Circular, Pages, Shuffled, Wild, Rude, Noisy, Flood, ErrorFlood, Stubborn,
        LeavesAChild, Curious, Modern, Garbled, ToolsOnly, BadPrompts,
    )
}  # fmt: skip


def main() -> None:
    """Serve an animal over stdin and stdout."""
    animal = ANIMALS[sys.argv[1]]()
    lock = threading.Lock()

    def send(message: Any) -> None:
        with lock:
            sys.stdout.buffer.write(encoded(message) + b"\n")
            sys.stdout.flush()

    for line in sys.stdin:
        message = json.loads(line)
        work = threading.Thread(target=animal.receive, args=(message, send), daemon=True)
        work.start()
        if message.get("method") != "tools/call" and "id" in message:
            work.join(0.5)
    at_end = getattr(animal, "at_end", None)
    if at_end:
        at_end()


if __name__ == "__main__":
    main()
