"""Files that only their owner can read."""

import os

import pytest

from dpboost._utils.private_files import is_private, open_private
from tests.permissions import owner_alone


def test_a_file_is_made_for_its_owner_whatever_the_folder_gives(tmp_path):
    before = os.umask(0)
    try:
        os.close(open_private(tmp_path / "key", new=True))
        (tmp_path / "open").touch()
    finally:
        os.umask(before)
    for name, private in (("key", True), ("open", False)):
        assert owner_alone(tmp_path / name) is private
        assert is_private(tmp_path / name) is private


def test_an_old_file_is_opened_and_kept(tmp_path):
    path = tmp_path / "log"
    with open(open_private(path), "r+b") as file:
        file.write(b"one\r\n\x1a")
    with open(open_private(path), "r+b") as file:
        assert file.read() == b"one\r\n\x1a"
    with pytest.raises(FileExistsError):
        open_private(path, new=True)
    assert path.read_bytes() == b"one\r\n\x1a"


def test_what_cannot_be_made_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        open_private(tmp_path / "nowhere" / "key")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        is_private(tmp_path / "nowhere" / "key")
