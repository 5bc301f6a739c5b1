"""The list above the composer: slash commands, or earlier messages (Ctrl+R)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.reactive import reactive

from agent_tui.tui.lines import fit, middle_cut, one_line
from agent_tui.tui.plain import Drawn

SHOWN = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the list: what is inserted, what is shown, and a word about it. replaces: so
    many characters before the cursor make place for it; None: the whole draft."""

    value: str
    label: str
    help: str = ""
    replaces: int | None = None

    @property
    def goes_on(self) -> bool:
        """A folder, or the beginning of an address: more is chosen behind it."""
        return self.value.endswith(("/", '/"'))


def command_choices(
    commands: Sequence[tuple[str, str, str]],
    text: str,
    completions: Callable[[str], Sequence[tuple[str, str]]] = lambda line: (),
) -> list[Choice]:
    """Commands (name, usage, help) that fit what is typed: those that begin with it first.

    Once a known name is followed by a space: what completions(line) gives, (whole line, help);
    else only that one stays, to show its form.
    """
    if not text.startswith("/") or "\n" in text:
        return []
    name, space, _ = text[1:].partition(" ")
    if space and (lines := completions(text)):
        return [Choice(line, one_line(line), one_line(help_)) for line, help_ in lines]
    if space:
        found = [c for c in commands if c[0] == name and c[1] != f"/{name}"]
    else:
        low = name.lower()
        found = [c for c in commands if c[0].startswith(low)]
        found += [c for c in commands if low and low in c[0] and c not in found]
    return [Choice(f"/{n} ", one_line(usage), one_line(help_)) for n, usage, help_ in found]


_OPTIONAL = re.compile(r"\[[^\[\]]*\]")


def needs_argument(usage: str) -> bool:
    """Whether a command of this form cannot be sent by its name alone: something stands behind
    it that is not in brackets."""
    while (less := _OPTIONAL.sub("", usage)) != usage:
        usage = less
    return len(usage.split()) > 1


_MENTION = re.compile(r"(?<![^\s(\[{])@(?P<typed>\"(?:[^\"\\]|\\.)*\"?|[^\s\"]*)\Z")
MOST_MENTIONS = 200


def mention_choices(
    before: str, mentions: Callable[[str], Sequence[tuple[str, str]]]
) -> list[Choice]:
    """What an @ just before the cursor may become. before: the line up to the cursor; mentions:
    (what would stand behind the @, a word about it) for what is typed there. A file is done
    once it is chosen, and a space follows; what ends with a slash goes on."""
    found = _MENTION.search(before)
    if found is None:
        return []
    typed = found["typed"]
    return [
        Choice(f"@{value}", one_line(f"@{value}"), one_line(about), replaces=len(typed) + 1)
        for value, about in mentions(typed)[:MOST_MENTIONS]
    ]


class CompletionList(Drawn):
    """Draws the choices; the composer moves the selection and asks for it."""

    choices: reactive[tuple[Choice, ...]] = reactive(())
    selected: reactive[int] = reactive(0)
    moved = False
    """The user has chosen a line; else the first is chosen, whatever it is."""

    def show(self, choices: Sequence[Choice]) -> None:
        """Replace the list; what the user has moved to stays chosen where it can."""
        before = self.current if self.moved else None
        self.choices = tuple(choices)
        values = [c.value for c in choices]
        self.moved = before is not None and before.value in values
        self.selected = values.index(before.value) if before and self.moved else 0
        self.display = bool(choices)
        height = min(len(choices), SHOWN)
        self.styles.height = height
        self.styles.offset = (0, -height)

    def hide(self) -> None:
        self.show(())

    @property
    def is_open(self) -> bool:
        return bool(self.choices)

    @property
    def current(self) -> Choice | None:
        return self.choices[self.selected] if self.selected < len(self.choices) else None

    def move(self, step: int) -> None:
        if self.choices:
            self.moved = True
            self.selected = (self.selected + step) % len(self.choices)

    def render(self) -> Content:
        top = max(0, min(self.selected - SHOWN // 2, len(self.choices) - SHOWN))
        shown = self.choices[top : top + SHOWN]
        width = self.size.width
        wide = min(max((cell_len(c.label) for c in shown), default=0), max(12, width // 2))
        lines: list[Content] = []
        for at, choice in enumerate(shown, start=top):
            here = at == self.selected
            cells = wide if choice.help else width - 3
            label = choice.label
            if choice.replaces is not None:  # of a path or an address the end tells most
                label = middle_cut(label, cells, self.glyphs.ellipsis)
            label = fit(label, cells, self.glyphs.ellipsis)
            lines.append(
                Content.assemble(
                    (f"{self.glyphs.prompt} " if here else "  ", "$accent"),
                    (set_cell_size(label, wide) if choice.help else label, "bold" if here else ""),
                    (fit("  " + choice.help, width - wide - 3, self.glyphs.ellipsis), "$muted"),
                )
            )
        return Content("\n").join(lines)
