"""Programs of the model in their container: as they run, wait, end; and what is kept there."""

from typing import Any

from tests.tui.states.harness import User, state

BOTH = {"programmatic": "both"}
ALLOWED = ("shell",)
WAITS = """\
import asyncio
rows = await asyncio.gather(
    read(path="shop/cart.py"),
    grep(pattern="price"))
for number in range(6):
    await glob(pattern="*.py")
print(await shell(command="sh wait.sh"))
"""
ASKS = """\
text = await read(path="README.md")
await write(path="NOTES.md", content=text.upper())
print("written")
"""
ENDS = """\
import asyncio
rows = await asyncio.gather(
    read(path="shop/cart.py"),
    grep(pattern="price"))
open("chart.csv", "w").write("region,sum\\nnorth,12\\n")
print("North  1.2 M")
print("South  0.9 M")
"""
FAILS = """\
text = await read(path="README.md")
print(len(text.splitlines()), "lines")
print(sum(int(word) for word in text.split()))
"""


def program(code: str) -> dict[str, Any]:
    return {"text": "I'll do it in a program.", "program": code}


@state(program(WAITS), flags=BOTH, allow=ALLOWED, size=(120, 30))
async def program_waits(user: User) -> None:
    await user.say("find out why checkout is slow")
    await user.sees("F....")
    await user.waits(2.1)


@state(program(WAITS), flags=BOTH, allow=ALLOWED, size=(120, 30))
async def container_is_paused(user: User) -> None:
    await user.say("find out why checkout is slow")
    await user.sees("shell  sh wait.sh")
    await user.press("f6")
    await user.say("only the cart, please")
    await user.sees("held")
    await user.waits(38)


@state(program(WAITS), flags=BOTH, allow=ALLOWED, size=(120, 30))
async def loop_waits_for_a_program(user: User) -> None:
    await user.say("find out why checkout is slow")
    await user.sees("F....")
    await user.press("f6", "f6")
    await user.sees("last turn")


@state(program(ASKS), flags=BOTH, size=(120, 30))
async def program_asks(user: User) -> None:
    await user.say("take notes")
    await user.sees("asked by program 1")


@state(program(ENDS), {"text": "The **north** sells best."}, flags=BOTH, size=(120, 30))
async def program_has_ended(user: User) -> None:
    await user.ask("where do we sell best?", "sells best.")


@state(program(ENDS), {"text": "The **north** sells best."}, flags=BOTH, size=(120, 36))
async def ended_program_is_open(user: User) -> None:
    await user.ask("where do we sell best?", "sells best.")
    await user.press("ctrl+o")
    await user.sees("North  1.2 M")


@state(program(ENDS), {"text": "The **north** sells best."}, flags=BOTH, size=(120, 30))
async def container_is_idle(user: User) -> None:
    await user.ask("where do we sell best?", "sells best.")
    await user.press("f6")
    await user.sees("expires in")


@state(program(ENDS), {"text": "The **north** sells best."}, flags=BOTH, size=(120, 30))
async def container_has_expired(user: User) -> None:
    await user.ask("where do we sell best?", "sells best.")
    await user.press("f6")
    await user.sees("expires in")
    await user.waits(3600)
    await user.sees("expired")


@state(program(ENDS), {"text": "The **north** sells best."}, flags=BOTH, size=(120, 30))
async def container_is_told(user: User) -> None:
    await user.ask("where do we sell best?", "sells best.")
    await user.press("f6")
    await user.sees("chart.csv")
    await user.say("/container")
    await user.settles()


@state(program(ENDS), {"text": "The **north** sells best."}, flags=BOTH, size=(120, 30))
async def container_files_are_listed(user: User) -> None:
    await user.ask("where do we sell best?", "sells best.")
    await user.press("f6")
    await user.sees("chart.csv")
    await user.say("/container files")
    await user.sees("made in the")


@state(program(FAILS), {"text": "That are no numbers."}, flags=BOTH, size=(120, 36))
async def program_has_failed(user: User) -> None:
    await user.ask("add it up", "no numbers")
    await user.press("ctrl+o")
    await user.settles()


@state(program(WAITS), flags=BOTH, allow=ALLOWED, size=(120, 30))
async def program_is_stopped(user: User) -> None:
    await user.say("find out why checkout is slow")
    await user.sees("F....")
    await user.press("escape")
    await user.ready()


@state(program(WAITS), flags=BOTH, allow=ALLOWED, size=(120, 30))
async def container_is_held(user: User) -> None:
    await user.say("find out why checkout is slow")
    await user.sees("F....")
    await user.press("f6", "escape")
    await user.ready()
    await user.sees("given up")
