"""Code execution: between a source of replies and the wire, it runs the programs for real.

A source says what the model says. Where that ends with a program, the program runs in a container
of the client's conversation: its calls go out as tool_use blocks, its output comes back into the
message, and the source is asked how the model goes on.
"""

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from agent_tui.offline.answers import Answer, ReplySource
from agent_tui.offline.containers import (
    Container,
    ContainerOptions,
    Containers,
    ProblemError,
    Program,
    expired_problem,
    unknown_problem,
)
from agent_tui.offline.file_store import FileStore
from agent_tui.offline.prompt_cache import PromptCache
from agent_tui.offline.rules import ApiProblem
from agent_tui.offline.rules.registry import is_program_call
from agent_tui.offline.rules.tools import for_programs
from agent_tui.offline.wire import (
    ProgramStart,
    Reply,
    estimate_tokens,
    fill_usage,
    read_by_model,
)
from agent_tui.programs import CallResult, Finished, Paused, Sandbox, SandboxError, Step
from agent_tui.programs.threads import in_thread

log = logging.getLogger(__name__)

_NO_TOKENS = {"input_tokens": 0, "output_tokens": 0, "server_tool_use": {"web_search_requests": 0}}
"""The usage of a continuation in which the model said nothing, as recorded."""

_ERROR_CODES = {"time": "execution_time_exceeded", "crash": "unavailable", "closed": "unavailable"}
"""Failures that the service reports by a code and not by an output."""


class CodeExecution:
    """The containers of a server and the programs in them. For the server's event loop."""

    def __init__(self, options: ContainerOptions, files: FileStore) -> None:
        self.options = options
        self.containers = Containers(options, self._make_sandbox)
        self._files = files
        self._cache = PromptCache(estimate_tokens, read_by_model)

    def fill_usage(
        self, reply: Reply, body: dict[str, Any], said_before: Sequence[dict[str, Any]] = ()
    ) -> None:
        """wire.fill_usage, with what the prompt cache did for this request."""
        fill_usage(reply, body, said_before, cached=self._cache.share(body))

    async def _make_sandbox(self) -> Sandbox:
        def load() -> Sandbox:
            from agent_tui.programs.monty import MontySandbox

            return MontySandbox(self.options.limits)

        return await in_thread(load, name="sandbox-load")

    def close(self) -> None:
        self.containers.close()

    async def answer(self, source: ReplySource, body: dict[str, Any]) -> Answer:
        """The answer to a request that has passed the rules, its usage filled in."""
        try:
            return await self._answer(source, body)
        except ProblemError as error:
            return Answer(problem=error.problem)
        except SandboxError as error:
            log.warning("code execution failed: %s", error)
            message = f"code execution is unavailable: {error}"
            return Answer(problem=ApiProblem(message, "api_error", 500))

    async def _answer(self, source: ReplySource, body: dict[str, Any]) -> Answer:
        container = self._named(source, body)
        if container is not None:
            self.containers.touch(container)
        program_id, results = _answered_calls(body)
        if results and container is not None:
            return await self._go_on(source, body, container, program_id, results)
        if container is not None:
            await self.containers.abandon(container)
        uploads = list(_uploads(body))
        if uploads and _code_tool(body) is not None:
            container = container or self.containers.create()
            if container.state != "expired":
                await self._put_uploads(container, uploads)
        answer = await source.answer(body)
        if answer.problem is not None or answer.delivery.raw_sse is not None:
            return answer
        if answer.reply.program is None:
            self.fill_usage(answer.reply, body)
            if container is not None:
                self.name(container, answer.reply)
                answer.container = container.as_json
            return answer
        return _Turn(self, source, body, container).begin(answer)

    async def _go_on(
        self,
        source: ReplySource,
        body: dict[str, Any],
        container: Container,
        program_id: str,
        results: Mapping[str, CallResult],
    ) -> Answer:
        """The answer to the results of a program's calls."""
        turn = _Turn(self, source, body, container)
        if container.state == "expired":
            return turn.go_on(_expired_result(program_id), Program(program_id, ""))
        program = container.program
        if program is None:
            raise ProblemError(_no_program(container.id))
        step = await self.containers.answer(container, program, results)
        if isinstance(step, Paused):
            reply = Reply(
                turn.calls(program),
                program.pause_reason,
                usage=dict(_NO_TOKENS),
                in_message_start=True,
            )
            self.name(container, reply)
            return Answer(reply, container=container.as_json)
        return turn.go_on(self.result_block(container, program, step), program)

    def _named(self, source: ReplySource, body: dict[str, Any]) -> Container | None:
        """The container that the request names. Raises ProblemError for one that is not there."""
        value = body.get("container")
        container_id = value.get("id") if isinstance(value, dict) else value
        if not container_id:
            return None
        container = self.containers.get(container_id)
        if container is None:
            if source.any_container:
                return None
            raise ProblemError(unknown_problem(container_id))
        if container.state == "expired":
            if self.options.expired_answer == "untyped":
                raise ProblemError(ApiProblem("Internal server error", "api_error", 500))
            if self.options.expired_answer == "error":
                raise ProblemError(expired_problem(container_id))
        return container

    def name(self, container: Container, reply: Reply, *, again: bool = False) -> None:
        """Puts the container into a response, which starts its time anew.

        again: this response has named it before.
        """
        if container.state == "expired":
            return
        self.containers.touch(container, named=not again)
        if reply.container is None:
            reply.container = container.as_wire()

    async def _put_uploads(self, container: Container, uploads: list[tuple[str, bool]]) -> None:
        for file_id, is_new in uploads:
            stored = self._files.get(file_id)
            if stored is not None:
                await self.containers.put_file(container, file_id, stored.filename, stored.data)
            elif is_new:
                # One that was deleted later must not spoil the rest of the conversation.
                problem = ApiProblem(f"File not found: {file_id}", "not_found_error", 404)
                raise ProblemError(problem)

    async def start(
        self,
        container: Container,
        block: dict[str, Any],
        body: dict[str, Any],
        start: ProgramStart,
    ) -> tuple[Program, Step]:
        """Runs the program of a code_execution block until it waits or ends."""
        tool = _code_tool(body)
        if tool is None:
            raise ProblemError(
                ApiProblem(
                    "a program is to run here, but `tools` offers no code_execution tool",
                    rule="program_tools",
                )
            )
        program = Program(
            str(block["id"]), str(tool["type"]), start.stop_reason, start.name_container
        )
        code = str((block.get("input") or {}).get("code", ""))
        return program, await self.containers.run(container, program, code, _functions(body))

    def result_block(
        self, container: Container, program: Program, step: Finished
    ) -> dict[str, Any]:
        """The code_execution_tool_result of a program that is over; made once."""
        if program.result is None:
            program.result = self._result(container, step)
        return {
            "type": "code_execution_tool_result",
            "tool_use_id": program.id,
            "content": program.result,
        }

    def _result(self, container: Container, step: Finished) -> dict[str, Any]:
        code = _ERROR_CODES.get(str(step.failure))
        if code is not None:
            return {"type": "code_execution_tool_result_error", "error_code": code}
        stored = [
            self._files.add(file.path.rsplit("/", 1)[-1], file.data, made_by_program=True)
            for file in step.files
        ]
        return {
            "type": "code_execution_result",
            "stdout": step.stdout,
            "stderr": step.stderr,
            "return_code": step.return_code,
            "content": [{"type": "code_execution_output", "file_id": file.id} for file in stored],
        }


