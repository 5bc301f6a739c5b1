"""What servers ask of the user and of the model: checked, limited, one at a time per server.

The faces answer (types.Elicit, types.Sample); here is what must hold whatever they do: a form is
flat and its answer fits it, an address is a web address, a sampling request is bounded, and a
server cannot flood anyone with questions.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlsplit

from agent_tui.mcp_servers.results import Mapper
from agent_tui.mcp_servers.types import (
    Elicit,
    ElicitAnswer,
    FormQuestion,
    PromptMessage,
    Sample,
    SamplingQuestion,
    UrlQuestion,
)
from agent_tui.text import cut, sendable

log = logging.getLogger(__name__)

MAX_FIELDS = 50
MAX_MESSAGE = 4_000
MAX_WAITING = 5
MAX_PER_MINUTE = 20
MAX_SAMPLE_TOKENS = 4_096
MAX_SAMPLE_CHARS = 200_000
MAX_SAMPLE_MESSAGES = 100
_PRIMITIVE = ("string", "number", "integer", "boolean")
_STOP = {"end_turn": "endTurn", "max_tokens": "maxTokens", "stop_sequence": "stopSequence"}


class RefusedError(ValueError):
    """A question that is not even asked; str() goes to the server."""


class WithdrawnError(Exception):
    """Nobody needs the answer any more."""


class Asks:
    """Of one server. asking: whether the user is being asked now (a call's clock stands still
    meanwhile)."""

    def __init__(
        self,
        server: str,
        mapper: Mapper,
        elicit: Elicit | None,
        sample: Sample | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._mapper = mapper
        self.elicit = elicit
        self.sample = sample
        self._clock = clock
        self._turn = asyncio.Lock()
        self._recent: deque[float] = deque()
        self._waiting = 0
        self._open: set[asyncio.Task[Any]] = set()
        self._withdrawn: set[asyncio.Task[Any]] = set()

    def withdraw(self) -> None:
        """The calls that questions were asked for have been stopped: take the questions back."""
        for task in self._open:
            self._withdrawn.add(task)
            task.cancel()

    @property
    def asking(self) -> bool:
        return self._waiting > 0

    async def on_elicit(self, context: Any, params: Any) -> Any:
        """The SDK's elicitation callback."""
        from mcp_types import INVALID_PARAMS, ElicitResult, ErrorData

        try:
            question = _question(self._server, params)
            answer = await self._in_turn(lambda: self._elicited(question))
        except RefusedError as error:
            return ErrorData(code=INVALID_PARAMS, message=str(error))
        except WithdrawnError:
            return ElicitResult(action="cancel")
        if answer.action == "accept" and isinstance(question, FormQuestion):
            content = answer.content or {}
            if problem := form_problem(question.schema, content):
                log.warning("an answer to %s does not fit its form: %s", self._server, problem)
                return ElicitResult(action="cancel")
            return ElicitResult(action="accept", content=content)
        return ElicitResult(action=answer.action)

    async def _elicited(self, question: FormQuestion | UrlQuestion) -> ElicitAnswer:
        assert self.elicit is not None
        return await self.elicit(question)

    async def on_sample(self, context: Any, params: Any) -> Any:
        """The SDK's sampling callback."""
        from mcp_types import INVALID_PARAMS, CreateMessageResult, ErrorData, TextContent

        try:
            question = await self._sampling(params)
            answer = await self._in_turn(lambda: self._sampled(question))
        except RefusedError as error:
            return ErrorData(code=INVALID_PARAMS, message=str(error))
        except WithdrawnError:
            return ErrorData(code=-1, message="The call was stopped.")
        if answer.text is None:
            return ErrorData(code=-1, message="The user refused this sampling request.")
        return CreateMessageResult(
            role="assistant",
            content=TextContent(type="text", text=answer.text),
            model=answer.model or "unknown",
            stop_reason=_STOP.get(answer.stop_reason, answer.stop_reason),
        )

    async def _sampled(self, question: SamplingQuestion) -> Any:
        assert self.sample is not None
        return await self.sample(question)

    async def _in_turn(self, ask: Callable[[], Any]) -> Any:
        """One question of a server at a time. Raises RefusedError beyond the limits, and
        WithdrawnError."""
        now = self._clock()
        while self._recent and now - self._recent[0] > 60:
            self._recent.popleft()
        if self._waiting >= MAX_WAITING or len(self._recent) >= MAX_PER_MINUTE:
            raise RefusedError("There are too many questions of this server; ask again later.")
        self._recent.append(now)
        self._waiting += 1
        task = asyncio.ensure_future(self._after_the_others(ask))
        self._open.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if task not in self._withdrawn:
                raise
            raise WithdrawnError from None
        finally:
            task.cancel()
            self._open.discard(task)
            self._withdrawn.discard(task)
            self._waiting -= 1

    async def _after_the_others(self, ask: Callable[[], Any]) -> Any:
        async with self._turn:
            return await ask()

    async def _sampling(self, params: Any) -> SamplingQuestion:
        if len(params.messages) > MAX_SAMPLE_MESSAGES:
            raise RefusedError(f"A sampling request may have {MAX_SAMPLE_MESSAGES} messages.")
        left_out: list[str] = []
        if params.tools:
            left_out.append(f"{len(params.tools)} tools")
        if params.include_context not in (None, "none"):
            left_out.append("the context of this conversation")
        messages: list[PromptMessage] = []
        size = len(params.system_prompt or "")
        for message in params.messages:
            blocks = await self._mapper.blocks(message.content, f"{self._server}-sampling")
            size += sum(len(getattr(block, "text", "")) for block in blocks)
            messages.append(PromptMessage(message.role, blocks))
        if size > MAX_SAMPLE_CHARS:
            raise RefusedError(f"A sampling request may have {MAX_SAMPLE_CHARS:,} characters.")
        hints = params.model_preferences.hints if params.model_preferences else None
        return SamplingQuestion(
            server=self._server,
            messages=tuple(messages),
            system_prompt=sendable(params.system_prompt or ""),
            max_tokens=max(1, min(params.max_tokens, MAX_SAMPLE_TOKENS)),
            temperature=params.temperature,
            stop_sequences=tuple(params.stop_sequences or ())[:8],
            hints=tuple(hint.name for hint in hints or () if hint.name)[:8],
            left_out=tuple(left_out),
        )


