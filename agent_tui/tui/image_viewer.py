"""ImageViewer: opens the page of an image, of a message or of the container."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.files import FilesError
from agent_tui.text import clean
from agent_tui.tui.clipboard import copy
from agent_tui.tui.screens.image_page import Easel, ImagePage
from agent_tui.tui.terminal_images import LARGEST
from agent_tui.tui.transcript.images import ContainerImage, ShownImage
from agent_tui.tui.transcript.parts import Picture

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentTuiApp


class ImageViewer:
    """One for the app, made when the first image is opened: what the terminal can is asked
    once."""

    def __init__(self, app: "AgentTuiApp") -> None:
        self._app = app
        self._easel = Easel(None if app.is_headless else app.to_terminal)

    def show(self, pictures: Sequence[Picture], first: int) -> None:
        """Those of messages on a page; one of the container has to be fetched before."""
        wanted = pictures[first]
        if isinstance(wanted, ContainerImage):
            self._app.run_worker(
                self._app.desk.send(f"/container preview {wanted.file_id}"),
                group="send",
                exit_on_error=False,
            )
            return
        images = [picture for picture in pictures if isinstance(picture, ShownImage)]
        before = pictures[:first]
        self._open(images, sum(isinstance(picture, ShownImage) for picture in before))

    def fetched(self, file: Mapping[str, Any]) -> None:
        """/container preview said that this file of the service is an image."""
        self._app.run_worker(self._fetch(file), group="image", exclusive=True, exit_on_error=False)

    async def _fetch(self, file: Mapping[str, Any]) -> None:
        conversation = self._app.desk.conversation
        if conversation is None:
            return
        name = clean(file.get("name") or "")
        try:
            data = await conversation.files.api.head(str(file.get("file_id")), LARGEST + 1)
        except (ApiError, FilesError) as error:
            self._app.notice("error", f"{name} could not be fetched: {error}")
            return
        if len(data) > LARGEST:
            self._app.notice(
                "warning", f"{name} is too large to be shown here: /container download saves it."
            )
            return
        kind = str(file.get("media_type") or "")
        self._open([ShownImage.of_bytes(kind, data, name)], 0)

    def _open(self, images: Sequence[ShownImage], first: int) -> None:
        self._app.push_screen(ImagePage(images, first, easel=self._easel, copy=self._copy))

    async def _copy(self, text: str) -> str:
        copied = await copy(text, to_terminal=self._app.copy_to_clipboard)
        return copied.sentence("its path")
