"""The front door: parses, builds, runs. No logic of its own."""


def main() -> None:
    raise NotImplementedError
