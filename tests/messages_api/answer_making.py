"""Whole answers for tests: every block that the API can put into one, with real-looking content.

The fields follow the SDK's types (anthropic 2.14); some blocks have more, in other orders, with
nulls, as a server may send tomorrow.
"""

from typing import Any

Json = dict[str, Any]


def _search(call_id: str, query: str, content: Any, **more: Any) -> list[Json]:
    return _served("web_search", call_id, {"query": query}, content, **more)


def _served(name: str, call_id: str, arguments: Json, content: Any, **more: Any) -> list[Json]:
    kind = "tool_search" if name.startswith("tool_search") else name
    return [
        {"type": "server_tool_use", "id": call_id, "name": name, "input": arguments, **more},
        {"type": f"{kind}_tool_result", "tool_use_id": call_id, "content": content, **more},
    ]


def _found(url: str, title: str, age: str | None = None) -> Json:
    return {
        "type": "web_search_result", "title": title, "url": url,
        "encrypted_content": "EqgfCioIARgBIiQ=", "page_age": age,
    }  # fmt: skip


def _web(url: str, title: str | None, quote: str) -> Json:
    return {
        "type": "web_search_result_location", "cited_text": quote, "url": url, "title": title,
        "encrypted_index": "Eo8BCioIAhgB",
    }  # fmt: skip


def _text(text: str, *citations: Json) -> Json:
    if not citations:
        return {"type": "text", "text": text}
    return {"citations": list(citations), "type": "text", "text": text}


def _failed(name: str, code: str, **more: Any) -> Json:
    return {"type": f"{name}_tool_result_error", "error_code": code, **more}


ROME = ("https://example.org/food/carbonara", "Carbonara: the Roman original")
LETTER = (
    "https://cucina.example.com/articles/2024/guanciale-or-pancetta",
    "Guanciale or pancetta?",
)

WEB = [
    _text("I'll look that up."),
    *_search("srvtoolu_w1", "original carbonara recipe", [
        _found(*ROME, "3 days ago"),
        _found(*LETTER),
        _found("https://museum.example.net/", "Museum of pasta — recipes, tools and a very long "
               "title that does not fit into any row of a narrow screen", "March 2, 2026"),
    ]),
    *_served("web_fetch", "srvtoolu_w2", {"url": ROME[0]}, {
        "type": "web_fetch_result", "url": ROME[0],
        "retrieved_at": "2026-11-30T09:12:44.123000+00:00",
        "content": {"type": "document", "source": {
            "type": "text", "media_type": "text/plain",
            "data": "Carbonara\n\nEggs, guanciale, pecorino, pepper.\nNo cream."},
            "title": ROME[1], "citations": None},
    }),
    _text("The Roman original has four things besides the pasta:\n\n- "),
    _text("eggs and pecorino", _web(*ROME, "Eggs, guanciale, pecorino, pepper.")),
    _text("\n- "),
    _text("guanciale, where many take pancetta",
          _web(*ROME, "Eggs, guanciale, pecorino, pepper."),
          _web(*LETTER, "Outside of Rome pancetta is what most cooks find, and it will do.")),
    _text(" (though it is milder)\n- pepper\n\n"),
    _text("There is no cream in it", _web(*ROME, "No cream.")),
    _text("."),
]  # fmt: skip

WEB_ERRORS = [
    *_search("srvtoolu_e1", "anything", _failed("web_search", "max_uses_exceeded")),
    *_served("web_fetch", "srvtoolu_e2", {"url": "https://intranet.example.org/"},
             _failed("web_fetch", "url_not_allowed")),
    *_served("web_fetch", "srvtoolu_e3", {"url": "https://example.org/a.pdf"}, {
        "type": "web_fetch_result", "url": "https://example.org/a.pdf", "retrieved_at": None,
        "content": {"type": "document", "title": None, "source": {
            "type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK" * 40}},
    }),
    *_search("srvtoolu_e4", "a new kind of trouble", _failed("web_search", "brand_new_code")),
    *_search("srvtoolu_e5", "nothing to find", []),
    _text("The web was of no help."),
]  # fmt: skip

SCRIPT = "import csv\n\n\ndef total(path):\n    with open(path) as file:\n        return sum(1)\n"

