"""Rows that take part: the first of each person, and those of the folds of a session."""

from dataclasses import replace

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import FoldBook, Party
from dpboost.federated.party.taking_part import taking_part
from dpboost.federated.protocol.agreed_folds import AgreedFolds
from tests.unit.federated.channels import agreement, tables

FOLDS = AgreedFolds(name="one", n_folds=3, fold=0)
((X, Y),) = tables([60])


def terms(fold, **more):
    return agreement(folds=replace(FOLDS, fold=fold), **more)


def sessions(book, rows, **more):
    options = {name: more.pop(name) for name in ("user_ids", "sample_weight") if name in more}
    return [
        taking_part(*rows, terms(fold, **more), folds=book, **options) for fold in (0, 1, 2, None)
    ]


def column(found):
    return found.table.column(0).tolist()


@pytest.mark.parametrize("form", ["array", "lists", "pandas"])
def test_each_row_is_in_all_fits_but_that_of_its_fold(form):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "dose"])
    given = {"array": X, "lists": X.tolist(), "pandas": frame}
    *fits, judged = sessions(FoldBook(), (given[form], Y))
    assert column(judged) == X[:, 0].tolist()
    for fold, fit in enumerate(fits):
        assert column(fit) == X[judged.folds != fold, 0].tolist()
        assert fit.labels.tolist() == Y[judged.folds != fold].tolist()
        assert fit.folds is None


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("form", ["array", "lists"])
def test_a_fold_may_have_all_rows_of_a_party(size, form):
    rows = X[:size]
    if form == "lists":
        if not size:
            return
        rows = rows.tolist()
    *fits, judged = sessions(FoldBook(), (rows, Y[:size]))
    assert sorted(fit.table.n_rows for fit in fits) == [0, 1, 1] if size else [0, 0, 0]
    assert len(judged.folds) == size


def test_weights_and_persons_go_with_their_rows():
    users = np.arange(60) // 4
    more = {"rows_per_user": 2, "weighted": True, "objective": {"max_weight": 100.0}}
    *fits, judged = sessions(
        FoldBook(), (X, Y), user_ids=users, sample_weight=np.arange(60.0), **more
    )
    first_two = np.flatnonzero(np.arange(60) % 4 < 2)
    assert column(judged) == X[first_two, 0].tolist()
    assert (judged.folds.reshape(-1, 2) == judged.folds[::2, np.newaxis]).all()
    for fold, fit in enumerate(fits):
        own = first_two[judged.folds != fold]
        assert column(fit) == X[own, 0].tolist()
        assert fit.extras.sample_weight.tolist() == own.tolist()


@pytest.mark.parametrize(
    "other", [(X + 1, Y), (X, Y + 1), (X[::-1].copy(), Y), (X[:-1], Y[:-1]), (X[:0], Y[:0])]
)
def test_other_rows_in_a_later_session_are_refused(other):
    book = FoldBook()
    taking_part(X, Y, terms(0), folds=book)
    with pytest.raises(InvalidParameterError, match="not those that were dealt"):
        taking_part(*other, terms(1), folds=book)


@pytest.mark.parametrize(
    ("options", "agreed", "message"),
    [
        ({}, terms(0), "'folds' .* a FoldBook"),
        ({"folds": FoldBook()}, agreement(), "'folds' .* None"),
        ({"user_ids": np.arange(60)}, agreement(), "'user_ids' .* None"),
        ({}, agreement(rows_per_user=2), "'user_ids' .* one entry for each row"),
        ({"sample_weight": np.ones(60)}, agreement(), "'sample_weight' .* None"),
    ],
)
def test_what_the_agreement_does_not_say_is_refused(options, agreed, message):
    with pytest.raises(InvalidParameterError, match=message):
        Party(0, X, Y, agreement=agreed, **options)
