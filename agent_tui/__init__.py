"""agent-tui: a terminal agent on Anthropic's Messages API that can be seen and steered."""

__version__ = "0.1.0"
