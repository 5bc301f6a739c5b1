"""The command that is printed at the end is one that the user's shell finds."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.conversation.going_on import command_to_start, how_to_go_on
from agent_tui.conversation.usage import UsageTotals
from agent_tui.drafts import Draft


def program(folder: Path, name: str = "agent-tui") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return folder


def test_a_program_on_the_path_is_named_alone(here: Path, tmp_path: Path) -> None:
    assert command_to_start(str(program(tmp_path / "bin"))) == "agent-tui"


def test_one_in_the_folder_is_named_from_there(here: Path) -> None:
    program(here / ".venv/bin")
    assert command_to_start(".venv/bin/agent-tui") == ".venv/bin/agent-tui"
    assert command_to_start(str(here / ".venv/bin/agent-tui")) == ".venv/bin/agent-tui"
    assert command_to_start(str(program(here))) == "./agent-tui"


def test_another_one_on_the_path_is_not_taken_for_it(here: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin")
    mine = program(tmp_path / "my tools")
    assert command_to_start(str(mine)) == f"'{mine}'", "whole, and quoted for the shell"


def test_a_module_is_started_by_its_python(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(program(tmp_path / "bin", "python")))
    module = str(Path("agent_tui") / "__main__.py")
    assert command_to_start(module) == "python -m agent_tui"
    own = here / "env" / "python"
    own.parent.mkdir()
    own.symlink_to(tmp_path / "bin" / "python")
    monkeypatch.setattr(sys, "executable", str(own))
    assert command_to_start(module) == "env/python -m agent_tui", "a virtualenv's is another"


@pytest.mark.parametrize("demo", [False, True])
def test_the_demo_is_gone_on_with_as_the_demo(here: Path, tmp_path: Path, *, demo: bool,
                                              monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "argv", [str(program(tmp_path / "bin"))])
    said: Any = SimpleNamespace(
        keeps=True, messages=["hello"], usage=UsageTotals(),
        endpoint=SimpleNamespace(demo=demo), session=SimpleNamespace(id="abc"),
    )  # fmt: skip
    command = "agent-tui --demo -r abc " if demo else "agent-tui -r abc "
    assert how_to_go_on(said).startswith(f"Go on with: {command}")


@pytest.mark.parametrize(
    ("draft", "expected"), [(Draft(), ""), (Draft("", {}, (Draft("away"),)), "Go on with: ")]
)
def test_what_was_put_away_is_worth_going_on_with(draft: Draft, expected: str) -> None:
    kept: Any = SimpleNamespace(
        keeps=True, messages=[], usage=UsageTotals(), endpoint=SimpleNamespace(demo=False),
        session=SimpleNamespace(id="abc", draft=draft),
    )  # fmt: skip
    assert how_to_go_on(kept).startswith(expected) and bool(how_to_go_on(kept)) == bool(draft)
