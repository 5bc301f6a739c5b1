"""Draw docs/screen.svg from the running app: the demo at work, a steer and a follow-up waiting.

`make picture`. The folder shown is a small one made for it.
"""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE = (120, 34)


def shop(folder: Path) -> None:
    """A project to show."""
    (folder / "shop").mkdir()
    (folder / "shop" / "cart.py").write_text(
        "def total(items, db):\n    return sum(db.price(item) for item in items)\n", "utf-8"
    )
    (folder / "README.md").write_text("# shop\n\nA small shop.\n", "utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")


async def draw() -> str:
    from agent_tui.settings import load_settings
    from agent_tui.tui.app import AgentTuiApp
    from agent_tui.tui.starter import Starter

    cwd = str(Path.cwd())
    loaded = load_settings(cwd=cwd, flags={"demo_speed": 400.0})
    app = AgentTuiApp(
        settings=loaded.settings, starter=Starter(cwd, loaded=loaded, demo=True, allow=["shell"])
    )

    async def until(what: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not what():  # noqa: ASYNC110 - the screen has no event for it
                await asyncio.sleep(0.05)

    async with app.run_test(size=SIZE) as pilot:

        async def say(text: str, key: str = "enter") -> None:
            app.composer.text = text
            await pilot.press(key)

        await until(lambda: app.desk.conversation is not None)
        talk = app.desk.conversation
        assert talk is not None
        await say("read shop/cart.py and README.md")
        await until(lambda: talk.status == "ready" and len(talk.messages) > 3)
        await say("run `sleep 4; echo done`")
        await until(lambda: bool(talk.agent.state.running_calls))
        await say("don't touch db.py, it is generated")
        await say("then write a changelog entry", "tab")
        await pilot.pause(1.2)
        svg = app.export_screenshot(title="agent-tui")
    # Fonts come from whoever looks at it: the picture must not fetch any.
    svg = re.sub(r"@font-face\s*{[^}]*}", "", svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> None:
    out = ROOT / "docs" / "screen.svg"
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as base:
        os.environ["AGENT_TUI_HOME"] = home
        os.environ["HOME"] = base
        folder = Path(base) / "src" / "shop"
        folder.mkdir(parents=True)
        shop(folder)
        os.chdir(folder)
        picture = asyncio.run(draw())
        os.chdir(ROOT)
    out.write_text(picture, "utf-8")


if __name__ == "__main__":
    main()
