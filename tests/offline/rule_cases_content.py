"""Breaches of the rules and their nearest valid neighbours: content."""

from rule_making import (
    ASKED,
    BIG,
    CALLED,
    Case,
    assistant,
    call,
    image,
    png,
    request,
    result,
    text,
    thinking,
    user,
)

CASES: list[Case] = [
    Case(
        "messages_present",
        request() | {"messages": []},
        request(),
        "messages: at least one message is required",
    ),
    Case(
        "first_message",
        request(assistant("hi"), user("hi")),
        request(user("hi")),
        'first message must use the "user" role',
    ),
    Case(
        "system_role",
        request(
            user("a"), {"role": "system", "content": "b"}, user("c"), model="claude-sonnet-4-5"
        ),
        request(user("a"), {"role": "system", "content": "b"}, user("c"), model="claude-opus-4-8"),
        "messages.1.role",
    ),
    Case(
        "empty_message",
        request(user("hi"), assistant(), user("on")),
        request(user("hi"), assistant(text()), user("on")),
        "messages.1: all messages must have non-empty content",
    ),
    Case("empty_message", request(user("")), request(user("hi")), "messages.0: all messages"),
    Case("empty_message", request(user(" \n")), request(user("hi")), "messages.0: all messages"),
    Case(
        "empty_text",
        request(user(text(), text(""))),
        request(user(text(), text("x"))),
        "messages.0.content.1: text content blocks must be non-empty",
    ),
    Case(
        "empty_text",
        request(ASKED, assistant(text("\n"), call()), user(result())),
        request(ASKED, assistant(text("\nx"), call()), user(result())),
        "messages.1.content.0: text content blocks must contain non-whitespace text",
    ),
    Case(
        "empty_text",
        request(ASKED, CALLED, user(result(content=[text("")]))),
        request(ASKED, CALLED, user(result(content=[text("x")]))),
        "messages.2.content.0.tool_result.content.0",
    ),
    Case(
        "trailing_whitespace",
        request(user("hi"), assistant("The answer is "), model="claude-sonnet-4-5"),
        request(user("hi"), assistant("The answer is"), model="claude-sonnet-4-5"),
        "final assistant content cannot end with trailing whitespace",
    ),
    Case(
        "assistant_document",
        request(user("hi"), assistant(text(), {"type": "document", "source": {}}), user("on")),
        request(user("hi"), assistant(text()), user(text(), {"type": "document", "source": {}})),
        "messages.1.content.1: `document`",
    ),
    Case(
        "user_citations",
        request(user(text(citations=[{"type": "char_location"}]))),
        request(user(text(citations=[]))),
        "messages.0.content.0.text.citations",
    ),
    Case(
        "call_id",
        request(ASKED, assistant(call("toolu.1")), user(result("toolu.1"))),
        request(ASKED, assistant(call("toolu-1")), user(result("toolu-1"))),
        "messages.1.content.0.tool_use.id: String should match pattern",
    ),
    Case(
        "call_name",
        request(ASKED, assistant(call(name="a b")), user(result())),
        request(ASKED, assistant(call(name="a_b")), user(result())),
        "messages.1.content.0.tool_use.name",
    ),
    Case(
        "call_ids_unique",
        request(ASKED, CALLED, user(result()), CALLED, user(result())),
        request(ASKED, CALLED, user(result()), assistant(call("toolu_2")), user(result("toolu_2"))),
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    Case(
        "error_result_text",
        request(ASKED, CALLED, user(result(content=[text(), image(png())], is_error=True))),
        request(ASKED, CALLED, user(result(content=[text(), image(png())]))),
        'messages.2.content.0: all content must be type "text" if "is_error" is true',
    ),
    Case(
        "thinking_signature",
        request(ASKED, assistant(thinking("changed"), text()), user("on")),
        request(ASKED, assistant(thinking(), text()), user("on")),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    Case(
        "thinking_signature",
        request(ASKED, assistant(thinking(signature=""), text()), user("on")),
        request(ASKED, assistant(thinking(), text()), user("on")),
        "messages.1.content.0: Invalid `signature`",
    ),
    Case(
        "redacted_thinking",
        request(ASKED, assistant({"type": "redacted_thinking", "data": ""}, text()), user("on")),
        request(ASKED, assistant({"type": "redacted_thinking", "data": "x"}, text()), user("on")),
        "messages.1.content.0: Invalid `data`",
    ),
    Case(
        "image_source",
        request(user(image(b"BM", "image/bmp"))),
        request(user(image(png()))),
        "media_type: Input should be one of 'image/jpeg'",
    ),
    Case(
        "image_source",
        request(
            user(
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "%%"},
                }
            )
        ),
        request(user(image(png()))),
        "base64.data",
    ),
    Case(
        "image_source",
        request(user({"type": "image", "source": {"type": "url", "url": "file:///x"}})),
        request(
            user({"type": "image", "source": {"type": "url", "url": "https://example.com/x.png"}})
        ),
        "url",
    ),
    Case(
        "image_bytes",
        request(user(image(png(size=BIG + 1)))),
        request(user(image(png(size=BIG)))),
        f"image exceeds 5 MB maximum: {BIG + 1} bytes > {BIG} bytes",
    ),
    Case(
        "image_media_type",
        request(user(image(png(), "image/jpeg"))),
        request(user(image(png(), "image/png"))),
        "Image does not match the provided media type image/jpeg",
    ),
    Case(
        "image_media_type",
        request(
            ASKED,
            CALLED,
            user(result(content=[image(b"RIFF....WEBPVP8 " + bytes(20), "image/png")])),
        ),
        request(
            ASKED,
            CALLED,
            user(result(content=[image(b"RIFF....WEBPVP8 " + bytes(20), "image/webp")])),
        ),
        "messages.2.content.0.tool_result.content.0.image.source.base64.data",
    ),
    Case(
        "image_side",
        request(user(image(png(8001, 5)))),
        request(user(image(png(8000, 5)))),
        "8000 pixels",
    ),
    Case(
        "image_side",
        request(user(*[image(png(5, 2001))] * 21)),
        request(user(*[image(png(5, 2001))] * 20)),
        "many-image requests: 2000 pixels",
    ),
    Case(
        "image_count",
        request(user(*[image(png())] * 101)),
        request(user(*[image(png())] * 100)),
        "too many images: 101 > 100",
    ),
]
