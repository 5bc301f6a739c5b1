"""What the composer is lent for: another text than the user's draft."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Errand:
    """The composer lent for another text (edit a queued message, give a reason).

    The draft waits meanwhile and comes back when the errand ends, cursor and all.
    save(text) returns False to keep the errand open; leave() is Esc.
    """

    label: str
    save: Callable[[str], bool]
    leave: Callable[[], None]
    draft: str = ""
    cursor: tuple[int, int] = (0, 0)
    name: str = ""
    saves: str = "save"
    """What Enter does, and Esc (leaves), in a word or two for the last line."""
    leaves: str = "cancel"
