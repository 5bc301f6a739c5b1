"""When a queued message will go out, and where it landed, in words (SCREEN: the queue)."""

from agent_tui.agent.control import RunControl
from agent_tui.agent.message_queue import MessageQueue, QueueItem


def delivery_point(
    item: QueueItem, queue: MessageQueue, control: RunControl | None, *, asking: bool = False
) -> str:
    """Words for `item` as things stand. control: of the run that is on, None when idle. asking: a
    call of it waits for the user."""
    if item.state in ("delivered", "withdrawn"):
        return item.landed or item.state
    if item.state == "taken":
        return "going out now"
    if item.locked:
        return "being edited"
    if queue.is_paused(item):
        return "paused: Enter resumes"
    before = _ahead_of(item, queue)
    if control is None or control.aborted:
        if item.kind == "follow_up":
            return "after the next prompt"
        return "with the next prompt" if not before else _later(before)
    if item.local:
        return "when the run ends" if not before else f"when the run ends ({before} before)"
    if item.kind == "follow_up":
        return "when the turn ends" if not before else f"when the turn ends ({before} before)"
    if queue.held is not None:
        return f"held: {queue.held}"
    return _next_poll(control, asking) if not before else _later(before)


def hold_reason(program_calls: int) -> str:
    """Why steering is held: a program waits for so many calls, or (0) the API paused the turn."""
    if program_calls:
        return f"a program is paused ({counted(program_calls, 'call')})"
    return "the API paused this turn and goes on with it first"


def landing(turn: int, tool_results: int) -> str:
    """Where an item was delivered: in which turn, and after how many results of the last."""
    if turn <= 1:
        return "turn 1, with the prompt"
    if tool_results:
        return f"turn {turn}, after {counted(tool_results, 'tool result')}"
    return f"turn {turn}, after the answer"


def counted(number: int, word: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number} {word if number == 1 else word + 's'}"


def _ahead_of(item: QueueItem, queue: MessageQueue) -> int:
    """How many items go out, a turn each, before this one."""
    mode = queue.steering_mode if item.kind == "steer" else queue.follow_up_mode
    if mode == "all":
        return 0
    waiting = queue.waiting(item.kind)
    free = [other for other in waiting if not other.locked and not queue.is_paused(other)]
    return next((n for n, other in enumerate(free) if other is item), 0)


def _next_poll(control: RunControl, asking: bool) -> str:
    if control.phase != "tools":
        return "after this answer"
    if asking:
        return "after the call that waits for you"
    calls = control.calls_left
    return f"after {counted(calls, 'running tool')}" if calls else "after these tools"


def _later(turns: int) -> str:
    return f"{counted(turns, 'turn')} later"
