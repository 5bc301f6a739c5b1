"""Draft: what stood in the composer and was not sent, with the big pastes it names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Draft:
    """text: as it stood in the composer. pastes: what each placeholder in it stands for."""

    text: str = ""
    pastes: Mapping[str, str] = field(default_factory=dict[str, str])

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def whole(self) -> str:
        """The text that would be sent: every placeholder replaced by what it stands for."""
        if not self.pastes:
            return self.text
        names = "|".join(re.escape(name) for name in sorted(self.pastes, key=len, reverse=True))
        return re.sub(names, lambda found: self.pastes[found[0]], self.text)
