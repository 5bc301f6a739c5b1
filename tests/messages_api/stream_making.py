"""Streams for tests: a whole API message cut into raw events, and events into SSE bytes.

`python tests/messages_api/stream_making.py` writes tests/data/recordings/ anew.
"""

import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import answer_making

Json = dict[str, Any]
RECORDINGS = Path(__file__).parent.parent / "data" / "recordings"

# --- events ---------------------------------------------------------------------------


def start(content: list[Json] | None = None, **fields: Any) -> Json:
    message: Json = {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5",
        "content": content or [], "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 25, "output_tokens": 1},
    }  # fmt: skip
    return {"type": "message_start", "message": message | fields}


def block_start(index: int, block: Json) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> Json:
    return {
        "type": "content_block_delta",
        "index": index,
        "delta": {"type": f"{kind}_delta", **fields},
    }


def block_stop(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


def end(stop_reason: str | None, usage: Json | None = None, **fields: Any) -> list[Json]:
    changed = {"stop_reason": stop_reason, "stop_sequence": None, **fields}
    counts = usage or {"output_tokens": 15}
    return [
        {"type": "message_delta", "delta": changed, "usage": counts},
        {"type": "message_stop"},
    ]


PING: Json = {"type": "ping"}


def text(index: int, *parts: str, **fields: Any) -> list[Json]:
    return [
        block_start(index, {"type": "text", "text": "", **fields}),
        *(delta(index, "text", text=p) for p in parts),
        block_stop(index),
    ]


def tool_use(index: int, *parts: str, **fields: Any) -> list[Json]:
    block = {"type": "tool_use", "id": "toolu_01", "name": "read", "input": {}, **fields}
    return [
        block_start(index, block),
        *(delta(index, "input_json", partial_json=p) for p in parts),
        block_stop(index),
    ]


def whole(index: int, block: Json) -> list[Json]:
    return [block_start(index, block), block_stop(index)]


# --- a message cut into events ----------------------------------------------------------


def pieces(value: str, cut: Callable[[str], Iterable[int]]) -> list[str]:
    at = [0, *sorted(set(cut(value))), len(value)]
    return [value[a:b] for a, b in itertools.pairwise(at)]


def events_of(message: Json, cut: Callable[[str], Iterable[int]] = lambda _: ()) -> list[Json]:
    """The raw events by which the API streams this message; `cut` says where strings break."""
    opening = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    events: list[Json] = [{"type": "message_start", "message": opening}]
    for index, block in enumerate(message["content"]):
        events += _block_events(index, block, cut)
    closing = {k: message[k] for k in ("stop_reason", "stop_sequence") if k in message}
    usage = {"output_tokens": message["usage"]["output_tokens"]}
    events.append({"type": "message_delta", "delta": closing, "usage": usage})
    events.append({"type": "message_stop"})
    return events


def _block_events(index: int, block: Json, cut: Callable[[str], Iterable[int]]) -> list[Json]:
    deltas: list[Json] = []
    begun = dict(block)
    match block["type"]:
        case "text":
            begun["text"] = ""
            deltas += [delta(index, "text", text=p) for p in pieces(block["text"], cut)]
            if block.get("citations"):
                begun["citations"] = []
                deltas += [delta(index, "citations", citation=c) for c in block["citations"]]
        case "thinking":
            begun |= {"thinking": "", "signature": ""}
            deltas += [delta(index, "thinking", thinking=p) for p in pieces(block["thinking"], cut)]
            deltas.append(delta(index, "signature", signature=block["signature"]))
        case "compaction":
            come = {key: block[key] for key in ("content", "encrypted_content") if key in block}
            begun |= dict.fromkeys(come)
            deltas.append(delta(index, "compaction", **come))
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            begun["input"] = {}
            written = json.dumps(block["input"], ensure_ascii=False)
            deltas += [delta(index, "input_json", partial_json=p) for p in pieces(written, cut)]
        case _:
            pass
    return [block_start(index, begun), *deltas, block_stop(index)]


# --- SSE bytes ------------------------------------------------------------------------


def sse(events: Iterable[Json]) -> bytes:
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


def foreign_sse(events: Iterable[Json]) -> bytes:
    """As some local servers write: no event names, CRLF, comments, spaced data, [DONE]."""
    lines = [": hello"]
    for event in events:
        lines += [f"data:{json.dumps(event, ensure_ascii=False)}", ""]
    return "\r\n".join([*lines, "data: [DONE]", "", ""]).encode()


# --- the recordings of this repository --------------------------------------------------

PROGRAM = {"type": "code_execution_20260120", "tool_id": "srvtoolu_01"}
CONTAINER = {"id": "container_01", "expires_at": "2026-11-30T16:00:00Z"}
CITATION = {
    "type": "web_search_result_location", "cited_text": "a loop", "url": "https://example.org/",
    "title": None, "encrypted_index": "Eo8BCio=",
}  # fmt: skip


def server_call(index: int, name: str, call_id: str, *parts: str, **fields: Any) -> list[Json]:
    block = {"type": "server_tool_use", "id": call_id, "name": name, "input": {}, **fields}
    return [
        block_start(index, block),
        *(delta(index, "input_json", partial_json=p) for p in parts),
        block_stop(index),
    ]


def server_result(index: int, kind: str, call_id: str, content: Any) -> list[Json]:
    return whole(index, {"type": f"{kind}_tool_result", "tool_use_id": call_id, "content": content})


def recordings() -> dict[str, bytes]:
    """Name → body. Between them: every block, delta, event and stop reason of the facts."""
    made: dict[str, bytes] = {}

    def put(name: str, *parts: Json | list[Json], encode: Callable[..., bytes] = sse) -> None:
        events: list[Json] = []
        for part in parts:
            events += part if isinstance(part, list) else [part]
        made[name] = encode(events)

    hello = text(0, "Hel", "lo", " there")
    put("text", start(), PING, hello, end("end_turn"))
    for reason in ("pause_turn", "compaction", "max_tokens", "model_context_window_exceeded",
                   "brand_new_reason"):  # fmt: skip
        put(f"stop-{reason}", start(), hello, end(reason))
    put("stop-sequence", start(), hello, end("stop_sequence", stop_sequence="END"))
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    put("stop-refusal-empty", start(), PING, end("refusal", stop_details=details))
    put("stop-refusal-call", start(), tool_use(0, '{"path":"a"}'),
        end("refusal", stop_details=details))  # fmt: skip

    put("citations", start(),
        [block_start(0, {"citations": [], "type": "text", "text": ""}),
         delta(0, "citations", citation=CITATION), delta(0, "text", text="A loop"),
         delta(0, "citations", citation={**CITATION, "cited_text": "two"}),
         delta(0, "text", text=" it is."), block_stop(0)],
        [block_start(1, {"type": "text", "text": "", "citations": None}),
         delta(1, "text", text="Done."), block_stop(1)], end("end_turn"))  # fmt: skip
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    put("thinking", start(), PING,
        [block_start(0, thought), delta(0, "thinking", thinking="Let me ", estimated_tokens=2),
         delta(0, "thinking", thinking="see."), delta(0, "signature", signature="EqQBCgIYAhIM"),
         block_stop(0)], text(1, "Yes."), end("end_turn"))  # fmt: skip
    put("thinking-omitted", start(),
        [block_start(0, thought), delta(0, "signature", signature="EqQBCgIYAhIM"), block_stop(0)],
        whole(1, {"type": "redacted_thinking", "data": "EmABCio="}),
        tool_use(2, '{"path":', '"a.txt"}', caller={"type": "direct"}),
        end("tool_use"))  # fmt: skip
    put("tools-parallel", start(), text(0, "I look."),
        tool_use(1, '{"pa', 'th": "\\u00e9\\n', '", "n": [1, 2.5, true, null, {}]', "}"),
        tool_use(2, "", id="toolu_02", name="now"),
        tool_use(3, id="toolu_03", name="now"), end("tool_use"))  # fmt: skip
    put("tools-interleaved", start(),
        [block_start(0, {"type": "tool_use", "id": "a", "name": "x", "input": {}}),
         block_start(1, {"type": "tool_use", "id": "b", "name": "y", "input": {}}),
         delta(1, "input_json", partial_json='{"b":'), delta(0, "input_json", partial_json='{"a":'),
         delta(1, "input_json", partial_json="2}"), delta(0, "input_json", partial_json="1}"),
         block_stop(1), block_stop(0)], end("tool_use"))  # fmt: skip
    put("tool-cut-by-limit", start(),
        tool_use(0, '{"cmd":"rm -rf build"', ', "dry_run":tr')[:-1], end("max_tokens"))  # fmt: skip
    put("tool-invalid-json", start(), tool_use(0, '{"path": }'), end("tool_use"))
    put("tool-not-an-object", start(), tool_use(0, '["path"', ', "a"]'), end("tool_use"))
    put("duplicate-ids", start(), tool_use(0, '{"path":"a"}'), tool_use(1, '{"path":"b"}'),
        end("tool_use"))  # fmt: skip
    put("empty-text-then-tool", start(), text(0), tool_use(1, "{}"), end("tool_use"))

    put("program-pauses", start(), text(0, "I count."),
        server_call(1, "code_execution", "srvtoolu_01", "", '{"code": "await read()',
                    '"}', caller={"type": "direct"}),
        whole(2, {"type": "tool_use", "id": "toolu_01", "name": "read", "input": {"path": "a"},
                  "caller": PROGRAM}),
        end("tool_use", container=CONTAINER))  # fmt: skip
    put("program-goes-on",
        start([{"type": "tool_use", "id": "toolu_02", "name": "read", "input": {"path": "b"},
                "caller": PROGRAM}], container=CONTAINER, stop_reason="tool_use"),
        {"type": "message_stop"})  # fmt: skip
    put("program-ends", start(),
        server_result(0, "code_execution", "srvtoolu_01",
                      {"type": "code_execution_result", "stdout": "2\n", "stderr": "",
                       "return_code": 0, "content": []}),
        text(1, "Two."), end("end_turn"))  # fmt: skip
    put("prefilled-then-more",
        start([{"type": "text", "text": "I had"}], container=CONTAINER), text(1, " more."),
        end("end_turn"))  # fmt: skip

    results: list[Json] = []
    contents: list[tuple[str, Any]] = [
        ("web_search", [{"type": "web_search_result", "url": "https://example.org/", "title": "E",
                         "encrypted_content": "EqgfCioIARgBIiQ=", "page_age": None}]),
        ("web_fetch", {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}),
        ("advisor", {"type": "advisor_result", "text": "Try again."}),
        ("code_execution", {"type": "encrypted_code_execution_result", "encrypted_stdout": "Eo=",
                            "stderr": "", "return_code": 1, "content": []}),
        ("bash_code_execution", {"type": "bash_code_execution_result", "stdout": "ok\n",
                                 "stderr": "", "return_code": 0,
                                 "content": [{"type": "bash_code_execution_output",
                                              "file_id": "file_01"}]}),
        ("text_editor_code_execution", {"type": "text_editor_code_execution_create_result",
                                        "is_file_update": False}),
        ("tool_search", {"type": "tool_search_tool_search_result",
                         "tool_references": [{"type": "tool_reference", "tool_name": "read"}]}),
    ]  # fmt: skip
    for n, (kind, content) in enumerate(contents):
        name = "tool_search_tool_bm25" if kind == "tool_search" else kind
        results += server_call(2 * n, name, f"srvtoolu_{n}", '{"q": "', f'{kind}"', "}")
        results += server_result(2 * n + 1, kind, f"srvtoolu_{n}", content)
    put("server-tools", start(), results, text(14, "So."), end("end_turn"))
    put("rare-blocks", start(),
        whole(0, {"type": "fallback", "from": {"model": "claude-fable-5-2"},
                  "to": {"model": "claude-opus-5-5"}}),
        whole(1, {"type": "mcp_tool_listing", "server_name": "files", "tools": [{"name": "a"}]}),
        [block_start(2, {"type": "mcp_tool_use", "id": "mcptoolu_01", "name": "echo",
                         "server_name": "files", "input": {}}),
         delta(2, "input_json", partial_json='{"a": 1}'), block_stop(2)],
        whole(3, {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_01", "is_error": False,
                  "content": [{"type": "text", "text": "1"}]}),
        whole(4, {"type": "container_upload", "file_id": "file_01"}),
        [block_start(5, {"type": "compaction", "content": None, "encrypted_content": None}),
         delta(5, "compaction", content="So far: nothing.", encrypted_content="EpwBCio="),
         block_stop(5)], text(6, "Now."),
        {**end("end_turn")[0], "context_management": {"applied_edits": []}},
        end("end_turn")[1])  # fmt: skip
    put("unknown-kinds", start(), {"type": "weather_report", "sky": "blue"},
        [block_start(0, {"type": "hologram", "beams": [1, 2], "deep": {"er": None}}),
         delta(0, "sparkle", shine=3), block_stop(0)],
        [block_start(1, {"type": "text", "text": ""}), delta(1, "text", text="See"),
         delta(1, "sparkle", shine=1), block_stop(1)], end("end_turn"))  # fmt: skip

    put("usage-replaces", start(usage={"input_tokens": 25, "output_tokens": 1,
                                       "cache_read_input_tokens": 7, "service_tier": "standard"}),
        hello, {"type": "message_delta", "delta": {"stop_reason": None},
                "usage": {"output_tokens": 15}},
        end("end_turn", {"input_tokens": 900, "output_tokens": 40,
                         "cache_read_input_tokens": None}))  # fmt: skip
    put("surrogates-split", start(),
        [block_start(0, {"type": "text", "text": ""}), delta(0, "text", text="a\ud83d"),
         delta(0, "text", text="\ude00b \ud83d"), delta(0, "text", text="c"), block_stop(0)],
        end("end_turn"))  # fmt: skip

    put("error-first", {"type": "error", "error": {"type": "overloaded_error",
                                                   "message": "Overloaded"}})  # fmt: skip
    overloaded = {"details": None, "type": "overloaded_error", "message": "Overloaded"}
    error = {"type": "error", "error": overloaded, "request_id": "req_01"}
    put("error-midstream", start(), text(0, "The three")[:-1], error)
    put("cut-in-a-call", start(), tool_use(0, '{"cmd":"rm -rf /tmp/x')[:-1])
    put("cut-in-thinking", start(), [block_start(0, thought),
                                     delta(0, "thinking", thinking="Hm")])  # fmt: skip
    put("cut-after-start", start())
    put("stop-without-reason", start(), hello, {"type": "message_stop"})
    put("cut-before-stop", start(), hello, end("end_turn")[:1])

    put("spliced-start", start(),
        [block_start(0, thought), delta(0, "thinking", thinking="One."),
         delta(0, "signature", signature="sig1"), block_stop(0)],
        tool_use(1, '{"path":"a"}', id="toolu_first"),
        tool_use(2, '{"path":"b')[:-1], start(id="msg_02"), text(0, "Anew."),
        tool_use(1, '{"path":"c"}', id="toolu_last"), end("tool_use"))  # fmt: skip
    put("start-twice", start(), start(), hello, end("end_turn"))
    bare = {"type": "message_start",
            "message": {"id": "chatcmpl-7", "role": "assistant", "content": [],
                        "usage": {"input_tokens": 0, "output_tokens": 0}}}  # fmt: skip
    put("foreign-names", bare, text(0, "Grüß", " dich"),
        tool_use(1, '{"path": "a"}', id="call.0:x"), end("tool_use", {"output_tokens": 0}),
        encode=foreign_sse)  # fmt: skip
    put("foreign-no-stops", bare,
        [{"type": "content_block_delta", "index": 0,
          "delta": {"type": "text_delta", "text": "Hi."}},
         block_start(1, {"type": "tool_use", "id": "call_1", "name": "read", "input": {}}),
         delta(1, "input_json", partial_json='{"path":"a"}')],
        end("tool_use"), encode=foreign_sse)  # fmt: skip
    for name in answer_making.ANSWERS:
        put(name, events_of(answer_making.message(name), lambda value: range(7, len(value), 11)))
    return made


def main() -> None:
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    for old in RECORDINGS.glob("*.sse"):
        old.unlink()
    for name, body in recordings().items():
        (RECORDINGS / f"{name}.sse").write_bytes(body)


if __name__ == "__main__":
    main()