class _Turn:
    """One message that programs are part of: its first content, then its stages."""

    def __init__(
        self,
        owner: CodeExecution,
        source: ReplySource,
        body: dict[str, Any],
        container: Container | None,
    ) -> None:
        self._owner = owner
        self._source = source
        self._body = body
        self._container = container
        self._said: list[dict[str, Any]] = []
        self._named = False
        self._usage: dict[str, Any] = {}

    def begin(self, answer: Answer) -> Answer:
        """The source's reply ends with a program: its content goes out before that runs."""
        if self._container is None:
            self._container = self._owner.containers.create()
        if answer.reply.container_at == "message_start":
            self._owner.name(self._container, answer.reply)
            self._named = True
        self._usage = dict(answer.reply.usage)
        self._fill(answer.reply)
        self._said = list(answer.reply.content)
        answer.stages = self._stages(answer)
        answer.container = self._container.as_json
        return answer

    def go_on(self, result: dict[str, Any], program: Program) -> Answer:
        """A program has ended by the results of this request: its output opens the message."""
        assert self._container is not None
        self._said = [result]
        reply = Reply([result])
        self._owner.fill_usage(reply, self._body)
        stages = self._after(program.name_container)
        return Answer(reply, stages=stages, container=self._container.as_json)

    def calls(self, program: Program) -> list[dict[str, Any]]:
        return [
            {
                "type": "tool_use",
                "id": call_id,
                "name": call.name,
                "input": call.arguments,
                "caller": {"type": program.caller_type, "tool_id": program.id},
            }
            for call_id, call in program.calls.items()
        ]

    async def _stages(self, answer: Answer) -> AsyncIterator[Answer]:
        """Runs the program that the last reply ended with, and all that follow it."""
        assert self._container is not None
        block, start = answer.reply.content[-1], answer.reply.program
        assert start is not None
        try:
            if self._container.state == "expired":
                result = _expired_result(str(block["id"]))
            else:
                program, step = await self._owner.start(self._container, block, self._body, start)
                if isinstance(step, Paused):
                    # What a scenario says of the usage is said of the message that it opened.
                    usage = dict(self._usage)
                    yield self._last(Reply(self.calls(program), program.pause_reason, usage=usage))
                    return
                result = self._owner.result_block(self._container, program, step)
        except ProblemError as error:
            yield Answer(problem=error.problem)
            return
        reply = Reply([result])
        self._fill(reply)
        yield Answer(reply)
        self._said.append(result)
        async for stage in self._after(start.name_container):
            yield stage

    async def _after(self, name_container: bool) -> AsyncIterator[Answer]:
        """How the model goes on after a program's output."""
        so_far = {"role": "assistant", "content": self._said}
        messages = [*(self._body.get("messages") or []), so_far]
        answer = await self._source.answer(self._body | {"messages": messages})
        if answer.problem is None and answer.delivery.raw_sse is not None:
            message = "a raw_sse turn cannot go on in a message that a program is part of"
            answer = Answer(problem=ApiProblem(message, "api_error", 500))
        if answer.problem is not None:
            yield answer
            return
        if answer.reply.program is None:
            stage = self._last(answer.reply, name=name_container)
            stage.delivery = answer.delivery
            yield stage
            return
        self._fill(answer.reply)
        yield answer
        self._said += answer.reply.content
        async for stage in self._stages(answer):
            yield stage

    def _last(self, reply: Reply, *, name: bool = True) -> Answer:
        assert self._container is not None
        if name:
            self._owner.name(self._container, reply, again=self._named)
        self._fill(reply)
        return Answer(reply)

    def _fill(self, reply: Reply) -> None:
        self._owner.fill_usage(reply, self._body, self._said)


