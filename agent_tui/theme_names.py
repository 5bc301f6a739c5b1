"""The names of the themes, for settings that must not load Textual to know them."""

OWN_THEMES = ("dark", "light", "high-contrast", "ansi")

TEXTUAL_THEMES = (
    "ansi-dark", "ansi-light", "atom-one-dark", "atom-one-light", "catppuccin-frappe",
    "catppuccin-latte", "catppuccin-macchiato", "catppuccin-mocha", "dracula", "flexoki",
    "gruvbox", "monokai", "nord", "rose-pine", "rose-pine-dawn", "rose-pine-moon",
    "solarized-dark", "solarized-light", "textual-dark", "textual-light", "tokyo-night",
)  # fmt: skip
"""Those of Textual 8.2.8; tests/tui/test_themes.py compares."""

THEME_NAMES = ("auto", *OWN_THEMES, *TEXTUAL_THEMES)
