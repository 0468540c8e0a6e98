import os

import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.output_files import check_outputs


def test_files_that_can_be_written_pass(tmp_path):
    old = tmp_path / "old.txt"
    old.write_text("as it was")
    check_outputs(str(old), str(tmp_path / "new.txt"), None, os.devnull)
    assert old.read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir()] == ["old.txt"]


def test_files_without_a_folder_and_folders_are_refused(tmp_path):
    for path, message in (
        (tmp_path / "absent" / "a.txt", "folder does not exist"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            check_outputs(None, str(path))


def test_a_folder_that_is_locked_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InvalidParameterError, match="permission denied"):
        check_outputs(str(tmp_path / "a.txt"))
