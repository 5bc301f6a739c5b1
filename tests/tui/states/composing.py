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


@state()
async def files_complete(user: User) -> None:
    await user.type("look at @ca")
    await user.sees("@shop/cart.py", "complete")


GIF = "GIF89a@\x01\x78\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
"""An image of 320 × 120 pixels."""


@state({"text": "It asks once for each item."}, files={"chart.gif": GIF})
async def message_with_attachments(user: User) -> None:
    await user.type("why is @shop/cart.py so slow? see @chart.gif ")
    await user.press("enter")
    await user.sees("once for each item")
    await user.ready()


@state({"tool_calls": [{"name": "read", "input": {"path": "chart.gif"}}]},
       {"text": "A chart."}, files={"chart.gif": GIF})  # fmt: skip
async def image_is_told_in_words(user: User) -> None:
    await user.ask("what is in chart.gif?", "A chart.")
    await user.press("f8", "p", "i")
    await user.sees("320")


@state()
async def own_command_runs(user: User) -> None:
    await user.say("!sh wait.sh")
    await user.sees("F....")


@state()
async def own_command_has_ended(user: User) -> None:
    await user.say("!sh tests.sh")
    await user.sees("FAILED")


@state()
async def own_command_is_kept_out(user: User) -> None:
    await user.say("!!ls shop")
    await user.sees("cart.py")


@state()
async def drafts_are_stashed(user: User) -> None:
    await user.type("a long thought about the cart")
    await user.press("ctrl+s")
    await user.type("and another one")
    await user.press("ctrl+s")
    await user.type("first this")
    await user.sees("2 drafts stashed")


@state(flags={"vi_keys": True})
async def vi_normal_mode(user: User) -> None:
    await user.type("find out why checkout is slow and fix it")
    await user.press("escape", "b", "b")
    await user.settles()


@state(flags={"vi_keys": True})
async def vi_visual_mode(user: User) -> None:
    await user.type("find out why checkout is slow and fix it")
    await user.press("escape", "0", "w", "v", "e", "e")
    await user.sees("VISUAL")


@state(demo=True)
async def tour(user: User) -> None:
    await user.say("/tour")
    await user.sees("Tour 1/")
