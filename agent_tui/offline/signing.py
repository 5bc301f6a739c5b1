"""Signatures of thinking blocks: deterministic, and checked when a block comes back."""

import base64
import hashlib
import hmac

_KEY = b"agent-tui offline server: scripted replies, no model"


def sign_thinking(thinking: str) -> str:
    """The signature of a block with that text. It protects nothing: its key is public.

    It lets the server see, as the service does, that a block came back unmodified.
    """
    digest = hmac.new(_KEY, thinking.encode("utf-8", "surrogatepass"), hashlib.sha512).digest()
    return "EqoB" + base64.b64encode(digest).decode()


def is_signed(thinking: str, signature: str) -> bool:
    """True for a signature that sign_thinking gave for exactly this text."""
    return hmac.compare_digest(
        sign_thinking(thinking).encode(), signature.encode("utf-8", "replace")
    )
