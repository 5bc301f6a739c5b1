"""/help, /model, /effort, /system, /login, /logout, /clear, /quit."""

from typing import TYPE_CHECKING, get_args

from agent_tui.conversation import endpoint as endpoints
from agent_tui.conversation.commands.registry import CommandRegistry, Completion, wrong_form
from agent_tui.conversation.results import CommandResult
from agent_tui.settings import ThinkingLevel

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation


async def help_(conversation: "Conversation", arguments: str) -> CommandResult:
    infos = conversation.commands()
    wanted = arguments.removeprefix("/")
    if wanted:
        infos = [i for i in infos if i.name == wanted]
        if not infos:
            return CommandResult(error=f"There is no command /{wanted}. /help lists them.")
    lines = [f"| `{_cell(i.usage)}` | {_cell(i.help)} |" for i in infos]
    return CommandResult(
        text="| command | what it does |\n|---|---|\n" + "\n".join(lines), action="help"
    )


def _cell(text: str) -> str:
    """For a table, also where it holds a bar."""
    return text.replace("|", "\\|")


async def model(conversation: "Conversation", arguments: str) -> CommandResult:
    if not arguments:
        names = await conversation.model_names()
        known = "".join(f"\n- `{n}`" for n in names)
        listed = f"\n\nKnown at {conversation.endpoint.label}:{known}" if known else ""
        return CommandResult(text=f"The model is `{conversation.model}`.{listed}")
    if " " in arguments:
        return wrong_form("/model [NAME]")
    conversation.set_model(arguments)
    conversation.remember("model", arguments)
    return CommandResult(text=f"From the next request on the model is `{arguments}`.")


async def effort(conversation: "Conversation", arguments: str) -> CommandResult:
    if not arguments:
        text = f"The thinking level (setting `thinking`) is `{conversation.thinking}`."
        return CommandResult(text=text)
    level = arguments.lower()
    try:
        conversation.set_thinking(level)
    except ValueError as error:
        return CommandResult(error=str(error))
    conversation.remember("thinking", level)
    return CommandResult(text=f"From the next request on the thinking level is `{level}`.")


async def system(conversation: "Conversation", arguments: str) -> CommandResult:
    if arguments:
        return CommandResult(
            error="The form is: /system. Replace it with --system-prompt or the setting "
            "system_prompt, add to it with append_system_prompt."
        )
    return CommandResult(text="```text\n" + conversation.system_prompt + "\n```")


async def login(conversation: "Conversation", arguments: str) -> CommandResult:
    if arguments:
        # A key typed on the command line would be shown and kept in the history.
        return CommandResult(error="The form is: /login. The key is asked for, unseen.")
    provider = conversation.endpoint.api.provider
    if provider != "anthropic":
        return CommandResult(
            error=f"/login keeps a key of the Anthropic API; the provider here is {provider}, "
            "which has credentials of its own (docs/providers.md)."
        )
    return CommandResult(action="login")


async def logout(conversation: "Conversation", arguments: str) -> CommandResult:
    if arguments:
        return wrong_form("/logout")
    if not endpoints.forget_key():
        return CommandResult(text="No key is stored.")
    return CommandResult(text="The stored key is removed. This conversation goes on as it is.")


async def retry(conversation: "Conversation", arguments: str) -> CommandResult:
    if arguments:
        return wrong_form("/retry")
    if conversation.busy:
        return CommandResult(error="Stop the run first (Esc), then /retry.")
    try:
        await conversation.try_again()
    except ValueError:
        return CommandResult(error="There is nothing to try again: nothing was asked yet.")
    return CommandResult(data={"started": True})


async def clear(conversation: "Conversation", arguments: str) -> CommandResult:
    if arguments:
        return wrong_form("/clear")
    if conversation.busy:
        return conversation.when_idle("/clear")
    await conversation.clear()
    return CommandResult(action="clear")


async def quit_(conversation: "Conversation", arguments: str) -> CommandResult:
    return wrong_form("/quit") if arguments else CommandResult(action="quit")


def _complete_model(conversation: "Conversation", typed: str) -> list[Completion]:
    """Of the names that the endpoint has listed already; nobody is asked while one types."""
    low = typed.lower()
    names = [name for name in conversation.models.known() if low in name.lower()]
    return [Completion(name, "now" if name == conversation.model else "") for name in names][:50]


def _complete_effort(conversation: "Conversation", typed: str) -> list[Completion]:
    levels = [level for level in get_args(ThinkingLevel) if level.startswith(typed)]
    return [Completion(lv, "now" if lv == conversation.thinking else "") for lv in levels]


def register(registry: CommandRegistry) -> None:
    registry.add("help", "/help [COMMAND]", "the commands, or one of them", help_)
    registry.add(
        "model", "/model [NAME]", "show or choose the model", model, _complete_model, free=True
    )
    registry.add(
        "effort",
        "/effort [LEVEL]",
        "how much the model thinks (setting thinking): off, low, medium, high, xhigh or max",
        effort,
        _complete_effort,
    )
    registry.add("system", "/system", "show the system prompt", system)
    registry.add("login", "/login", "enter a key; it is kept in a private file", login)
    registry.add("logout", "/logout", "remove the stored key", logout)
    registry.add("retry", "/retry", "ask for the last answer again; the old one is kept", retry)
    registry.add("clear", "/clear", "begin a new conversation", clear)
    registry.add("quit", "/quit", "end agent-tui", quit_)
