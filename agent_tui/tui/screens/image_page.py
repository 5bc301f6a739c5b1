"""The page of an image: drawn where the terminal can, else in words, with a file to open.

What the terminal can is found out when the first page is opened, never at the start.
"""

import asyncio
import itertools
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, Self

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.widget import Widget

from agent_tui.paths import PathError, with_tilde
from agent_tui.text import file_size
from agent_tui.tui import terminal_images as drawing
from agent_tui.tui.image_file import ImageFile, ImageFileError, image_file, open_outside
from agent_tui.tui.lines import one_line
from agent_tui.tui.plain import SafeStatic
from agent_tui.tui.terminal_answers import ANSWERS
from agent_tui.tui.transcript.images import ShownImage

log = logging.getLogger(__name__)

_image_ids = itertools.count(0x61670001)
"""Ids of images in the terminal's memory; others may draw there as well."""

_PIECES = 16
"""Sequences that are written at once."""


class Easel:
    """Draws one image at a time. write: to the terminal, may block; None: there is none (a
    test, a screen without a terminal)."""

    def __init__(self, write: Callable[[str], None] | None) -> None:
        self._write = write
        self._can: str | None = None
        self._kept = 0
        """The id of the image that kitty keeps now; 0: none."""

    async def why_not(self, image: ImageFile) -> str:
        """ "" when it can be drawn, else the reason, as the rest of a sentence."""
        if self._write is None:
            return "this terminal draws none"
        if self._can is None:
            self._can = drawing.can_draw()
            if self._can == "ask":
                asked = await ANSWERS.ask_kitty(drawing.KITTY_QUERY, self._write)
                self._can = "kitty" if asked else "this terminal draws none"
        if self._can not in ("kitty", "iterm"):
            return self._can
        if self._can == "kitty" and image.media_type != "image/png":
            return "this terminal draws PNG only"
        if image.pixels is None or min(image.pixels) < 1:
            return "its size cannot be read"
        if len(image.data) > drawing.LARGEST:
            return f"it is larger than {file_size(drawing.LARGEST)}"
        return ""

    async def draw(self, image: ImageFile, area: drawing.Area) -> None:
        """Draw it in these cells; what was drawn before goes."""
        write = self._write
        if write is None or image.pixels is None or area.width < 1 or area.height < 1:
            return
        self.wipe()
        size = drawing.fitted(image.pixels, area, _cell_size())
        if self._can == "iterm":
            await _written(write, drawing.iterm_image(image.data, area, size))
            return
        self._kept = next(_image_ids)
        pieces = drawing.kitty_image(self._kept, image.data)
        try:
            while some := "".join(itertools.islice(pieces, _PIECES)):
                await _written(write, some)
        except BaseException:  # the page was left or resized
            write(drawing.KITTY_LAST)
            self.wipe()
            raise
        write(drawing.kitty_place(self._kept, area, size))

    def wipe(self) -> None:
        """Take it off the screen; text that is written over its cells does that elsewhere."""
        if self._kept and self._write is not None:
            write, kept, self._kept = self._write, self._kept, 0
            write(drawing.kitty_delete(kept))


async def _written(write: Callable[[str], None], text: str) -> None:
    """Until the terminal's writer has taken it, also when this is cancelled meanwhile."""
    writing = asyncio.ensure_future(asyncio.to_thread(write, text))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await writing
        raise


def _cell_size() -> tuple[int, int] | None:
    """Of the terminal that Textual draws on."""
    return None if sys.__stderr__ is None else drawing.cell_size(sys.__stderr__.fileno())


class _Place(Widget):
    """The cells that an image is drawn on. painted(): they have been painted anew."""

    def __init__(self, painted: Callable[[], None]) -> None:
        super().__init__(id="image-place")
        self._painted = painted

    def render_lines(self, crop: Region) -> list[Any]:
        self._painted()
        return super().render_lines(crop)

    def render(self) -> str:
        return ""