def _question(server: str, params: Any) -> FormQuestion | UrlQuestion:
    """Raises RefusedError."""
    message = cut(sendable(params.message), MAX_MESSAGE)
    if params.mode == "url":
        parts = urlsplit(params.url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise RefusedError("Only addresses of the web (https) can be opened.")
        return UrlQuestion(server, message, params.url, params.elicitation_id or "")
    schema: Any = params.requested_schema
    if not isinstance(schema, dict):
        schema = schema.model_dump(by_alias=True, mode="json", exclude_none=True)
    properties: Any = schema.get("properties")
    if not isinstance(properties, dict):
        raise RefusedError("A form needs properties.")
    if len(properties) > MAX_FIELDS:
        raise RefusedError(f"A form may have {MAX_FIELDS} fields.")
    for name, field in cast(dict[str, Any], properties).items():
        if not isinstance(field, dict) or not _is_flat(cast(dict[str, Any], field)):
            raise RefusedError(f"The field {name!r} is not text, a number, yes or no, or a choice.")
    return FormQuestion(server, message, cast(dict[str, Any], schema))


def _is_flat(field: dict[str, Any]) -> bool:
    kind = field.get("type")
    if kind == "array":
        items = field.get("items")
        return isinstance(items, dict) and bool(
            {"enum", "anyOf", "oneOf"} & items.keys() or items.get("type") == "string"
        )
    return kind in _PRIMITIVE or bool({"enum", "oneOf", "anyOf", "const"} & field.keys())


def form_problem(schema: dict[str, Any], content: dict[str, Any]) -> str | None:
    """What in an answer does not fit a form, in words for the user; None if it fits."""
    from jsonschema import Draft202012Validator, SchemaError

    if extra := content.keys() - schema.get("properties", {}).keys():
        return f"There is no field {sorted(extra)[0]}."
    try:
        Draft202012Validator.check_schema(schema)
        errors = Draft202012Validator(
            schema, format_checker=Draft202012Validator.FORMAT_CHECKER
        ).iter_errors(content)  # pyright: ignore[reportUnknownMemberType]
        error: Any = next(iter(errors), None)
    except SchemaError:
        # The server gets what the user typed and must judge itself.
        return None
    if error is None:
        return None
    path = [str(step) for step in error.absolute_path]
    if error.validator == "required":
        path += [name for name in error.validator_value if name not in error.instance][:1]
    words = _form_words(error)
    return f"{'.'.join(path)}: {words}" if path else words


_KINDS = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "yes or no",
    "array": "a list", "object": "a table", "null": "nothing",
}  # fmt: skip
_FORMATS = {
    "email": "an e-mail address", "uri": "an address such as https://example.org/",
    "date": "a date such as 2030-01-31", "date-time": "a time such as 2030-01-31T12:00:00Z",
}  # fmt: skip


def _form_words(error: Any) -> str:
    """What a field lacks, as a clause about it; error: jsonschema's ValidationError."""
    limit: Any = error.validator_value
    match error.validator:
        case "required":
            return "must be given"
        case "type":
            kinds = cast(list[str], limit) if isinstance(limit, list) else [str(limit)]
            return f"must be {' or '.join(_KINDS.get(kind, kind) for kind in kinds)}"
        case "enum":
            return f"must be one of {', '.join(map(str, limit))}"
        case "const":
            return f"must be {limit}"
        case "oneOf" | "anyOf":
            titles = [str(each.get("const")) for each in limit if isinstance(each, dict)]
            return f"must be one of {', '.join(titles)}"
        case "format":
            return f"must be {_FORMATS.get(str(limit), f'of the form {limit}')}"
        case "pattern":
            return f"must fit the pattern {limit}"
        case "minLength" | "maxLength":
            bound = "at least" if error.validator == "minLength" else "at most"
            return f"must have {bound} {_count(limit, 'character')}"
        case "minItems" | "maxItems":
            bound = "at least" if error.validator == "minItems" else "at most"
            return f"takes {bound} {_count(limit, 'choice')}"
        case "minimum" | "maximum":
            return f"must be at {'least' if error.validator == 'minimum' else 'most'} {limit}"
        case "exclusiveMinimum" | "exclusiveMaximum":
            more = "more" if error.validator == "exclusiveMinimum" else "less"
            return f"must be {more} than {limit}"
        case _:
            return str(error.message)


def _count(number: Any, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
