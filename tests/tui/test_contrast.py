"""Fault D19: every pair of colours that text is really drawn in can be read, in every own theme.

The pairs are taken from what the screen draws in states that together show every part of it;
nothing is listed by hand. Lines and bars that carry no meaning alone do not count.
"""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from textual.color import Color

from agent_tui.tui.glyphs import UNICODE
from agent_tui.tui.themes import DARK, HIGH_CONTRAST, LIGHT
from tests.tui.conftest import Drive, Driven
from tests.tui.test_themes import contrast

LINES_ONLY = frozenset("─│┼┤┴├└┌▁▂▃▄▅▆▇█▊▎▏▕ ") | {UNICODE.rule, UNICODE.column, UNICODE.cursor}

EVERYTHING = '''\
# Heading

Some **bold**, *italic*, ~~struck~~, `code` and [a link](https://example.com/x).

> quoted

- item
- [x] done
- [ ] open

| a | b |
|---|---|
| 1 | two |

```python
@decorator
class Thing(Base):
    """Doc."""
    def run(self, n: int = 3) -> str:  # comment
        return f"{n!r:>3}" + r"\\d" if n > 1.5e3 else None
import os; print(os.environ["HOME"], True, lambda x: x ** 2)
```

```diff
--- a
+++ b
@@ -1 +1 @@
-old
+new
```

```json
{"key": [1, true, null, "text"]}
```

```bash
for f in *.py; do echo "$f" | grep -v '^#' && exit 1; done  # note
```

```html
<a href="x" class='y'>text &amp; more</a><!-- c -->
```
'''


def pairs(d: Driven) -> dict[tuple[str, str], set[str]]:
    """(foreground, background) → the texts that are drawn so."""
    found: dict[tuple[str, str], set[str]] = {}
    strips = d.app.screen._compositor.render_strips()
    if d.app.screen.is_modal:  # what it stands before is dimmed on purpose, and cannot be used
        visible = d.app.screen._compositor.visible_widgets.values()
        boxes = [b for r, clip in visible if 0 < (b := r.intersection(clip)).width < 120]
        strips = [s.crop(b.x, b.right) for b in boxes for s in strips[b.y : b.bottom]]
    for strip in strips:
        for segment in strip:
            style = segment.style
            if style is None or not set(segment.text) - LINES_ONLY:
                continue
            front, back = style.color, style.bgcolor
            if front is None or back is None or front.triplet is None or back.triplet is None:
                continue
            colours = (front.triplet.hex, back.triplet.hex)
            if style.reverse:
                colours = (colours[1], colours[0])
            if style.dim:
                a, b = Color.parse(colours[0]), Color.parse(colours[1])
                colours = (b.blend(a, 0.5).hex6, colours[1])
            found.setdefault(colours, set()).add(segment.text.strip())
    return found


@pytest.mark.parametrize("theme", [DARK, LIGHT, HIGH_CONTRAST], ids=lambda t: t.name)
async def test_D19_every_pair_of_colours_on_the_screen_can_be_read(drive: Drive, theme: Any):
    found: dict[tuple[str, str], set[str]] = {}
    settings = SimpleNamespace(theme=theme.name)
    async with drive(size=(120, 64), settings=settings) as d:

        async def look() -> None:
            await d.settle()
            for colours, texts in pairs(d).items():
                found.setdefault(colours, set()).update(texts)

        d.app.transcript.add_markdown(EVERYTHING)
        for level in ("info", "warning", "error"):
            d.app.notice(level, f"a notice: {level}")
        d.conv.set_status("tools")
        d.conv.queue_item("steer", "a message")
        d.conv.queue_item("follow_up", "another")
        await d.shows("a notice: error")
        await asyncio.sleep(0)
        await look()
        for key in ("f6", "f6", "f6", "f6", "f6", "f3"):
            await d.press(key)
            await look()
        await d.press("escape")
        d.conv.ask({"command": "ls"})
        await d.shows("wants to run")
        await look()
        await d.press("f4")
        await look()
        await d.press("f4", "ctrl+f")
        await d.type("item")
        await look()
        await d.press("escape")
        await d.type("/mo")
        await d.shows("show or choose the model")
        await look()
        await d.press("escape", "ctrl+c", "f1")
        await d.shows("While you type")
        await look()
        await d.press("escape", "ctrl+p")
        await d.shows("Every key and command")
        await look()
        await d.press("down")
        await look()
        await d.press("escape", "f8", "c")
        await look()
    seen = {text for texts in found.values() for text in texts}
    parts = {"Heading", "quoted", "# comment", "shell", "Tools", "/model", "Every key and command"}
    missing = {part for part in parts if not any(part in text for text in seen)}
    assert not missing, f"not drawn: {missing}"
    poor = {
        f"{front} on {back}: {contrast(front, back):.2f} ({sorted(texts)[:3]})"
        for (front, back), texts in found.items()
        if contrast(front, back) < 4.5
    }
    assert not poor, "\n".join(sorted(poor))
