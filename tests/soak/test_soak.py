"""A short soak: random commands, most of them while a run is on, faults, kills and restarts."""

from pathlib import Path

from .driver import Soak
from .program import Launcher


async def test_random_commands_against_a_faulty_server_lose_nothing(
    tmp_path: Path, launcher: Launcher
) -> None:
    soak = Soak("short", 150, tmp_path, launcher)
    await soak.run()
    at_work = sum(n for (_, status), n in soak.histogram.items() if status != "ready")
    assert at_work > soak.histogram.total() / 2
