import numpy as np
import pytest

from dpboost import InvalidParameterError
from dpboost.data.batches import Batch, SameRows

X = np.random.default_rng(0).normal(size=(20, 3))
Y = X[:, 0].copy()


def batches(values=X, labels=Y, size=6):
    return [
        Batch(X=values[start : start + size], label=labels[start : start + size])
        for start in range(0, len(values), size)
    ]


def followed(same, given, whole=True):
    return sum(batch.n_rows for batch in same.follow(iter(given), whole=whole))


@pytest.mark.parametrize("n_rows", [None, 20])
def test_the_same_rows_pass_again_and_again(n_rows):
    same = SameRows(object(), n_rows)
    for _ in range(3):
        assert followed(same, batches()) == 20
    assert same.n_rows == 20
    assert followed(same, batches(size=7), whole=False) == 20


CHANGED = {
    "order": batches(X[::-1], Y[::-1]),
    "order of the last": batches(X[[*range(18), 19, 18]], Y[[*range(18), 19, 18]]),
    "features": batches(X + (np.arange(20) == 7)[:, np.newaxis], Y),
    "labels": batches(X, -Y),
    "type": batches(X.astype("f4"), Y),
    "fewer": batches(X[:14], Y[:14]),
    "more": batches(np.vstack([X, X]), np.tile(Y, 2)),
    "length of the first": batches(size=7),
    "none": [],
}


@pytest.mark.parametrize("changed", CHANGED.values(), ids=CHANGED)
def test_a_pass_that_differs_is_refused(changed):
    same = SameRows([X], None)
    followed(same, batches())
    with pytest.raises(
        InvalidParameterError, match="of type list, returned different rows"
    ) as caught:
        followed(same, changed)
    assert not any(digit in str(caught.value) for digit in "0123456789")


def test_the_first_batch_shows_a_shuffled_pass_before_any_row_is_used():
    same = SameRows([X], 20)
    next(same.follow(iter(batches()), whole=True))
    with pytest.raises(InvalidParameterError, match="returned different rows"):
        next(same.follow(iter(CHANGED["order"]), whole=True))


@pytest.mark.parametrize("n_rows", [19, 21])
def test_another_number_of_rows_than_said_is_refused(n_rows):
    given = []
    rows = SameRows([X], n_rows).follow(iter(batches()), whole=True)
    with pytest.raises(InvalidParameterError, match="a different number of rows"):
        given.extend(rows)
    assert sum(batch.n_rows for batch in given) <= n_rows


def test_a_pass_over_labels_alone_is_compared_as_well():
    same = SameRows([X], None)
    followed(same, batches())
    with pytest.raises(InvalidParameterError, match="returned different rows"):
        followed(same, batches(X, -Y), whole=False)
