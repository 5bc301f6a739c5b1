"""What is typed: drafts, pastes, lists that complete, history, commands of one's own."""

from tests.tui.states.harness import User, state


@state()
async def draft(user: User) -> None:
    await user.type("find out why checkout is slow and fix it")


@state()
async def draft_of_many_lines(user: User) -> None:
    for line in ("Two things, please:", "", "1. find out why checkout is slow", "2. fix it"):
        await user.type(line)
        await user.press("ctrl+j")


@state()
async def paste_is_collapsed(user: User) -> None:
    await user.type("what is wrong here? ")
    await user.paste("\n".join(f"{n:04} GET /checkout 200 {n * 37 % 900} ms" for n in range(412)))
    await user.sees("412 lines")


@state()
async def commands_complete(user: User) -> None:
    await user.type("/co")
    await user.sees("/container", "/copy")


@state()
async def arguments_complete(user: User) -> None:
    await user.type("/effort ")
    await user.sees("/effort high")


@state()
async def no_such_command(user: User) -> None:
    await user.say("/contanier")
    await user.sees("/container")


@state({"text": "It asks once for each item."}, {"text": "Yes."})
async def history_is_searched(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")
    await user.ask("is the cart tested?", "Yes.")
    await user.press("ctrl+r")
    await user.type("slow")
    await user.sees("why is checkout slow?")


@state()
async def quitting_is_asked_twice(user: User) -> None:
    await user.press("ctrl+c")
    await user.sees("Ctrl+C again quits")