CONTAINER = [
    {"type": "container_upload", "file_id": "file_011CNha8iCJcU1wXNR6q4V8w"},
    *_served("text_editor_code_execution", "srvtoolu_c1",
             {"command": "create", "path": "/tmp/total.py", "file_text": SCRIPT},
             {"type": "text_editor_code_execution_create_result", "is_file_update": False}),
    *_served("bash_code_execution", "srvtoolu_c2", {"command": "python /tmp/total.py"}, {
        "type": "bash_code_execution_result", "stdout": "reading\n",
        "stderr": "\x1b[31mTypeError\x1b[0m: total() missing 1 required argument\n",
        "return_code": 1, "content": []}),
    *_served("text_editor_code_execution", "srvtoolu_c3",
             {"command": "str_replace", "path": "/tmp/total.py", "old_str": "sum(1)",
              "new_str": "sum(1 for _ in csv.reader(file))"},
             {"type": "text_editor_code_execution_str_replace_result", "old_start": 5,
              "old_lines": 2, "new_start": 5, "new_lines": 2, "lines": [
                  "     with open(path) as file:", "-        return sum(1)",
                  "+        return sum(1 for _ in csv.reader(file))"]}),
    *_served("text_editor_code_execution", "srvtoolu_c4",
             {"command": "view", "path": "/data/sales.csv", "view_range": [1, 3]},
             {"type": "text_editor_code_execution_view_result", "file_type": "text",
              "content": "year,sum\n2025,7\n2026,9", "num_lines": 3, "start_line": 1,
              "total_lines": 2048}),
    *_served("bash_code_execution", "srvtoolu_c5",
             {"command": "cd /data\nfor f in *.csv; do\n  wc -l $f\ndone > /tmp/out.txt"}, {
                 "type": "bash_code_execution_result", "stdout": "", "stderr": "",
                 "return_code": 0, "content": [{"type": "bash_code_execution_output",
                                                "file_id": "file_01out"}]}),
    *_served("text_editor_code_execution", "srvtoolu_c6", {"command": "view", "path": "/no"},
             _failed("text_editor_code_execution", "file_not_found",
                     error_message="No such file: /no")),
    *_served("bash_code_execution", "srvtoolu_c7", {"command": "sleep 1000"},
             _failed("bash_code_execution", "execution_time_exceeded")),
    *_served("code_execution", "srvtoolu_c8", {"code": "print(open('/data/sales.csv').read())"},
             _failed("code_execution", "container_expired")),
    _text("`total.py` counts now."),
]  # fmt: skip

CONNECTOR = [
    {"type": "mcp_tool_listing", "mcp_server_name": "deepwiki", "tools": [
        {"name": "ask_question", "description": "Ask about a repository.\nSecond line.",
         "input_schema": {"type": "object", "properties": {}}},
        {"name": "read_wiki", "description": None, "input_schema": {"type": "object"}}]},
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask_question", "server_name": "deepwiki",
     "input": {"repo": "textualize/textual", "question": "What is a strip?"}},
    {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [
        {"type": "text", "text": "A strip is one row of segments.\nIt knows its width."}]},
    {"type": "mcp_tool_use", "id": "mcptoolu_2", "name": "read_wiki", "server_name": "deepwiki",
     "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_2", "is_error": True,
     "content": "Repository not found: x/y"},
    *_served("tool_search_tool_bm25", "srvtoolu_t1", {"query": "weather in a city"},
             {"type": "tool_search_tool_search_result", "tool_references": [
                 {"type": "tool_reference", "tool_name": "get_weather"},
                 {"type": "tool_reference", "tool_name": "get_forecast"}]}),
    *_served("tool_search_tool_regex", "srvtoolu_t2", {"pattern": "get_[a-", "limit": 3},
             _failed("tool_search", "invalid_tool_input",
                     error_message="unterminated character set")),
    *_served("advisor", "srvtoolu_a1", {}, {
        "type": "advisor_result", "text": "Ship it.\n\nThe tests say enough.",
        "stop_reason": "end_turn"}),
    *_served("advisor", "srvtoolu_a2", {}, {
        "type": "advisor_redacted_result", "encrypted_content": "Eo8BCioIAhgB",
        "stop_reason": "end_turn"}),
    *_served("advisor", "srvtoolu_a3", {}, _failed("advisor", "overloaded")),
    _text("A strip is one row."),
]  # fmt: skip

