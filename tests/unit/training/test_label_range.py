"""What a look at the labels may cost, and what it changes, by public and released facts."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost import DPBoostRegressor
from dpboost.losses import SquaredLoss
from dpboost.privacy.accounting import GDPAccountant, PureAccountant
from dpboost.privacy.queries import handle_of
from dpboost.training.label_range import COUNT_SHARE, NoisyCount, _Counts, learn_label_range
from tests.unit import ledgers

DELTA = Fraction(1, 10**5)


def open_ledger(accountant, epsilon=Fraction(1)):
    return ledgers.open_ledger(epsilon, DELTA, accountant=accountant, seed=1)


def learned(y, bounds, ledger, *, margin=1.0, epsilon=1.0, max_rows=None):
    return learn_label_range(
        bounds,
        handle_of(SimpleNamespace(labels=y)),
        margin=margin,
        budget=ledger.capacity,
        ledger=ledger,
        epsilon=epsilon,
        max_rows=max_rows,
    )


@pytest.mark.parametrize("accountant", [GDPAccountant(), PureAccountant()])
@pytest.mark.parametrize("n_rows", [1000, 5000, 100_000])
def test_a_look_costs_less_where_rows_are_many(accountant, n_rows):
    y = np.random.default_rng(0).normal(size=n_rows)
    ledger = open_ledger(accountant)
    found = learned(y, (-100.0, 100.0), ledger)
    assert found.looked
    assert found.bounds[0] < -2
    assert found.bounds[1] > 2
    assert found.spread < 20
    pure = accountant.name == "pure"
    share = (150 if pure else 50) / n_rows
    expected = min(0.15 if pure else 0.2, max(0.02 if pure else 0.01, share))
    parts = [entry.charge.cost / ledger.capacity for entry in ledger.entries]
    assert parts[0] == COUNT_SHARE["l1" if pure else "l2"]
    assert parts[1] == pytest.approx(expected / 3, rel=0.2)
    assert parts[2] == pytest.approx(2 * expected / 3, rel=0.2)


@pytest.mark.parametrize(("in_a_cell", "shown"), [(12.0, False), (15.0, True)])
def test_cells_are_merged_to_four_and_no_fewer(in_a_cell, shown):
    """Noise of 10: rows of eight cells are seen in four from 14.2 in each, in two from 10."""
    counts = _Counts(
        edges=np.linspace(0.0, 8.0, 9),
        released=np.full(8, in_a_cell),
        noise_stddev=10.0,
        threshold=1000.0,
    )
    low, high = counts.seen(NoisyCount(rows=8 * in_a_cell, noise_stddev=1.0))
    assert (0 < low < high < 8) is shown
    assert ((low, high) == (0, 8)) is not shown


def test_few_rows_are_only_counted():
    ledger = open_ledger(GDPAccountant())
    assert learned(np.zeros(30), (-1.0, 1.0), ledger).bounds == (-1.0, 1.0)
    assert len(ledger.entries) == 1
    ledger = open_ledger(GDPAccountant())
    assert not learned(np.zeros(9000), (-1.0, 1.0), ledger, epsilon=0.01).looked
    ledger = open_ledger(GDPAccountant())
    assert not learned(np.zeros(9000), (-1.0, 1.0), ledger, max_rows=100).looked


def test_labels_with_tails_are_clipped_to_what_is_seen():
    y = np.random.default_rng(0).exponential(1, 50_000)
    y[:400] = 300.0
    ledger = open_ledger(GDPAccountant(), epsilon=Fraction(4))
    found = learned(y, (0.0, 100_000.0), ledger, epsilon=4.0)
    assert found.looked
    assert found.spread is None
    assert found.bounds[0] == 0.0
    assert 300 < found.bounds[1] < 1000
    # Without the tail, the range of nearly all.
    ledger = open_ledger(GDPAccountant(), epsilon=Fraction(4))
    assert learned(y[400:], (0.0, 100_000.0), ledger, epsilon=4.0).spread < 20


def test_labels_with_a_tail_on_one_side_keep_their_margin_on_the_other():
    y = 50 + np.random.default_rng(0).exponential(150, 50_000)
    y[:400] = 20_000.0
    found = learned(
        y, (-10_000.0, 100_000.0), open_ledger(GDPAccountant(), Fraction(4)), epsilon=4.0
    )
    assert found.spread is None
    assert -2000 < found.bounds[0] < -100
    assert found.bounds[1] > 20_000


def test_bounds_that_labels_fill_stay_as_they_are():
    y = np.random.default_rng(0).uniform(-1, 1, 20_000)
    found = learned(y, (-1.0, 1.0), open_ledger(GDPAccountant()))
    assert found.looked
    assert found.bounds == (-1.0, 1.0)
    assert found.spread is None


def test_equal_bounds_cost_nothing():
    ledger = open_ledger(GDPAccountant())
    assert learned(np.ones(9000), (1.0, 1.0), ledger).bounds == (1.0, 1.0)
    assert not ledger.entries


@pytest.mark.parametrize("margin", [0.25, 1.0])
def test_the_range_goes_beyond_what_was_found_and_not_beyond_the_bounds(margin):
    y = np.random.default_rng(0).uniform(1, 2, 20_000)
    ledger = open_ledger(GDPAccountant(), math.inf)
    low, high = learned(y, (0.9, 100.0), ledger, margin=margin, epsilon=math.inf).bounds
    assert low == pytest.approx(max(0.9, 1 - margin), abs=0.05)
    assert high == pytest.approx(2 + margin, abs=0.05)


X = np.random.default_rng(0).normal(size=(12_000, 3))
Y = 3 * X[:, 0] + X[:, 1] + 0.3 * np.random.default_rng(1).normal(size=12_000)


@pytest.mark.parametrize(
    ("offset", "bounds"), [(0.0, (-1200.0, 1200.0)), (1e6, (0.0, 3e6)), (-50.0, (-800.0, 100.0))]
)
def test_label_bounds_far_too_wide_do_no_harm(offset, bounds):
    known = {"bounds": dict.fromkeys(range(3), (-4, 4))}
    errors = []
    for label_bounds in ((offset - 12, offset + 12), bounds):
        squares = []
        for seed in range(3):
            model = DPBoostRegressor(
                epsilon=1.0,
                delta=1e-5,
                schema=known | {"label_bounds": label_bounds},
                noise_seed=seed,
                random_state=seed,
                n_jobs=1,
            ).fit(X[:6000], Y[:6000] + offset)
            squares.append(np.mean((model.predict(X[6000:]) - offset - Y[6000:]) ** 2))
        errors.append(np.sqrt(np.mean(squares)))
    assert errors[1] < 1.2 * errors[0] < 0.5 * Y.std()


def test_clip_and_prior_follow_the_spread():
    loss = SquaredLoss.from_label_bounds(0.0, 10.0)
    assert loss.spread is None
    known = {"bounds": dict.fromkeys(range(3), (-4, 4)), "label_bounds": (-1200, 1200)}
    model = DPBoostRegressor(epsilon=1.0, delta=1e-5, schema=known, noise_seed=0, n_jobs=1)
    model.fit(X[:6000], Y[:6000])
    low, high = model.schema_.label_bounds
    assert high - low < 60
    facts = model.privacy_report_.facts
    # Half of a range that goes one spread beyond the points at either end is 1.5 spreads.
    assert facts["gradient_clip"] == pytest.approx(0.14 / 1.5, rel=0.01)
    assert facts["step_prior"] == pytest.approx(0.045 / 1.5, rel=0.01)
    assert facts["learned"] == "range of labels inside their bounds"
