from collections import Counter

import numpy as np
import pytest

pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

from dpboost.cluster.partial_sums import Partial, merge


def partial(partitions, answer, release=0, behind=None):
    return Partial(
        release=release, counted=frozenset(partitions), answer=answer, behind=behind or {}
    )


def test_sums_of_different_partitions_add_up():
    both = merge(partial([0, 2], np.array([1, 2])), partial([1], np.array([10, 20])))
    assert both.counted == {0, 1, 2}
    np.testing.assert_array_equal(both.answer, [11, 22])


def test_counts_by_value_add_up_column_by_column():
    both = merge(partial([0], [Counter("ab"), Counter()]), partial([1], [Counter("b"), Counter()]))
    assert both.answer == [Counter(a=1, b=2), Counter()]


def test_partitions_that_are_behind_add_nothing():
    both = merge(partial([], None, behind={1: 3}), partial([0], np.array([5])))
    assert both.counted == {0}
    assert both.behind == {1: 3}
    np.testing.assert_array_equal(both.answer, [5])


@pytest.mark.parametrize(
    "other",
    [partial([1, 0], np.array([1])), partial([1], np.array([1]), release=1)],
    ids=["the same partition", "another question"],
)
def test_nothing_is_counted_twice_or_in_the_wrong_sum(other):
    with pytest.raises(RuntimeError, match="Partial sums"):
        merge(partial([0], np.array([1])), other)
