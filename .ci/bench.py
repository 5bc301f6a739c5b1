"""Run every benchmark (benchmarks/*.py) and fail if one of them fails.

A benchmark is a script that prints what it measured and exits non-zero when it misses its
bound. Names given as arguments choose, and --quick is handed on, which each knows:
`make bench ARGS="--quick bench_app"`.
"""
# ruff: noqa: T201

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def benchmarks(chosen: list[str]) -> list[Path]:
    """The scripts, by name. Raises SystemExit for a name that is none."""
    found = {path.stem: path for path in sorted((ROOT / "benchmarks").glob("[!_]*.py"))}
    unknown = [name for name in chosen if name not in found]
    if not found:
        sys.exit("there is no benchmark in benchmarks/")
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are: {', '.join(found)}")
    return [found[name] for name in chosen or found]


def main() -> int:
    failed: list[str] = []
    quick = [word for word in sys.argv[1:] if word == "--quick"]
    for script in benchmarks([word for word in sys.argv[1:] if word not in quick]):
        print(f"== {script.stem}", flush=True)
        started = time.monotonic()
        command = [sys.executable, str(script), *quick]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        print(f"   {'ok' if code == 0 else f'failed ({code})'} {time.monotonic() - started:.1f} s")
        if code != 0:
            failed.append(script.stem)
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all within their bounds")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
