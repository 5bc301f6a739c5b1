"""What the SDK would take from the environment by itself, seen without importing it.

The order is the SDK's (anthropic.lib.credentials): ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN,
the profile that ANTHROPIC_PROFILE names, workload identity, the active profile on disk. The
first two are read by who chooses the endpoint; the rest is found here and used by the SDK.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from agent_tui.messages_api.errors import ApiError, CredentialError
from agent_tui.text import clean as shown

_TOKEN_VARIABLES = ("ANTHROPIC_IDENTITY_TOKEN_FILE", "ANTHROPIC_IDENTITY_TOKEN")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


def chosen_credentials(environ: Mapping[str, str]) -> str | None:
    """What the environment chooses of the chain, for people: a profile by name, or workload
    identity. None for nothing.

    Raises CredentialError for a choice that cannot work: a profile that is not there, workload
    identity that is set by half.
    """
    profile = environ.get("ANTHROPIC_PROFILE")
    if profile:
        _require_profile(environ, profile, "ANTHROPIC_PROFILE")
        return f"profile {shown(profile)} (ANTHROPIC_PROFILE)"
    if _workload_identity(environ):
        return "workload identity (ANTHROPIC_FEDERATION_RULE_ID)"
    return None


def active_profile(environ: Mapping[str, str]) -> str | None:
    """The profile that is active on disk, for people; the chain's last link. None for none.

    Raises CredentialError where one was pointed to that is not there.
    """
    pointed = _pointer(environ)
    folder = environ.get("ANTHROPIC_CONFIG_DIR")
    if pointed is not None:
        _require_profile(environ, pointed, str(config_dir(environ) / "active_config"))
    elif folder:
        _require_profile(environ, "default", "ANTHROPIC_CONFIG_DIR")
    elif not _profile_file(environ, "default").is_file():
        return None
    name = f"profile {shown(pointed or 'default')}"
    return f"{name} (ANTHROPIC_CONFIG_DIR)" if folder else name


def config_dir(environ: Mapping[str, str]) -> Path:
    """Where the SDK keeps profiles."""
    named = environ.get("ANTHROPIC_CONFIG_DIR")
    if named:
        return Path(named)
    home = Path(environ.get("HOME") or Path.home())
    if sys.platform == "win32":
        appdata = environ.get("APPDATA")
        return (Path(appdata) if appdata else home / "AppData" / "Roaming") / "Anthropic"
    return home / ".config" / "anthropic"


def custom_headers(environ: Mapping[str, str]) -> dict[str, str]:
    """The lines of ANTHROPIC_CUSTOM_HEADERS, as the SDK reads them. Raises ApiError for a line
    that is none: the SDK would leave it out without a word."""
    headers: dict[str, str] = {}
    for line in environ.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines():
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if not colon or not _HEADER_NAME.match(name) or not _sendable(value):
            # The value may be a secret, so nothing of the line is said but a name it may have.
            which = f"the line of {shown(name)}" if colon and len(name) < 60 else "a line"
            raise ApiError(
                f"ANTHROPIC_CUSTOM_HEADERS: {which} is not of the form Name: value "
                "in plain ASCII. Correct or unset it.",
                kind="setup",
            )
        headers[name] = value
    return headers


def _sendable(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _workload_identity(environ: Mapping[str, str]) -> bool:
    rule = "ANTHROPIC_FEDERATION_RULE_ID"
    chosen = [name for name in (rule, *_TOKEN_VARIABLES) if environ.get(name)]
    missing = [n for n in (rule, "ANTHROPIC_ORGANIZATION_ID") if not environ.get(n)]
    if not any(environ.get(name) for name in _TOKEN_VARIABLES):
        missing.append(" or ".join(_TOKEN_VARIABLES))
    if chosen and missing:
        raise CredentialError(
            f"{chosen[0]} asks for workload identity, which also needs {', '.join(missing)}: "
            f"set that, or unset {chosen[0]}."
        )
    return bool(chosen)


def _pointer(environ: Mapping[str, str]) -> str | None:
    try:
        text = (config_dir(environ) / "active_config").read_text("utf-8")
    except (OSError, ValueError):
        return None
    return text.strip() or None


def _profile_file(environ: Mapping[str, str], profile: str) -> Path:
    return config_dir(environ) / "configs" / f"{profile}.json"


def _require_profile(environ: Mapping[str, str], profile: str, chosen_by: str) -> None:
    name = shown(profile)
    if profile != profile.strip() or profile[0] == "." or set("/\\\0" + os.sep) & set(profile):
        raise CredentialError(
            f"{shown(chosen_by)} names the profile {name!r}: a profile is a plain file name "
            "without slashes, dots before it or spaces around it."
        )
    file = _profile_file(environ, profile)
    if not file.is_file():
        raise CredentialError(
            f"{shown(chosen_by)} names the profile {name}, but there is no {shown(str(file))}. "
            f"Correct it, or unset it to use another credential."
        )
