"""python -m agent_tui.offline: the offline server in the foreground."""

import argparse
import sys

from agent_tui.offline.containers import container_options
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
    parser.add_argument(
        "--container-seconds", type=float, default=270.0, help="a container unused so long expires"
    )
    parser.add_argument(
        "--result-seconds", type=float, default=240.0, help="a call unanswered so long times out"
    )
    parser.add_argument(
        "--program-seconds", type=float, default=30.0, help="a program computes so long"
    )
    parser.add_argument(
        "--output-chars", type=int, default=1_000_000, help="a program's output is cut there"
    )
    parser.add_argument(
        "--expired-answer",
        choices=["error", "untyped", "result"],
        default="error",
        help="to an expired container: 400, 500, or a result of the program",
    )
    options = parser.parse_args()
    containers = container_options(
        idle_seconds=options.container_seconds,
        result_seconds=options.result_seconds,
        program_seconds=options.program_seconds,
        output_chars=options.output_chars,
        expired_answer=options.expired_answer,
    )
    try:
        serve(options.port, options.speed, options.scenario, options.log, containers)
    except (OfflineServerError, ScenarioError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
