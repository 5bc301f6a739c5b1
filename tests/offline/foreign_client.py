"""A client as others write it: the bare SDK, a loop, nothing of agent-tui.

    python foreign_client.py URL PROMPT [--stream]

Prints each response's container and calls as a line of JSON, then the last text.
"""

import json
import sys
from typing import Any

import anthropic

TOOLS: list[Any] = [
    {"type": "code_execution_20260120", "name": "code_execution"},
    {
        "name": "roll_die",
        "description": "Rolls a die.",
        "input_schema": {
            "type": "object",
            "properties": {"player": {"type": "string"}},
            "required": ["player"],
        },
        "allowed_callers": ["code_execution_20260120"],
    },
]


def converse(url: str, prompt: str, *, stream: bool) -> list[Any]:
    """Runs one prompt to its end and returns every message of the assistant."""
    client = anthropic.Anthropic(base_url=url, api_key="sk-ant-nothing", max_retries=0)
    messages: list[Any] = [{"role": "user", "content": prompt}]
    answers: list[Any] = []
    more: dict[str, Any] = {}
    while True:
        request: dict[str, Any] = {
            "model": "demo", "max_tokens": 4000, "tools": TOOLS, "messages": messages, **more,
        }  # fmt: skip
        if stream:
            with client.beta.messages.stream(**request) as events:
                answer = events.get_final_message()
        else:
            answer = client.beta.messages.create(**request)
        answers.append(answer)
        if answer.container is not None:
            more["container"] = answer.container.id
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return answers
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": str(number + 1)}
            for number, call in enumerate(calls)
        ]
        messages += [
            {"role": "assistant", "content": answer.content},
            {"role": "user", "content": results},
        ]


def main() -> None:
    answers = converse(sys.argv[1], sys.argv[2], stream="--stream" in sys.argv[3:])
    for answer in answers:
        calls = [[b.name, b.input] for b in answer.content if b.type == "tool_use"]
        print(json.dumps([answer.stop_reason, answer.container and answer.container.id, calls]))
    print(answers[-1].content[-1].text)


if __name__ == "__main__":
    main()
