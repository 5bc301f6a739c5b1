"""Changing one setting in a file a person wrote: its comments, its order and keys that are not
known stay as they are (tomlkit)."""

from pathlib import Path
from typing import Any

from agent_tui import paths
from agent_tui.toml_file import TomlFileError, read_toml


def write_setting(path: Path, name: str, value: Any) -> None:
    """Set it, or take it out (None); the file is made where there is none. Raises TomlFileError
    for a file that is no TOML (it stays as it is), PathError."""
    import tomlkit

    read_toml(path)  # its errors name line and remedy
    text = path.read_bytes().decode("utf-8-sig") if path.exists() else ""
    document = tomlkit.parse(text)
    if value is None:
        document.pop(name, None)
    elif isinstance(value, dict):
        document.pop(name, None)
        table = tomlkit.table()
        table.update(value)
        document.append(name, table)
    else:
        document[name] = value  # a new one stands above the first table
    new = tomlkit.dumps(document)
    if tomlkit.parse(new).unwrap().get(name) != value:
        raise TomlFileError(f"{path}: {name} could not be set here; write it in an editor.")
    paths.write_private_atomic(path, new.encode())
