"""The transcript: a virtual view on the Line API, not a widget per message.
Closed blocks are laid out once per width; only the open tail is parsed again.
"""
