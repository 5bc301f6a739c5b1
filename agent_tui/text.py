"""SafeText: the only way a foreign string reaches a screen; and helpers for foreign text."""


class SafeText(str):
    """A string that is safe on a terminal: no control, C1, bidi override or invisible
    character is left raw; each is shown as a visible symbol. Newline and tab stay.

    SafeText(x) sanitises x; slices and joins give plain str.
    """
