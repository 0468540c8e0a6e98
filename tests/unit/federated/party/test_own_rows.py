"""Rows that take part: the first of each person, those of folds, and what refuses before a word."""

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Party
from dpboost.federated.party.party import OwnRows
from dpboost.privacy.randomness import Entropy
from tests.unit.federated.channels import agreement, tables

((X, Y),) = tables([60])
ONES = np.ones(60)


def column(rows):
    return rows.table.column(0).tolist()


@pytest.mark.parametrize("form", ["array", "lists", "pandas"])
def test_the_rows_of_a_fold_are_left_out(form):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "dose"])
    given = {"array": X, "lists": X.tolist(), "pandas": frame}[form]
    terms = agreement()
    rows = OwnRows(given, Y, terms)
    folds = rows.deal(Entropy.seeded(1).row_coins(), 3)
    assert column(rows.raw(terms)) == X[:, 0].tolist()
    for fold in range(3):
        kept = rows.raw(terms, folds != fold)
        assert column(kept) == X[folds != fold, 0].tolist()
        assert kept.labels.tolist() == Y[folds != fold].tolist()


def test_weights_and_persons_go_with_their_rows():
    users = np.arange(60) // 4
    terms = agreement(rows_per_user=2, weighted=True, objective={"max_weight": 100.0})
    rows = OwnRows(X, Y, terms, user_ids=users, sample_weight=np.arange(60.0))
    first_two = np.flatnonzero(np.arange(60) % 4 < 2)
    assert rows.n_rows == 30
    assert column(rows.raw(terms)) == X[first_two, 0].tolist()
    folds = rows.deal(Entropy.seeded(1).row_coins(), 3)
    assert (folds.reshape(-1, 2) == folds[::2, np.newaxis]).all()
    kept = rows.raw(terms, folds != 0)
    assert kept.extras.sample_weight.tolist() == first_two[folds != 0].tolist()


@pytest.mark.parametrize("size", [0, 1])
def test_a_fold_may_have_all_rows_of_a_party(size):
    terms = agreement()
    rows = OwnRows(X[:size], Y[:size], terms)
    folds = rows.deal(Entropy.seeded(1).row_coins(), 3)
    sizes = [rows.raw(terms, folds != fold).table.n_rows for fold in range(3)]
    assert sorted(sizes) == ([0, 1, 1] if size else [0, 0, 0])


def test_the_digest_is_of_rows_in_order_labels_weights_and_ids():
    weighted = agreement(
        weighted=True, objective={"max_weight": 9.0}, rows_per_user=1, nonce="one", public_seed=1
    )
    ids = np.arange(60)

    def digest(X=X, y=Y, weights=ONES, users=ids):
        return OwnRows(X, y, weighted, sample_weight=weights, user_ids=users).digest

    found = {
        digest(),
        digest(X=X[::-1].copy()),
        digest(X=X + 1e-9),
        digest(y=(Y + 1) % 3),
        digest(weights=np.arange(60.0)),
        digest(users=ids // 2),
    }
    assert len(found) == 6
    assert digest(X=X.copy()) == digest()


@pytest.mark.parametrize(
    ("options", "agreed", "message"),
    [
        ({"user_ids": np.arange(60)}, agreement(), "'user_ids' .* None"),
        ({}, agreement(rows_per_user=2), "'user_ids' .* one entry for each row"),
        ({"sample_weight": np.ones(60)}, agreement(), "'sample_weight' .* None"),
    ],
)
def test_what_the_agreement_does_not_say_is_refused(options, agreed, message):
    with pytest.raises(InvalidParameterError, match=message):
        Party(0, X, Y, agreement=agreed, **options)