MARKS = [
    {"type": "compaction", "content": "**So far:** the user asked for `total.py`; it was written.",
     "encrypted_content": None, "signature": "EqQBCgIYAhIM", "tool_changes": []},
    {"type": "thinking", "thinking": "Go on from the summary.", "signature": "EqQBCgIYAhIM"},
    _text("I go on."),
    {"type": "fallback", "from": {"model": "claude-fable-5-2"}, "to": {"model": "claude-opus-5-5"},
     "trigger": {"type": "refusal", "category": "cyber"}},
    {"type": "redacted_thinking", "data": "EmABCioIARgBIiQ="},
    _text("Here is what I may say."),
]  # fmt: skip

DOCUMENTS = [
    _text("The contract "),
    _text("ends in 2027",
          {"type": "page_location", "cited_text": "It ends on 1 May 2027.", "document_index": 0,
           "document_title": "contract.pdf", "file_id": None, "start_page_number": 3,
           "end_page_number": 4}),
    _text(", which "),
    _text("the notes and the wiki confirm",
          {"type": "char_location", "cited_text": "till 2027", "document_index": 1,
           "document_title": None, "start_char_index": 120, "end_char_index": 129},
          {"type": "search_result_location", "cited_text": "Contracts run three years.",
           "search_result_index": 0, "source": "https://wiki.example.org/contracts",
           "title": "Contracts", "start_block_index": 0, "end_block_index": 1},
          {"type": "content_block_location", "cited_text": "two\nblocks", "document_index": 2,
           "document_title": "minutes", "start_block_index": 1, "end_block_index": 3}),
    _text("."),
]  # fmt: skip

ODD_FIELDS = [
    {"zeta": 1, "type": "thinking", "thinking": "Hm.", "signature": "EqQB", "alpha": None},
    {"data": "EmAB", "type": "redacted_thinking", "extra": {"b": [None, {"a": 1}], "a": 2}},
    {"text": "Order.", "type": "text", "citations": None, "later": {"x": None}},
    {"type": "text", "text": " Same.", "citations": [
        {"zz": 1, "type": "web_search_result_location", "url": "https://example.org/",
         "cited_text": "x", "title": None, "encrypted_index": "Eo", "aa": {"deep": [1.5, None]}}]},
    {"name": "web_search", "input": {"query": "x", "n": None, "z": 1, "a": [0.5]},
     "id": "srvtoolu_o1", "type": "server_tool_use", "caller": {"type": "direct"}, "mark": True},
    {"content": [{"url": "https://example.org/", "type": "web_search_result", "title": "E",
                  "page_age": None, "encrypted_content": "Eq", "rank": 0}],
     "caller": {"type": "direct"}, "tool_use_id": "srvtoolu_o1", "type": "web_search_tool_result",
     "took_ms": 12.5},
    {"type": "compaction", "tool_changes": None, "content": "So far.", "signature": None,
     "encrypted_content": "Epw="},
    {"type": "fallback", "to": {"model": "b", "tier": None}, "from": {"model": "a"},
     "trigger": {"category": None, "type": "refusal"}},
    {"type": "hologram", "beams": [1, 2.5, None, "ü\u2028"], "deep": {"er": {"est": None}}},
    {"input": {"path": "a", "z": None, "b": {"y": 1, "x": 2}}, "name": "read", "id": "toolu_o1",
     "type": "tool_use", "caller": {"type": "direct"}, "cache_control": None},
]  # fmt: skip

ANSWERS: dict[str, tuple[list[Json], str]] = {
    "answer-web": (WEB, "end_turn"),
    "answer-web-errors": (WEB_ERRORS, "end_turn"),
    "answer-container": (CONTAINER, "end_turn"),
    "answer-connector": (CONNECTOR, "end_turn"),
    "answer-marks": (MARKS, "end_turn"),
    "answer-documents": (DOCUMENTS, "end_turn"),
    "answer-odd-fields": (ODD_FIELDS, "tool_use"),
}
"""Name → (content, stop reason)."""


def message(name: str) -> Json:
    """The answer as the API gives it when it does not stream."""
    content, stop_reason = ANSWERS[name]
    return {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5",
        "content": content, "stop_reason": stop_reason, "stop_sequence": None,
        "usage": {"input_tokens": 25, "output_tokens": 15},
    }  # fmt: skip
