"""Rows are dealt once, whatever process asks, and each session has one agreement."""

from dataclasses import replace

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.evaluating.fold_coins import deal_folds
from dpboost.federated import FoldBook
from dpboost.federated.protocol.agreed_folds import AgreedFolds
from dpboost.privacy.randomness import Entropy
from tests.unit.federated.channels import agreement

UNITS = np.arange(300)
FOLDS = AgreedFolds(name="one", n_folds=3, fold=0)


def terms(fold=0, **more):
    return agreement(folds=replace(FOLDS, fold=fold), **more)


def test_folds_are_about_equally_large_and_nobodys_choice():
    first, second = (FoldBook().folds(terms(), UNITS, b"") for _ in range(2))
    assert first.dtype == np.int32
    assert set(first) == {0, 1, 2}
    assert (np.bincount(first) > 60).all()
    assert not np.array_equal(first, second)


def test_rows_of_one_person_are_in_one_fold():
    dealt = FoldBook().folds(terms(), UNITS // 3, b"")
    assert (dealt.reshape(-1, 3) == dealt[::3, np.newaxis]).all()


def test_a_row_more_moves_no_other():
    coins = Entropy.secure().row_coins()
    assert np.array_equal(deal_folds(coins, 5, UNITS)[:-1], deal_folds(coins, 5, UNITS[:-1]))
    assert deal_folds(coins, 5, UNITS[:0]).shape == (0,)


@pytest.mark.parametrize("on_disk", [True, False])
def test_all_sessions_and_processes_have_the_same_folds(on_disk, tmp_path):
    book = FoldBook(tmp_path if on_disk else None)
    dealt = book.folds(terms(), UNITS, b"rows")
    for fold in (1, 2, None, 0):
        again = FoldBook(tmp_path) if on_disk else book
        assert np.array_equal(again.folds(terms(fold), UNITS, b"rows"), dealt)


@pytest.mark.parametrize("on_disk", [True, False])
def test_what_would_break_the_guarantee_is_refused(on_disk, tmp_path):
    one = FoldBook(tmp_path / "new" if on_disk else None)

    def book():
        return FoldBook(tmp_path / "new") if on_disk else one

    dealt = book().folds(terms(), UNITS, b"rows")
    where = "the folder" if on_disk else "this process"
    with pytest.raises(InvalidParameterError, match=f"other terms in {where}.*not given twice"):
        book().folds(terms(public_seed=3), UNITS, b"rows")
    with pytest.raises(InvalidParameterError, match="not those that were dealt"):
        book().folds(terms(1), UNITS, b"other rows")
    with pytest.raises(InvalidParameterError, match="not those that were dealt"):
        book().folds(terms(1), UNITS[1:], b"rows")
    for change in ({"name": "two"}, {"n_folds": 4}):
        other = agreement(folds=replace(FOLDS, **change))
        with pytest.raises(InvalidParameterError, match="another cross-validation"):
            book().folds(other, UNITS, b"rows")
    # What was refused has left nothing behind.
    assert np.array_equal(book().folds(terms(1), UNITS, b"rows"), dealt)
    assert np.array_equal(book().folds(terms(), UNITS, b"rows"), dealt)


def test_a_process_that_was_killed_while_it_dealt_leaves_no_folds(tmp_path):
    FoldBook(tmp_path).folds(terms(), UNITS, b"rows")
    log = tmp_path / "folds.log"
    whole = log.read_bytes()
    assert (log.stat().st_mode & 0o777) == 0o600
    log.write_bytes(whole[:50])
    # Nothing was sent by these folds: others are dealt, and kept.
    dealt = FoldBook(tmp_path).folds(terms(), UNITS, b"rows")
    assert np.array_equal(FoldBook(tmp_path).folds(terms(), UNITS, b"rows"), dealt)
    log.write_bytes(b"x" * len(whole))
    with pytest.raises(InvalidParameterError, match="damaged"):
        FoldBook(tmp_path).folds(terms(), UNITS, b"rows")


def test_seeds_deal_as_one_place_does():
    coins = Entropy.seeded(5).row_coins()
    expected = deal_folds(coins, 3, UNITS)
    for fold, seed in [(0, 6), (2, 8), (None, 5)]:
        parts = [UNITS[:100], UNITS[:200]]
        found = [
            FoldBook(first_row=first).folds(terms(fold, noise_seed=seed), part, b"")
            for first, part in zip((0, 100), parts, strict=True)
        ]
        assert np.array_equal(np.concatenate(found), expected)
