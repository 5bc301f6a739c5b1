"""The bytes of an image as a file: checked, saved, opened with what the system has for it."""

import base64
import binascii
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_tui import paths
from agent_tui.desktop import start_apart
from agent_tui.image_head import image_size, image_type

_SETTLES_S = 3.0
"""Seconds in which a program that opens files says that it cannot; a viewer stays longer."""


class ImageFileError(Exception):
    """str() is one sentence that says what is the matter."""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image by what its bytes say, whatever it was called. pixels: None where they do not
    say. path: where it was saved."""

    data: bytes
    media_type: str
    pixels: tuple[int, int] | None
    path: Path


def image_file(data: str | bytes) -> ImageFile:
    """Check an image and save it (0600) under the user's own folder, by the name of its digest.
    data: the bytes, or base64. Blocking: call it in a thread. Raises ImageFileError, PathError.
    """
    if isinstance(data, str):
        try:
            data = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise ImageFileError("It cannot be read: it is no base64.") from None
    kind = image_type(data)
    if kind is None:
        raise ImageFileError("It is no PNG, JPEG, GIF or WebP image, whatever it is called.")
    folder = paths.private_folder(paths.outputs_dir() / "images")
    ending = kind.removeprefix("image/").replace("jpeg", "jpg")
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}.{ending}"
    if not path.exists():
        paths.write_private_atomic(path, data)
    return ImageFile(data, kind, image_size(data), path)


def opener(environ: Mapping[str, str], platform: str) -> list[str]:
    """The program that opens files with what belongs to them. Raises ImageFileError."""
    if platform == "darwin":
        return ["open"]
    if not (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")):
        if shutil.which("wslview"):
            return ["wslview"]
        raise ImageFileError("There is no desktop here to open it on: copy its path.")
    for name in ("xdg-open", "gio"):
        if found := shutil.which(name):
            return [found, *(["open"] if name == "gio" else [])]
    raise ImageFileError("No program was found that opens files (xdg-open): copy its path.")


def open_outside(path: Path) -> None:
    """Open the file in the system's viewer. Blocking: call it in a thread; it comes back after
    some seconds while the viewer stays. Raises ImageFileError."""
    command = [*opener(os.environ, sys.platform), str(path)]
    try:
        process = start_apart(command)
    except OSError as error:
        raise ImageFileError(f"{Path(command[0]).name} did not start: {error.strerror}.") from error
    try:
        code = process.wait(_SETTLES_S)
    except subprocess.TimeoutExpired:
        return
    if code:
        name = Path(command[0]).name
        raise ImageFileError(f"{name} ended with code {code}: there may be no viewer for images.")