class ImagePage(ModalScreen[None]):
    """Esc leaves it. images: to leaf through; first: which of them comes first. easel: what draws.
    copy: puts a text on the clipboard and gives a sentence about it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,ctrl+c", "dismiss", "Leave", show=False, priority=True),
        Binding("right,n,space", "leaf(1)", "Next", show=False, priority=True),
        Binding("left,p,backspace", "leaf(-1)", "Previous", show=False, priority=True),
        Binding("o", "open", "Open", show=False, priority=True),
        Binding("c,y", "copy", "Copy", show=False, priority=True),
    ]

    def __init__(
        self,
        images: Sequence[ShownImage],
        first: int,
        *,
        easel: Easel,
        copy: Callable[[str], Awaitable[str]],
    ) -> None:
        super().__init__()
        self._images, self._at = images, first
        self._easel, self._copy = easel, copy
        self._file: ImageFile | None = None
        self._drawn = False
        self._stale = False

    def compose(self) -> ComposeResult:
        yield SafeStatic("", id="image-title")
        yield SafeStatic("", id="image-about")
        yield _Place(self._painted)
        yield SafeStatic("", id="image-keys")

    def on_mount(self) -> None:
        self._show()

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """What changes behind the page (Textual names its regions) is not seen: painting it
        would wipe the image away."""
        if regions and not (layout or recompose):
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    # --- showing -----------------------------------------------------------------------

    def _show(self) -> None:
        image, many = self._images[self._at], len(self._images)
        number = f"   {self._at + 1} of {many}" if many > 1 else ""
        self.query_one("#image-title", SafeStatic).update(f"{image.words}{number}")
        leaf = "Left/Right another   " if many > 1 else ""
        keys = f"{leaf}o open it outside   c copy its path   Esc back"
        self.query_one("#image-keys", SafeStatic).update(keys)
        self._say("")
        self._file, self._drawn = None, False
        self._easel.wipe()
        self.run_worker(self._bring(image), group="image", exclusive=True, exit_on_error=False)

    async def _bring(self, image: ShownImage) -> None:
        try:
            self._file = await asyncio.to_thread(image_file, image.data)
        except (ImageFileError, PathError) as error:
            return self._say(str(error))
        if reason := await self._easel.why_not(self._file):
            return self._say(f"Not drawn: {reason}.\nSaved as {with_tilde(self._file.path)}")
        self._drawn = True
        self._painted()

    def _say(self, text: str) -> None:
        about = self.query_one("#image-about", SafeStatic)
        about.update(text)
        about.display = bool(text)

    def _painted(self) -> None:
        """Draw the image once what is on its way to the terminal is there."""
        if self._drawn and not self._stale:
            self._stale = True
            self.set_timer(0.05, self._draw)

    def _draw(self) -> None:
        self._stale = False
        if self._drawn and self._file is not None and self.is_attached:
            region = self.query_one("#image-place").content_region
            area = drawing.Area(region.x, region.y, region.width, region.height)
            self.run_worker(
                self._easel.draw(self._file, area),
                group="image", exclusive=True, exit_on_error=False,
            )  # fmt: skip

    def on_unmount(self) -> None:
        self._drawn = False
        self._easel.wipe()

    # --- keys --------------------------------------------------------------------------

    def action_leaf(self, by: int) -> None:
        if len(self._images) > 1:
            self._at = (self._at + by) % len(self._images)
            self._show()
            self.refresh(layout=True)

    def action_copy(self) -> None:
        if self._file is not None:
            self.run_worker(self._copy_path(self._file), group="copy", exit_on_error=False)

    async def _copy_path(self, file: ImageFile) -> None:
        self._note(await self._copy(str(file.path)))

    def action_open(self) -> None:
        if self._file is not None:
            self.run_worker(self._open(self._file), group="open", exit_on_error=False)

    async def _open(self, file: ImageFile) -> None:
        try:
            await asyncio.to_thread(open_outside, file.path)
        except ImageFileError as error:
            self._note(str(error))

    def _note(self, text: str) -> None:
        self.query_one("#image-keys", SafeStatic).update(one_line(text, 200) + "   Esc back")
