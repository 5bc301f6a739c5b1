"""Settings: flags > environment > project > user > defaults.

The model is in settings_model.py, the layers in settings_layers.py, the example file in
settings_example.py; this is the import for all.
"""

from agent_tui.settings_example import settings_toml_example
from agent_tui.settings_layers import (
    ENV_PREFIX,
    RESERVED_VARIABLES,
    Loaded,
    SettingsError,
    load_settings,
    parse_setting,
)
from agent_tui.settings_model import Settings
from agent_tui.settings_values import ConnectorServer, ProviderName, ThinkingLevel, ToolExposure

__all__ = [
    "ENV_PREFIX",
    "RESERVED_VARIABLES",
    "ConnectorServer",
    "Loaded",
    "ProviderName",
    "Settings",
    "SettingsError",
    "ThinkingLevel",
    "ToolExposure",
    "load_settings",
    "parse_setting",
    "settings_toml_example",
]
