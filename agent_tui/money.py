"""Dollars for people: an unknown cost is never shown as if it were none."""


def money(cost: float | None, at_least: float = 0.0, sign: str = "≥") -> str:
    """ "$0.042"; where a price is unknown "$?", or "≥ $0.042" when so much of it is known."""
    if cost is not None:
        return _dollars(cost)
    return f"{sign} {_dollars(at_least)}" if at_least >= 0.0005 else "$?"


def _dollars(cost: float) -> str:
    return f"${cost:.3f}" if cost < 1 else f"${cost:,.2f}"
