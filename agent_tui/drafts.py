"""Draft: what stood in the composer and was not sent, with the big pastes it names, and the
drafts that were put away."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Draft:
    """text: as it stood in the composer. pastes: what each placeholder in it stands for.

    stash: the drafts put away beside it, newest last; theirs are empty.
    """

    text: str = ""
    pastes: Mapping[str, str] = field(default_factory=dict[str, str])
    stash: "tuple[Draft, ...]" = ()

    def __bool__(self) -> bool:
        """Whether there is anything to bring back."""
        return bool(self.text or self.stash)

    @property
    def whole(self) -> str:
        """The text that would be sent: every placeholder replaced by what it stands for."""
        if not self.pastes:
            return self.text
        names = "|".join(re.escape(name) for name in sorted(self.pastes, key=len, reverse=True))
        return re.sub(names, lambda found: self.pastes[found[0]], self.text)

    def sent(self) -> Self:
        """Without its text, which is a draft no more; what was put away stays."""
        return replace(self, text="", pastes={})

    def without(self, unkept: Callable[[str], bool]) -> Self:
        """Without those of its texts, here and in the stash, of which this is true."""
        stash = tuple(draft for draft in self.stash if not unkept(draft.text))
        kept = self.sent() if unkept(self.text) else self
        return replace(kept, stash=stash)
