"""Says at the end of a run how many loop cases ran."""

from loop_case_runner import RAN


def pytest_terminal_summary(terminalreporter) -> None:  # type: ignore[no-untyped-def]
    if RAN:
        terminalreporter.write_line(f"loop cases: {len(RAN)} ran")
