"""The transcript: a virtual view on the Line API, not a widget per message.
Closed blocks are laid out once per width; only the open tail is parsed again.

What an app uses (all of it is Transcript's, all to be called on the event loop):

- apply(event): any AgentEvent or ConversationEvent, in order. Nothing else is needed while
  a conversation runs; unknown events are ignored.
- load(messages, deliveries), clear(): a stored history, an empty page.
- add_notice(level, text), add_markdown(text), add_separator(label, text).
- toggle_tools(), toggle_thinking(), set_thinking_mode(mode), thinking_mode.
- following (settable), scroll_to_end(), Textual's own scroll methods.
- source_text(), text_of_selection, get_selection (Textual asks it on copy).
- set_glyphs(glyphs); quiet: nothing is waiting to be shown.
- messages posted: NewLines(count) while the view does not follow (0: it follows again),
  ToolOpened(call_id) when a tool's line is clicked or opened by key.

Keys when it has the focus: n/p or Ctrl+Down/Up move between blocks that open, Enter opens.
A click opens too and leaves the focus where it is.
"""

from agent_tui.tui.transcript.transcript import Transcript

__all__ = ["Transcript"]
