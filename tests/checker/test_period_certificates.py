"""Ten quarters on one budget: a certificate for each, which library and checker compute again."""

from __future__ import annotations

import copy
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost import Budget, BudgetExceededError, DPBoostClassifier, replay
from dpboost.budgeting.periods import Overlap, most_paid
from tests.checker.test_check_certificate import agreed, checker

SIXTH = Fraction(1, 6)
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}


def quarter(number):
    rng = np.random.default_rng(number)
    X = rng.uniform(size=(200, 2))
    return X, (X[:, 0] + 0.3 * rng.normal(size=200) > 0.5).astype(int)


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """Each quarter a fit on the last two; somebody may have rows in two quarters."""
    path = tmp_path_factory.mktemp("life") / "ward.budget"
    Budget(epsilon=2, delta=1e-6, periods=2, table="ward").save(path)
    models, certificates = [], []
    for number in range(10):
        budget = Budget.load(path)  # as next quarter's process does
        known = [each for each in (number - 1, number) if each >= 0]
        tables = [quarter(each) for each in known]
        of_rows = np.repeat([f"q{each}" for each in known], 200)
        model = DPBoostClassifier(schema=SCHEMA, n_estimators=4, verbosity=-1, n_jobs=1)
        model.fit(
            np.vstack([X for X, _ in tables]),
            np.concatenate([y for _, y in tables]),
            budget=budget.window(*(f"q{each}" for each in known), of_rows=of_rows),
            fraction=SIXTH,
        )
        models.append(model)
        certificates.append(model.privacy_report_.certificate(budget=budget))
    return Budget.load(path), models, certificates


def test_each_quarter_has_a_certificate_of_the_whole_budget(life):
    budget, models, certificates = life
    assert budget.remaining == {"Gaussian": 0}
    for number, (model, plain) in enumerate(zip(models, certificates, strict=True)):
        refused, trusted = agreed(plain)
        assert refused is None
        assert "anybody's rows in the budget: 2 of 'periods'" in trusted
        assert plain["claim"]["epsilon"] == 2
        assert len(plain["accounting"]["budget"]["lines"]) == number + 1
        assert agreed(model.privacy_report_.certificate())[0] is None
        again = replay(model.transcript_)
        assert again.booster_.model_to_string() == model.booster_.model_to_string()
    assert budget.forecast(fraction=SIXTH, window=2).n_fits == math.inf
    assert budget.forecast(fraction=Fraction(1, 5), window=2).n_fits == 0
    with pytest.raises(BudgetExceededError):
        budget.reserve("one more", "mu squared", SIXTH, (("periods", "q8"),))


def changes():
    """Yield what would make the lines cost more than the whole, by name."""

    def more_overlap(budget):
        budget["periods"]["most"] = 3

    def nobody_said(budget):
        del budget["periods"]

    def one_more(budget):
        new = copy.deepcopy(budget["lines"][-1]) | {"own": False}
        budget["lines"].append(new)

    def for_everybody(budget):
        new = copy.deepcopy(budget["lines"][-1]) | {"own": False, "part": []}
        budget["lines"].append(new)

    return {each.__name__: each for each in (more_overlap, nobody_said, one_more, for_everybody)}


@pytest.mark.parametrize("name", changes())
def test_lines_that_cost_somebody_more_are_refused(life, name):
    plain = copy.deepcopy(life[2][-1])
    changes()[name](plain["accounting"]["budget"])
    assert agreed(plain)[0]


@pytest.mark.parametrize("power", [0, 1, 2])
def test_the_checker_finds_the_largest_sum_of_all_sets(power):
    rng = np.random.default_rng(power)
    for most, _ in itertools.product((1, 2, 3), range(60)):
        sums = {
            frozenset(f"q{each}" for each in rng.choice(7, size=rng.integers(1, 4))): Fraction(
                int(rng.integers(1, 9)), 7
            )
            for _ in range(rng.integers(1, 7))
        }
        parts = [([["periods", each] for each in sorted(own)], sums[own]) for own in sums]
        overlap = Overlap(most=most, of_users=power == 0)
        found = most_paid(sums, overlap, "pure" if power == 1 else "Gaussian")
        assert checker.most_booked(parts, most, power) == found
    with pytest.raises(checker.RefusedError, match="too many"):
        checker.most_booked([([["periods", str(n)]], Fraction(1)) for n in range(90)], 5, 2)
