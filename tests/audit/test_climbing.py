"""Hill climbing stays within the charge, gets near it, and finds a planted bug."""

from __future__ import annotations

import pytest

from dpboost import DPBoostRegressor
from dpboost.audit import climb, estimator_fit
from dpboost.audit.hill_climbing import largest_part
from dpboost.privacy.sensitivity.bound import Neighbors
from tests.audit.mutations import MUTATIONS

SCHEMA = {"bounds": dict.fromkeys(range(3), (0, 1)), "label_bounds": (-1, 1)}


def fit_of(neighbors):
    return estimator_fit(
        lambda: DPBoostRegressor(
            recipe="dpboost",
            # Its own regularization keeps leaves inside of their clip.
            preset="paper",
            schema=SCHEMA,
            neighbors=neighbors.value,
            n_estimators=1,
            max_depth=1,
            max_bin=2,
            n_jobs=1,
            verbosity=0,
        )
    )


def climbed(label, neighbors, n_steps=120, seed=6):
    return climb(
        fit_of(neighbors),
        n_rows=12,
        n_features=3,
        neighbors=neighbors,
        goal=largest_part(label),
        n_steps=n_steps,
        seed=seed,
    )


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize(
    ("label", "seed", "least"), [("leaf values", 6, 0.8), ("split choice", 5, 0.3)]
)
def test_no_climb_leads_above_the_charge(neighbors, label, seed, least):
    found = climbed(label, neighbors, seed=seed)
    assert found.audit.violations == ()
    assert list(found.heights) == sorted(found.heights)
    assert found.heights[-1] > found.heights[0]
    assert least <= found.heights[-1] <= 1 + 1e-9


def test_a_climb_finds_what_its_random_start_does_not_show(monkeypatch):
    (mutation,) = [m for m in MUTATIONS if m.name == "half the noise on leaves"]
    for patch in mutation.patches():
        monkeypatch.setattr(*patch)
    found = climbed("leaf values", Neighbors.ADD_REMOVE)
    assert found.heights[0] < 1
    assert {violation.check for violation in found.audit.violations} >= {"entry cost"}
