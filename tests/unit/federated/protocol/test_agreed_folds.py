"""Sessions of a cross-validation, and their parts of the budget."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Agreement
from dpboost.federated.protocol.agreed_folds import AgreedFolds
from tests.unit.federated.channels import agreement

FIT = AgreedFolds(name="one", n_folds=4, fold=2)
JUDGED = replace(FIT, fold=None)


def test_the_sessions_of_a_row_take_the_whole_budget():
    assert FIT.part == (Fraction(3, 10), 4)
    assert JUDGED.part == (Fraction(1, 10), 4)
    assert 3 * FIT.part[0] + JUDGED.part[0] == 1
    assert (FIT.session, JUDGED.session) == ("fold-2", "evaluation")


@pytest.mark.parametrize("delta", [{}, {"delta": 1e-6, "accountant": "GDP"}])
@pytest.mark.parametrize("persons", [{}, {"rows_per_user": 3, "parties_per_user": 2}])
def test_ledgers_have_their_part_of_it(delta, persons):
    whole = agreement(**delta, **persons).ledger()
    fit, judged = (agreement(folds=own, **delta, **persons).ledger() for own in (FIT, JUDGED))
    assert 3 * fit.capacity + judged.capacity == whole.capacity
    assert fit.epsilon == whole.epsilon


def test_it_is_a_part_of_the_terms():
    terms = agreement(folds=FIT)
    again = Agreement.from_json(terms.to_json())
    assert again == terms
    digests = {one.digest for one in (terms, agreement(folds=JUDGED), agreement())}
    assert len(digests) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"name": 3},
        {"n_folds": 1},
        {"n_folds": 101},
        {"n_folds": 2.0},
        {"fold": 4},
        {"fold": -1},
        {"fold": True},
    ],
)
def test_refuses_what_is_no_session(change):
    with pytest.raises(InvalidParameterError, match=next(iter(change))):
        replace(FIT, **change)


def test_an_agreement_takes_nothing_else():
    with pytest.raises(InvalidParameterError, match="folds"):
        agreement(folds={"name": "one", "n_folds": 4, "fold": 2})
