"""The forms of single settings: what turns "read,grep", "Name: value" or JSON into a value."""

import difflib
import json
import re
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
)

from agent_tui.theme_names import OWN_THEMES, THEME_NAMES

ThinkingLevel = Literal["off", "low", "medium", "high", "xhigh", "max"]

ToolExposure = Literal["direct", "programmatic", "both", "off"]

ProviderName = Literal[
    "anthropic", "bedrock", "bedrock-mantle", "vertex", "google-cloud", "aws", "foundry"
]


def no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


def from_json(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"must be valid JSON: {error}") from None


def names(value: object) -> object:
    """Environment and flags give "read,grep" or a JSON list."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return from_json(value)
    return [name.strip() for name in value.split(",") if name.strip()]


def header_lines(value: object) -> object:
    """The environment gives "Name: value" lines or a JSON object."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return from_json(value)
    headers: dict[str, str] = {}
    for line in value.splitlines():
        name, colon, content = line.partition(":")
        if line.strip() and not (colon and name.strip()):
            raise ValueError("must be lines of the form Name: value")
        if colon:
            headers[name.strip()] = content.strip()
    return headers


def pairs(value: object) -> object:
    """The environment gives "name=value,name=value" or a JSON object."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return from_json(value)
    pairs: dict[str, str] = {}
    for part in value.split(","):
        name, equals, content = part.partition("=")
        if part.strip() and not (equals and name.strip()):
            raise ValueError("must be of the form name=value,name=value")
        if equals:
            pairs[name.strip()] = content.strip()
    return pairs


def table(value: object) -> object:
    """The environment gives a table as a JSON object."""
    return from_json(value) if isinstance(value, str) else value


def https(url: str) -> str:
    if not url.startswith("https://") or len(url) < 10:
        raise ValueError("must begin with https://: the service itself connects to it")
    return url


class ConnectorServer(BaseModel):
    """An MCP server that the service connects to (the request's mcp_servers)."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, AfterValidator(https)]
    authorization_token: SecretStr | None = None


def _server_name(name: str) -> str:
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
        raise ValueError("a server's name is 1 to 64 letters, digits, - and _")
    return name


# What may stand in a header (RFC 9110, 5.1, 5.5 and 5.6.2); what else would be refused only by
# the first request.
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE = re.compile(r"[\t -~]*")


def _header_name(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise ValueError("a header's name is of letters, digits and -, without blanks")
    return name


def _header_value(value: str) -> str:
    value = value.strip(" \t")
    if not _VISIBLE.fullmatch(value):
        raise ValueError("must be one line of plain ASCII characters")
    return value


def beta_names(given: list[str]) -> list[str]:
    """As in the header itself, one text may hold several, with commas between."""
    found = [name.strip(" \t") for text in given for name in text.split(",")]
    if not all(map(_TOKEN.fullmatch, found)):
        raise ValueError("each name is of letters, digits and -, not empty, without blanks")
    return list(dict.fromkeys(found))


def keep(value: object) -> object:
    """on and off, however written, beside the times."""
    word = value.strip().lower() if isinstance(value, str) else value
    if word in (True, "on", "true", "yes"):
        return "5m"
    return "off" if word in (False, "off", "false", "no") else word


def theme_name(name: str) -> str:
    if name in THEME_NAMES:
        return name
    close = difflib.get_close_matches(name.lower().replace("_", "-"), THEME_NAMES, n=1)
    hint = f"did you mean {close[0]}?" if close else f"try {', '.join(OWN_THEMES)} or auto."
    raise ValueError(f"there is no such theme: {hint}")


def _key_list(value: object) -> object:
    """["ctrl+j", "shift+enter"] beside "ctrl+j,shift+enter"."""
    if isinstance(value, list) and all(isinstance(key, str) for key in value):  # pyright: ignore[reportUnknownVariableType]
        return ",".join(value)  # pyright: ignore[reportUnknownArgumentType]
    return value


Keys = Annotated[
    str, BeforeValidator(_key_list), StringConstraints(strip_whitespace=True, min_length=1)
]
ServerName = Annotated[str, AfterValidator(_server_name)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
HeaderValue = Annotated[str, AfterValidator(_header_value)]
Number = BeforeValidator(no_bool)
Seconds = Annotated[float, Number, Field(gt=0, allow_inf_nan=False)]
