"""Everything that is checked of settings and endpoint, in full, before or beside a face.

Heavy: it builds the settings' model. The screen's first paint does without (first_look.py).
"""

from agent_tui import logs, trust
from agent_tui.conversation import endpoint as endpoints
from agent_tui.front_options import Options, StartError
from agent_tui.settings import Loaded, SettingsError, load_settings

CANNOT_START = (StartError, SettingsError, endpoints.EndpointError, OSError)
"""What working_folder, load and configured_endpoint raise: each one clear line."""


def load(options: Options, cwd: str, *, on_screen: bool = False) -> Loaded:
    """The settings of all layers for this folder; on_screen: also what was chosen there before.
    Raises SettingsError, OSError."""
    return load_settings(
        cwd=cwd,
        flags=options.flags,
        config=options.config,
        trusted=trust.is_trusted(cwd),
        remembered=on_screen,
    )


def prepare_screen(options: Options, cwd: str) -> Loaded:
    """Load, look at the endpoint that is named, open the log. Raises one of CANNOT_START."""
    loaded = load(options, cwd, on_screen=True)
    if not options.demo:
        endpoints.configured_endpoint(loaded.settings)
    logs.set_up_logging()
    return loaded
