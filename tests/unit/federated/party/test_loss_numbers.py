from dataclasses import replace

import numpy as np
import pytest

from dpboost.federated.party.admission import UnusableMessageError
from dpboost.federated.party.loss_numbers import LossNumbers, is_range, own_loss, started
from dpboost.federated.protocol import wire
from tests.unit.federated import engine_messages as e
from tests.unit.federated.channels import FEATURES, agreement

LABELS = {"bounds": dict.fromkeys(FEATURES, (0, 1)), "label_bounds": (0.5, 9.0)}
OBJECTIVES = [
    {},
    {"objective": "regression_l1"},
    {"objective": "huber", "alpha": 2.0},
    {"objective": "fair"},
    {"objective": "quantile", "alpha": 0.3},
    {"objective": "quantile", "alpha": [0.1, 0.5, 0.9]},
    {"objective": "poisson"},
    {"objective": "gamma"},
    {"objective": "tweedie", "tweedie_variance_power": 1.2},
    {"objective": "cross_entropy"},
]
ON_LABELS = {"", "regression_l1", "huber", "fair", "quantile"}


def terms_of(objective):
    return agreement(task="regression", schema=LABELS, objective=objective)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_party_makes_the_loss_of_the_coordinator(objective):
    terms = terms_of(objective)
    bounds = (1.0, 4.0) if objective.get("objective", "") in ON_LABELS else None
    theirs, _ = e.loss_of(terms, bounds)
    theirs = theirs.starting_from(tuple(range(theirs.n_outputs)))
    given = LossNumbers.of(theirs)
    assert wire.decode(wire.encode(given), LossNumbers) == given
    assert given.bounds == bounds
    unstarted = replace(given, start_units=LossNumbers.of(e.loss_of(terms, bounds)[0]).start_units)
    loss, classes = own_loss(unstarted, terms)
    assert classes == ()
    loss = started(loss, given)
    assert type(loss) is type(theirs)
    scores = np.linspace(-5, 15, 50)
    units = np.rint(np.tile(scores, (loss.n_outputs, 1)) / loss.unit).astype(np.int64)
    labels = loss.encode_labels(np.linspace(0, 10, 50))
    assert np.array_equal(labels, theirs.encode_labels(np.linspace(0, 10, 50)))
    rows = np.arange(50, dtype=np.int32)
    packed = [
        each.packed_newton(units, labels, rows, gradient_limit=0.5) for each in (loss, theirs)
    ]
    assert np.array_equal(*packed)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_ranges_are_for_losses_on_the_scale_of_labels(objective):
    terms = terms_of(objective)
    given = LossNumbers.of(e.loss_of(terms)[0])
    wrong = [replace(given, bounds=(0.0, 9.0)), replace(given, start_units=given.start_units * 2)]
    if given.bounds is None:
        wrong.append(replace(given, bounds=(1.0, 4.0)))
    else:
        wrong.append(replace(given, bounds=None))
    if objective:
        wrong.append(replace(given, spread=0.5))
    for numbers in wrong:
        with pytest.raises(UnusableMessageError):
            own_loss(numbers, terms)


def test_a_range_lies_inside_the_agreed_bounds():
    terms = terms_of({})
    assert is_range((0.5, 9.0), terms)
    for wrong in ((0.4, 1.0), (1, 2), (2.0, 1.0), (1.0,), None, (1.0, np.nan)):
        assert not is_range(wrong, terms)
    assert not is_range((0.0, 1.0), agreement())
