"""python -m agent_tui.offline: the offline server in the foreground."""

import argparse
import sys

from agent_tui.offline.scenarios import ScenarioError
from agent_tui.offline.server import NATURAL_SPEED, OfflineServerError, serve


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m agent_tui.offline",
        description="A Messages API on 127.0.0.1 with scripted replies (no model).",
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--scenario", help="a JSON file of turns to play instead of the demo")
    parser.add_argument("--log", help="append a JSON line per request and per answer to this file")
    parser.add_argument(
        "--speed",
        type=float,
        default=NATURAL_SPEED,
        help="characters per second, 0: no pause (default: %(default)s)",
    )
    options = parser.parse_args()
    try:
        serve(options.port, options.speed, options.scenario, options.log)
    except (OfflineServerError, ScenarioError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