def _code_tool(body: dict[str, Any]) -> dict[str, Any] | None:
    for tool in body.get("tools") or []:
        if isinstance(tool, dict) and str(tool.get("type")).startswith("code_execution_"):
            return tool
    return None


def _functions(body: dict[str, Any]) -> dict[str, Any]:
    """The tools that a program may call, by name, with their schemas."""
    return {
        tool["name"]: tool.get("input_schema") or {"type": "object"}
        for tool in body.get("tools") or []
        if isinstance(tool, dict) and tool.get("type") in (None, "custom") and for_programs(tool)
    }


def _blocks(message: Any) -> list[dict[str, Any]]:
    content = message.get("content") if isinstance(message, dict) else None
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _answered_calls(body: dict[str, Any]) -> tuple[str, dict[str, CallResult]]:
    """(a program's id, the results for its calls by tool_use id) at the end of the request."""
    results: dict[str, CallResult] = {}
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "user":
            for block in reversed(_blocks(message)):
                if block.get("type") == "tool_result":
                    results[str(block.get("tool_use_id"))] = _call_result(block)
            continue
        callers = {
            str(b.get("id")): str(b["caller"].get("tool_id"))
            for b in _blocks(message)
            if is_program_call(b)
        }
        answered = {i: result for i, result in reversed(results.items()) if i in callers}
        return next((callers[i] for i in answered), ""), answered
    return "", {}


def _expired_result(program_id: str) -> dict[str, Any]:
    error = {"type": "code_execution_tool_result_error", "error_code": "container_expired"}
    return {"type": "code_execution_tool_result", "tool_use_id": program_id, "content": error}


def _call_result(block: dict[str, Any]) -> CallResult:
    """A result as the program gets it: text; an error is raised in it."""
    content = block.get("content")
    if isinstance(content, list):
        content = "\n".join(str(b.get("text", "")) for b in content if b.get("type") == "text")
    text = str(content or "")
    return CallResult(text, "RuntimeError" if block.get("is_error") is True else None)


def _uploads(body: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """(file id, whether the last message brings it) of each file for the container."""
    messages = body.get("messages") or []
    for message in messages:
        for block in _blocks(message):
            if block.get("type") == "container_upload":
                yield str(block.get("file_id")), message is messages[-1]


def _no_program(container_id: str) -> ApiProblem:
    return ApiProblem(f"container: no program waits for results in container `{container_id}`")


__all__ = ["CodeExecution", "ContainerOptions"]
