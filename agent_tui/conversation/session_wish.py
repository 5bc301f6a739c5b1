"""SessionWish: which session the command line asks for (light: needed before the first paint)."""

from dataclasses import dataclass


@dataclass(slots=True)
class SessionWish:
    """keep False: write nothing. resume with resume_id "": let the user pick. face: who goes
    on in it, "screen", "rpc", or "print" (-p: nobody is there)."""

    keep: bool = True
    continue_newest: bool = False
    resume: bool = False
    resume_id: str = ""
    face: str = "screen"
