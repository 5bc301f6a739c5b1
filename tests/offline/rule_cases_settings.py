"""Breaches of the rules and their nearest valid neighbours: settings and tools."""

from rule_making import (
    ASKED,
    CALLED,
    MARK,
    PROGRAM,
    QUERY,
    SEARCH,
    Case,
    assistant,
    call,
    program_request,
    request,
    result,
    schema,
    text,
    tool,
    user,
)

CASES: list[Case] = [
    Case("model_named", request(model=""), request(), "model: "),
    Case(
        "max_tokens",
        request(max_tokens=0),
        request(max_tokens=1),
        "max_tokens: Input should be greater",
    ),
    Case(
        "max_tokens_limit",
        request(max_tokens=64_001),
        request(max_tokens=64_000),
        "max_tokens: 64001 > 64000",
    ),
    Case("sampling", request(temperature=1), request(), "temperature: "),
    Case("sampling", request(top_p=0.9), request(), "top_p: "),
    Case("sampling", request(top_k=5), request(), "top_k: "),
    Case(
        "stop_sequences",
        request(stop_sequences=["\n"]),
        request(stop_sequences=["END"]),
        "stop_sequences: ",
    ),
    Case(
        "container", request(container={"ID": "c"}), request(container={"id": "c"}), "container.ID"
    ),
    Case("container", request(container=""), request(container="c"), "container: "),
    Case(
        "thinking_config",
        request(thinking={"type": "auto"}),
        request(thinking={"type": "adaptive"}),
        "thinking: Input tag 'auto'",
    ),
    Case(
        "thinking_config",
        request(thinking={"type": "adaptive", "budget_tokens": 2000}),
        request(thinking={"type": "enabled", "budget_tokens": 2000}),
        "thinking.adaptive.budget_tokens: Extra inputs",
    ),
    Case(
        "thinking_config",
        request(thinking={"type": "adaptive", "display": "full"}),
        request(thinking={"type": "adaptive", "display": "summarized"}),
        "thinking.adaptive.display",
    ),
    Case(
        "thinking_budget",
        request(thinking={"type": "enabled", "budget_tokens": 1023}),
        request(thinking={"type": "enabled", "budget_tokens": 1024}),
        "budget_tokens: Input should be greater than or equal to 1024",
    ),
    Case(
        "thinking_budget",
        request(thinking={"type": "enabled", "budget_tokens": 4000}),
        request(thinking={"type": "enabled", "budget_tokens": 3999}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    Case(
        "thinking_budget",
        request(thinking={"type": "enabled"}),
        request(thinking={"type": "enabled", "budget_tokens": 2000}),
        "thinking.enabled.budget_tokens",
    ),
    Case(
        "thinking_model",
        request(model="claude-sonnet-5-5", thinking={"type": "enabled", "budget_tokens": 2000}),
        request(model="claude-sonnet-5-5", thinking={"type": "adaptive"}),
        "thinking.type: 'enabled'",
    ),
    Case(
        "thinking_model",
        request(model="claude-sonnet-4-5", thinking={"type": "adaptive"}),
        request(model="claude-sonnet-4-5", thinking={"type": "enabled", "budget_tokens": 2000}),
        "thinking.type: 'adaptive'",
    ),
    Case(
        "effort",
        request(output_config={"effort": "extreme"}),
        request(output_config={"effort": "max"}),
        "output_config.effort",
    ),
    Case(
        "no_surrogates",
        request(user("cut \ud83d")),
        request(user("cut \ufffd")),
        "lone surrogate \\ud83d",
    ),
    Case(
        "no_surrogates",
        request(ASKED, assistant(call(input={"a": ["\udc00"]})), user(result())),
        request(ASKED, assistant(call(input={"a": ["😀"]})), user(result())),
        "messages.1.content.0.input.a.0",
    ),
    Case("no_nul", request(user("a\0b")), request(user("a\\x00b")), "messages.0.content: "),
    Case(
        "no_nul",
        request(ASKED, CALLED, user(result(content="a\0"))),
        request(ASKED, CALLED, user(result(content="a\t"))),
        "messages.2.content.0.content: ",
    ),
    Case(
        "cache_control_shape",
        request(user(text(cache_control={"type": "forever"}))),
        request(user(text(**MARK))),
        "messages.0.content.0.cache_control.type",
    ),
    Case(
        "cache_control_shape",
        request(user(text(cache_control={"type": "ephemeral", "ttl": "2h"}))),
        request(user(text(cache_control={"type": "ephemeral", "ttl": "1h"}))),
        "ttl",
    ),
    Case(
        "cache_control_count",
        request(
            user(text(**MARK), text(**MARK)),
            system=[text(**MARK), text(**MARK)],
            tools=[tool(**MARK)],
        ),
        request(
            user(text(**MARK), text()), system=[text(**MARK), text(**MARK)], tools=[tool(**MARK)]
        ),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    Case(
        "cache_control_count",
        request(ASKED, CALLED, user(result(content=[text(**MARK)] * 5))),
        request(ASKED, CALLED, user(result(content=[text(**MARK)] * 4))),
        "Found 5.",
    ),
    Case(
        "cache_control_empty",
        request(user(text(), text("", **MARK))),
        request(user(text(), text("x", **MARK))),
        "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
    ),
    Case(
        "cache_control_order",
        request(
            user(text(cache_control={"type": "ephemeral", "ttl": "1h"})), system=[text(**MARK)]
        ),
        request(
            user(text(**MARK)), system=[text(cache_control={"type": "ephemeral", "ttl": "1h"})]
        ),
        "messages.0.content.0.cache_control.ttl",
    ),
    Case(
        "system_text",
        request(system=[text(" ")]),
        request(system=[text("x")]),
        "system.0: text content blocks",
    ),
    Case(
        "tool_name",
        request(tools=[tool(name="web search")]),
        request(tools=[tool(name="web_search")]),
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    Case(
        "tool_name",
        request(tools=[tool(name="x" * 129)]),
        request(tools=[tool(name="x" * 128)]),
        "tools.0.custom.name",
    ),
    Case(
        "tool_names_unique",
        request(tools=[SEARCH, SEARCH]),
        request(tools=[SEARCH, tool(name="search2")]),
        "tools: Tool names must be unique.",
    ),
    Case(
        "tool_schema_object",
        request(tools=[tool(input_schema={"type": "string"})]),
        schema(),
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    Case(
        "tool_schema_object",
        request(tools=[tool(input_schema={})]),
        schema(),
        "tools.0.custom.input_schema.type: Field required",
    ),
    Case(
        "tool_schema_top",
        schema(anyOf=[{"required": ["a"]}]),
        schema(properties={"a": {"anyOf": [{"type": "string"}]}}),
        "does not support oneOf, allOf, or anyOf at the top level",
    ),
    Case("tool_schema_top", schema(oneOf=[]), schema(), "tools.0.custom.input_schema"),
    Case("tool_schema_top", schema(allOf=[]), schema(), "tools.0.custom.input_schema"),
    Case(
        "tool_property_keys",
        schema(properties={"a b": {}}),
        schema(properties={"a.b-c_1": {}}),
        "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    ),
    Case(
        "tool_property_keys",
        schema(properties={"x" * 65: {}}),
        schema(properties={"x" * 64: {}}),
        "tools.0.custom.input_schema.properties",
    ),
    Case(
        "tool_callers",
        request(tools=[tool(allowed_callers=["code_execution"])]),
        request(tools=[tool(allowed_callers=["direct"])]),
        "tools.0.custom.allowed_callers.0",
    ),
    Case(
        "tool_choice",
        request(tools=[SEARCH], tool_choice={"type": "tool", "name": "find"}),
        request(tools=[SEARCH], tool_choice={"type": "tool", "name": "search"}),
        "tool_choice.tool.name: Tool 'find' not found",
    ),
    Case(
        "tool_choice",
        request(tool_choice={"type": "auto"}),
        request(tools=[SEARCH], tool_choice={"type": "auto"}),
        "tool_choice may only be specified while providing tools",
    ),
    Case(
        "tool_choice",
        request(tools=[SEARCH], tool_choice={"type": "required"}),
        request(tools=[SEARCH], tool_choice={"type": "any"}),
        "tool_choice: Input tag 'required'",
    ),
    Case(
        "tool_choice_thinking",
        request(tools=[SEARCH], tool_choice={"type": "any"}, thinking={"type": "adaptive"}),
        request(tools=[SEARCH], tool_choice={"type": "any"}, thinking={"type": "disabled"}),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    Case(
        "program_choice",
        program_request(user("hi"), tool_choice={"type": "any"}),
        program_request(user("hi"), tool_choice={"type": "auto"}),
        "tool_choice: forced",
    ),
    Case(
        "program_choice",
        program_request(
            user("hi"), tool_choice={"type": "auto", "disable_parallel_tool_use": True}
        ),
        program_request(
            user("hi"), tool_choice={"type": "auto", "disable_parallel_tool_use": False}
        ),
        "disable_parallel_tool_use",
    ),
    Case(
        "program_strict",
        request(tools=[PROGRAM, QUERY | {"strict": True}]),
        request(tools=[PROGRAM, QUERY, tool(strict=True)]),
        "tools.1.custom.strict",
    ),
    Case(
        "program_connector",
        request(
            tools=[
                {
                    "type": "mcp_toolset",
                    "mcp_server_name": "s",
                    "default_config": {"allowed_callers": ["code_execution_20260120"]},
                }
            ]
        ),
        request(tools=[{"type": "mcp_toolset", "mcp_server_name": "s"}]),
        "tools.0.mcp_toolset",
    ),
    Case(
        "program_recursion",
        request(
            tools=[
                QUERY
                | {
                    "input_schema": {
                        "type": "object",
                        "properties": {"n": {"$ref": "#/$defs/n"}},
                        "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}},
                    }
                }
            ]
        ),
        request(
            tools=[
                QUERY
                | {
                    "input_schema": {
                        "type": "object",
                        "properties": {"n": {"$ref": "#/$defs/n"}},
                        "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/m"}}}, "m": {}},
                    }
                }
            ]
        ),
        "recursive $ref",
    ),
    Case(
        "program_recursion",
        request(
            tools=[QUERY | {"input_schema": {"type": "object", "properties": {"n": {"$ref": "#"}}}}]
        ),
        request(tools=[tool(input_schema={"type": "object", "properties": {"n": {"$ref": "#"}}})]),
        "tools.0.custom.input_schema",
    ),
]
