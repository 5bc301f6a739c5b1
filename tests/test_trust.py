import os
import stat
from pathlib import Path

import pytest

from agent_tui import paths, trust


def test_a_folder_is_not_trusted_before_it_was_asked_for(home: Path, tmp_path: Path):
    assert trust.decision(tmp_path) is None
    assert trust.is_trusted(tmp_path) is False


@pytest.mark.parametrize("answer", [True, False])
def test_an_answer_is_kept(home: Path, tmp_path: Path, answer: bool):
    trust.set_trusted(tmp_path, answer)
    assert trust.decision(tmp_path) is answer
    assert trust.is_trusted(tmp_path) is answer
    assert stat.S_IMODE(paths.trust_file().stat().st_mode) == 0o600


def test_trust_is_of_the_real_folder_and_no_other(home: Path, tmp_path: Path):
    real, other = tmp_path / "real", tmp_path / "other"
    (real / "inner").mkdir(parents=True)
    other.mkdir()
    (tmp_path / "link").symlink_to(real)
    trust.set_trusted(tmp_path / "link", True)
    assert trust.is_trusted(real)
    assert not trust.is_trusted(real / "inner")
    assert not trust.is_trusted(tmp_path)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(other)
    assert not trust.is_trusted(tmp_path / "link")


def test_answers_do_not_push_each_other_out(home: Path, tmp_path: Path):
    trust.set_trusted("/a", True)
    trust.set_trusted("/b", False)
    trust.set_trusted("/a", False)
    trust.set_trusted("/c", True)
    assert [trust.decision(folder) for folder in ("/a", "/b", "/c")] == [False, False, True]


@pytest.mark.parametrize(
    "content", [b"", b"\0", b"[]", b"{}", b'{"folders": 1}', b'{"folders": {"CWD": "yes"}}']
)
def test_a_damaged_file_trusts_nobody(home: Path, tmp_path: Path, content: bytes):
    paths.trust_file().write_bytes(content.replace(b"CWD", os.fsencode(tmp_path)))
    assert trust.decision(tmp_path) is None
    trust.set_trusted(tmp_path, True)
    assert trust.is_trusted(tmp_path)


def test_a_folder_whose_name_is_not_utf8(home: Path):
    trust.set_trusted("/x/\udcff", True)
    assert trust.is_trusted("/x/\udcff")
