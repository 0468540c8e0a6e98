import pickle

import numpy as np
import pytest

from dpboost.trees.bin_layout import Workspace

LARGE = (2, 1 << 17)  # 2 MB of int64


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize(
    ("shape", "dtype"), [((3,), np.int32), ((2, 0), np.int64), (LARGE, np.int64), (LARGE, np.uint8)]
)
def test_arrays_are_like_those_of_numpy(shape, dtype):
    array = Workspace().empty(shape, dtype)
    assert (array.shape, array.dtype) == (shape, dtype)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    array[...] = 7
    assert (array == 7).all()


def test_memory_is_lent_again_when_the_last_view_is_gone():
    workspace = Workspace()
    first = workspace.empty(LARGE)
    position, view = address(first), first[1, 5:]
    del first
    view[:] = 3
    second = workspace.empty(LARGE)
    second[...] = 4
    assert address(second) != position
    assert (view == 3).all()
    del view
    third = workspace.empty((1 << 18,), np.int32)
    assert address(third) == position


def test_what_is_too_small_makes_room_for_what_is_not():
    workspace = Workspace()
    for size in (18, 19, 20):
        workspace.empty((1 << size,))
    assert [len(buffer) for buffer, _ in workspace._lent] == [8 << 20]


def test_the_smallest_that_fits_is_taken():
    workspace = Workspace()
    large, small = workspace.empty((1 << 20,)), workspace.empty((1 << 18,))
    position = address(small)
    del large, small
    assert address(workspace.empty((1 << 17,))) == position


def test_arrays_outlive_the_workspace():
    array = Workspace().empty(LARGE)
    array[...] = 1
    assert array.sum() == array.size


def test_travels_without_memory():
    workspace = Workspace()
    workspace.empty(LARGE)
    assert not pickle.loads(pickle.dumps(workspace))._lent
