import numpy as np
import pytest

from dpboost._kernels import coins

TOP = (1 << 64) - 1


def blocks_of(words, thresholds, n_threads=1):
    blocks = np.full(len(words), -1, np.int32)
    coins.assign_blocks(
        np.array(words, np.uint64), np.array(thresholds, np.uint64), blocks, n_threads
    )
    return blocks.tolist()


def test_a_threshold_belongs_to_the_block_above_it():
    assert blocks_of([0, 9, 10, 11, 19, 20, TOP], [10, 20]) == [0, 0, 1, 1, 1, 2, 2]


def test_thresholds_at_the_ends_of_64_bits():
    assert blocks_of([0, 1, TOP - 1, TOP], [0, TOP]) == [1, 1, 1, 2]
    assert blocks_of([(1 << 63) - 1, 1 << 63], [1 << 63]) == [0, 1]


def test_no_threshold_is_one_block():
    assert blocks_of([0, 5, TOP], []) == [0, 0, 0]


def test_equal_thresholds_leave_empty_blocks():
    assert blocks_of([4, 5, 6], [5, 5, 5, 6]) == [0, 3, 4]


@pytest.mark.parametrize("n_thresholds", [1, 2, 3, 49, 50, 1000])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_agrees_with_searchsorted_for_any_number_of_threads(n_thresholds, n_threads):
    generator = np.random.default_rng(n_thresholds)
    words = generator.integers(0, TOP, 5000, dtype=np.uint64, endpoint=True)
    thresholds = np.sort(generator.integers(0, TOP, n_thresholds, dtype=np.uint64))
    words[:n_thresholds] = thresholds[:5000]
    expected = np.searchsorted(thresholds, words, side="right")
    assert blocks_of(words, thresholds, n_threads) == expected.tolist()


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="same length"):
        coins.assign_blocks(
            np.zeros(2, np.uint64), np.zeros(1, np.uint64), np.zeros(3, np.int32), 1
        )
