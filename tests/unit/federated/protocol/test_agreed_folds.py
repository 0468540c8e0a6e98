"""What is agreed of a cross-validation, and the parts of the budget."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Agreement
from dpboost.federated.protocol.agreement import AgreedFolds
from tests.unit.federated.channels import agreement

WHOLE = AgreedFolds(n_folds=4, metrics=("mae",))
FIT, JUDGED = replace(WHOLE, part=2), replace(WHOLE, part=4)


def test_the_parts_of_a_row_take_the_whole_budget():
    assert FIT.share == (Fraction(3, 10), 4)
    assert JUDGED.share == (Fraction(1, 10), 4)
    assert 3 * FIT.share[0] + JUDGED.share[0] == 1
    assert (FIT.is_evaluation, JUDGED.is_evaluation, WHOLE.is_evaluation) == (False, True, False)


@pytest.mark.parametrize("delta", [{}, {"delta": 1e-6, "accountant": "GDP"}])
@pytest.mark.parametrize("persons", [{}, {"rows_per_user": 3, "parties_per_user": 2}])
def test_ledgers_have_their_part_of_it(delta, persons):
    whole = agreement(**delta, **persons).ledger()
    fit, judged = (agreement(folds=own, **delta, **persons).ledger() for own in (FIT, JUDGED))
    assert 3 * fit.capacity + judged.capacity == whole.capacity
    assert fit.epsilon == whole.epsilon


def test_it_is_a_part_of_the_terms():
    terms = agreement(folds=WHOLE)
    again = Agreement.from_json(terms.to_json())
    assert again == terms
    digests = {replace(terms, folds=one).digest for one in (WHOLE, FIT, JUDGED, None)}
    assert len(digests) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"n_folds": 1},
        {"n_folds": 101},
        {"n_folds": 2.0},
        {"part": 5},
        {"part": -1},
        {"part": True},
        {"metrics": "mae"},
        {"metrics": (1,)},
    ],
)
def test_refuses_what_is_no_cross_validation(change):
    with pytest.raises(InvalidParameterError, match=next(iter(change))):
        replace(WHOLE, **change)


def test_an_agreement_takes_nothing_else():
    with pytest.raises(InvalidParameterError, match="folds"):
        agreement(folds={"n_folds": 4})
