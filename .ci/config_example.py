"""Write config.example.toml from the settings."""

from pathlib import Path

from agent_tui.settings import settings_toml_example

if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    (root / "config.example.toml").write_text(settings_toml_example(), encoding="utf-8")
