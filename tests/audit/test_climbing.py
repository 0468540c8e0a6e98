"""Hill climbing stays within the charge, gets near it, and finds a planted bug."""

from __future__ import annotations

import pytest

from dpboost import DPBoostRegressor
from dpboost.audit import climb, estimator_fit
from dpboost.audit.hill_climbing import largest_part
from dpboost.privacy.neighbours import Neighbours
from tests.audit.mutations import MUTATIONS

SCHEMA = {"bounds": dict.fromkeys(range(3), (0, 1)), "label_bounds": (-1, 1)}


def fit_of(neighbours):
    return estimator_fit(
        lambda: DPBoostRegressor(
            recipe="dpboost",
            # Its own regularisation keeps leaves inside of their clip.
            preset="paper",
            schema=SCHEMA,
            neighbours=neighbours.value,
            n_estimators=1,
            max_depth=1,
            max_bin=2,
            n_jobs=1,
            verbosity=0,
        )
    )


def climbed(label, neighbours, n_steps=120, seed=6):
    return climb(
        fit_of(neighbours),
        n_rows=12,
        n_features=3,
        neighbours=neighbours,
        goal=largest_part(label),
        n_steps=n_steps,
        seed=seed,
    )


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    ("label", "seed", "least"), [("leaf values", 6, 0.8), ("split choice", 5, 0.3)]
)
def test_no_climb_leads_above_the_charge(neighbours, label, seed, least):
    found = climbed(label, neighbours, seed=seed)
    assert found.audit.violations == ()
    assert list(found.heights) == sorted(found.heights)
    assert found.heights[-1] > found.heights[0]
    assert least <= found.heights[-1] <= 1 + 1e-9


def test_a_climb_finds_what_its_random_start_does_not_show(monkeypatch):
    (mutation,) = [m for m in MUTATIONS if m.name == "half the noise on leaves"]
    for patch in mutation.patches():
        monkeypatch.setattr(*patch)
    found = climbed("leaf values", Neighbours.ADD_REMOVE)
    assert found.heights[0] < 1
    assert {violation.check for violation in found.audit.violations} >= {"entry cost"}
