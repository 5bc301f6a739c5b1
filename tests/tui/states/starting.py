"""The first seconds, and what is typed before anything was said."""

from tests.tui.states.harness import User, state


@state(key=False)
async def no_key_is_the_demo(user: User) -> None:
    await user.sees("demo", "scripted")


@state(demo=True)
async def demo_answers(user: User) -> None:
    await user.sees("scripted")
    await user.ask("hello", "hello")


@state()
async def with_a_key(user: User) -> None:
    await user.sees("claude-sonnet-5-5", "~/src/shop (main)")
