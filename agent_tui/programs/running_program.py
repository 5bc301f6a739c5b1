"""RunningProgram: what the host knows of a program: its output, its calls, its sleeps."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from agent_tui.programs.arguments import ArgumentsError, bind_arguments
from agent_tui.programs.protocol import HostCall, HostFunction, SandboxLimits

if TYPE_CHECKING:
    import pydantic_monty as monty

FLOOD = 20
"""A program that prints so many times what is kept of it is ended."""

_MOST_INTERRUPTS = 20
"""An interrupted program that goes on calling is ended after so many calls."""

Answer = dict[str, Any]
"""What monty takes as the result of a call: a return_value, an exception, or a future."""


class StubbornError(Exception):
    """An interrupted program goes on making calls."""


def raised(kind: str, message: str) -> Answer:
    """The answer by which the interpreter raises that exception in the program."""
    return {"exc_type": kind, "message": message}


class RunningProgram:
    """One program, from its start to its end; also across a dump.

    end_worker: ends the interpreter's process at once.
    """

    def __init__(
        self,
        code: str,
        functions: Mapping[str, HostFunction],
        limits: SandboxLimits,
        number: int,
        end_worker: Callable[[], None],
    ) -> None:
        self.code = code
        self._end_worker = end_worker
        self.number = number
        self.functions = dict(functions)
        self.calls: dict[int, HostCall] = {}
        self.sleeps: dict[int, float] = {}
        self.pause: monty.FutureSnapshot | None = None
        self.flooded = False
        self._limits = limits
        self._slept = 0.0
        self._interrupted_calls: int | None = None
        self._output: list[tuple[str, str]] = []
        self._kept = 0
        self._printed = 0

    def printed(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        """Keeps output up to the limit. A program that goes on far beyond it is ended."""
        self._printed += len(text)
        room = self._limits.output_chars - self._kept
        if room > 0:
            self._output.append((stream, text[:room]))
            self._kept += min(room, len(text))
        if self._printed > self._limits.output_chars * FLOOD and not self.flooded:
            self.flooded = True
            # An exception from here would reach the worker only when it next asks the host.
            self._end_worker()

    def text(self, stream: str) -> str:
        text = "".join(piece for name, piece in self._output if name == stream)
        lost = self._printed - self._kept
        if stream == "stdout" and lost:
            text += f"\n[output cut: {lost} more characters]\n"
        return text

    def interrupt(self) -> Answer:
        """From now on a call is answered by an interrupt; the first such answer."""
        self._interrupted_calls = 0
        return raised("KeyboardInterrupt", "the program was interrupted")

    def take_call(self, step: Any) -> Answer:
        """Notes a host call; the answer to the interpreter is a future, or the fault in it."""
        name = str(step.function_name)
        if self._interrupted_calls is not None:
            self._interrupted_calls += 1
            if self._interrupted_calls > _MOST_INTERRUPTS:
                raise StubbornError
            return raised("KeyboardInterrupt", "the program was interrupted")
        function = self.functions.get(name)
        if function is None:
            return raised("NameError", f"name '{name}' is not defined")
        if len(self.calls) >= self._limits.calls:
            words = f"a program may make {self._limits.calls} calls"
            return raised("RuntimeError", words)
        try:
            arguments = bind_arguments(name, function.parameters, step.args, step.kwargs)
        except ArgumentsError as error:
            return raised("TypeError", str(error))
        line = self._line(step.position)
        self.calls[step.call_id] = HostCall(step.call_id, function.name, arguments, line)
        return {"future": ...}

    def _line(self, position: Any) -> int | None:
        """The line of this program's code; None for a function of an earlier program."""
        if position.filename != f"<python-input-{self.number}>":
            return None
        return self.code.encode().count(b"\n", 0, position.start) + 1

    def sleeping(self, pending: list[int]) -> list[tuple[int, float]]:
        """(call id, when due) of the pending calls that are sleeps, the next one first."""
        due = [(i, self.sleeps[i]) for i in pending if i in self.sleeps]
        return sorted(due, key=lambda item: item[1])

    def allowed_sleep(self, args: tuple[Any, ...]) -> float | None:
        seconds = float(args[0]) if args and isinstance(args[0], int | float) else 0.0
        self._slept += max(0.0, seconds)
        return seconds if self._slept <= self._limits.sleep_seconds else None

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "number": self.number,
            "functions": [[k, f.name, dict(f.parameters)] for k, f in self.functions.items()],
            "calls": [[c.id, c.name, c.arguments, c.line] for c in self.calls.values()],
            "slept": self._slept,
            "output": self._output,
            "printed": self._printed,
        }

    @classmethod
    def from_json(
        cls, saved: dict[str, Any], limits: SandboxLimits, end_worker: Callable[[], None]
    ) -> "RunningProgram":
        functions = {k: HostFunction(name, schema) for k, name, schema in saved["functions"]}
        program = cls(saved["code"], functions, limits, saved["number"], end_worker)
        program.calls = {call[0]: HostCall(*call) for call in saved["calls"]}
        program._slept = saved["slept"]
        program._output = [(stream, text) for stream, text in saved["output"]]
        program._kept = sum(len(text) for _, text in program._output)
        program._printed = saved["printed"]
        return program
