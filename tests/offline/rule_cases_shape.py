"""Breaches of the rules and their nearest valid neighbours: shape."""

from rule_making import (
    ASKED,
    CALLED,
    PROGRAM,
    SEARCH,
    Case,
    assistant,
    call,
    image,
    png,
    request,
    result,
    text,
    thinking,
    tool,
    user,
    without,
)

CASES: list[Case] = [
    Case("body_object", ["hi"], request(), "dictionary"),
    Case("known_fields", request(max_token=5), request(), "max_token: Extra inputs"),
    Case("known_fields", request(betas=["x"]), request(), "betas: Extra inputs"),
    Case(
        "required_fields", without(request(), "max_tokens"), request(), "max_tokens: Field required"
    ),
    Case("required_fields", without(request(), "model"), request(), "model: Field required"),
    Case("required_fields", without(request(), "messages"), request(), "messages: Field required"),
    Case(
        "field_kinds",
        request(max_tokens="4000"),
        request(),
        "max_tokens: Input should be a valid integer",
    ),
    Case(
        "field_kinds",
        request(stream=1),
        request(stream=True),
        "stream: Input should be a valid boolean",
    ),
    Case(
        "field_kinds", request(tools=None), request(tools=[]), "tools: Input should be a valid list"
    ),
    Case("message_shape", request({"role": "tool", "content": "x"}), request(), "messages.0.role"),
    Case(
        "message_shape",
        request(user("hi") | {"id": "m1"}),
        request(),
        "messages.0.id: Extra inputs",
    ),
    Case(
        "message_shape", request({"role": "user"}), request(), "messages.0.content: Field required"
    ),
    Case(
        "block_shape",
        request(user({"text": "hi"})),
        request(user(text())),
        "messages.0.content.0.type",
    ),
    Case(
        "block_shape",
        request(user({"type": "text"})),
        request(user(text())),
        "messages.0.content.0.text.text: Field required",
    ),
    Case(
        "block_shape",
        request(user(text(id="b1"))),
        request(user(text())),
        "messages.0.content.0.text.id: Extra inputs",
    ),
    Case(
        "block_shape",
        request(ASKED, assistant(without(call(), "input")), user(result())),
        request(ASKED, CALLED, user(result())),
        "messages.1.content.0.tool_use.input: Field required",
    ),
    Case(
        "block_shape",
        request(ASKED, assistant(call(input="{}")), user(result())),
        request(ASKED, assistant(call(input={})), user(result())),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    Case(
        "block_shape",
        request(ASKED, CALLED, user(result(details={}))),
        request(ASKED, CALLED, user(result())),
        "messages.2.content.0.tool_result.details: Extra inputs",
    ),
    Case(
        "block_shape",
        request(ASKED, CALLED, user(result(content=[{"type": "text"}]))),
        request(ASKED, CALLED, user(result(content=[text()]))),
        "messages.2.content.0.tool_result.content.0.text.text",
    ),
    Case(
        "block_shape",
        request(ASKED, assistant({"type": "thinking", "thinking": "hm"}, text())),
        request(ASKED, assistant(thinking(), text()), user("go on")),
        "messages.1.content.0.thinking.signature: Field required",
    ),
    Case(
        "block_shape",
        request(ASKED, assistant(call(caller={"type": "code_execution_20260120"})), user(result())),
        request(ASKED, assistant(call(caller={"type": "direct"})), user(result())),
        "caller.code_execution_20260120.tool_id: Field required",
    ),
    Case(
        "block_place",
        request(user(call())),
        request(ASKED, CALLED, user(result())),
        "messages.0.content.0: `tool_use`",
    ),
    Case(
        "block_place",
        request(ASKED, CALLED, user(result()), assistant(result())),
        request(ASKED, CALLED, user(result())),
        "messages.3.content.0: `tool_result`",
    ),
    Case(
        "block_place",
        request(ASKED, CALLED, user(result(content=[call()]))),
        request(ASKED, CALLED, user(result(content=[text()]))),
        "messages.2.content.0.tool_result.content.0",
    ),
    Case("system_shape", request(system=[image(png())]), request(system=[text()]), "system.0.type"),
    Case(
        "tool_shape",
        request(tools=[{"name": "search"}]),
        request(tools=[SEARCH]),
        "tools.0.custom.input_schema: Field required",
    ),
    Case(
        "tool_shape",
        request(tools=[tool(parameters={})]),
        request(tools=[SEARCH]),
        "tools.0.custom.parameters: Extra inputs",
    ),
    Case(
        "tool_shape",
        request(tools=[tool(type="function")]),
        request(tools=[tool(type="custom")]),
        "tools.0: Input tag 'function'",
    ),
    Case(
        "tool_shape",
        request(tools=[{"type": "code_execution_20260120"}]),
        request(tools=[PROGRAM]),
        "tools.0.code_execution_20260120.name",
    ),
]
