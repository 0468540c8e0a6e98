"""What is written to disk is there as a whole, or as it was, whatever fails on the way."""

import os
import stat
import threading
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from dpboost import Booster, DPBoostRegressor, InvalidParameterError, Schema
from dpboost._utils.files import write_atomically
from tests.faults import failing, room_for

OLD = b"what was there before"
SCHEMA = {"bounds": {"x0": (0.0, 1.0), "x1": (0.0, 1.0)}, "label_bounds": (0.0, 1.0)}


@pytest.fixture(scope="module")
def booster():
    X = np.random.default_rng(0).random((200, 2))
    model = DPBoostRegressor(
        n_estimators=20, schema=Schema(bounds={0: (0, 1), 1: (0, 1)}, label_bounds=(0, 1))
    )
    return model.set_params(verbosity=0).fit(X, X[:, 0]).booster_


@pytest.fixture(params=["model", "schema", "bytes"])
def write(request, booster):
    """Write something of a few thousand bytes to a path."""
    return {
        "model": booster.save_model,
        "schema": Schema.from_dict(SCHEMA).to_json,
        "bytes": lambda path: write_atomically(path, bytes(5000)),
    }[request.param]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_a_disk_without_room_leaves_what_was_there(write, tmp_path, share, there):
    write(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / "whole").unlink()
    path = tmp_path / "file"
    if there:
        path.write_bytes(OLD)
    with room_for(int(share * len(whole))), pytest.raises(OSError, match=r"large|space|File"):
        write(path)
    assert [item.name for item in tmp_path.iterdir()] == ["file"] * there
    assert not there or path.read_bytes() == OLD
    write(path)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(("owner", "name"), [(os, "fsync"), (Path, "replace")])
def test_a_failure_at_the_end_leaves_what_was_there(write, tmp_path, owner, name):
    path = tmp_path / "file"
    path.write_bytes(OLD)
    with failing(owner, name), pytest.raises(OSError, match="space"):
        write(path)
    assert path.read_bytes() == OLD
    assert len(list(tmp_path.iterdir())) == 1


def test_a_reader_sees_the_old_or_the_new_model(booster, tmp_path):
    path = tmp_path / "model.txt"
    booster.save_model(path)
    texts = {booster.model_to_string(num_iteration=-1)}
    booster.save_model(path, num_iteration=3)
    texts.add(path.read_text())
    seen, stop = set(), threading.Event()

    def read():
        while not stop.is_set():
            seen.add(path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(60):
        booster.save_model(path, num_iteration=3 if number % 2 else None)
    stop.set()
    reader.join()
    assert seen <= texts | {booster.model_to_string()}
    assert lightgbm.Booster(model_file=path).num_trees() == 3


def test_a_model_that_was_cut_does_not_load(booster, tmp_path):
    text = booster.model_to_string().encode()
    for share in (0.1, 0.5, 0.9, 0.99):
        path = tmp_path / "cut.txt"
        path.write_bytes(text[: int(share * len(text))])
        with pytest.raises(ValueError, match="model"):
            Booster(model_file=path)


def test_a_schema_that_was_cut_does_not_load(tmp_path):
    path = tmp_path / "schema.json"
    Schema.from_dict(SCHEMA).to_json(path)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InvalidParameterError, match="cannot be read"):
        Schema.from_json(path)


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of Unix")
def test_permissions_links_and_devices_stay(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(OLD)
    path.chmod(0o640)
    link.symlink_to(path)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    write_atomically("/dev/null", b"new")
    assert not Path("/dev/null").is_file()
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "fresh", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640
