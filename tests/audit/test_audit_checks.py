"""The checks of an audit that are no replays: silent on the library, not on planted mistakes."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from dpboost import DPBoostRegressor
from dpboost.audit import estimator_fit, pair_of, replay_pair
from dpboost.audit.claims import false_claims, unfounded_claims
from dpboost.audit.local_audit import local_reports
from dpboost.audit.refusals import telling_refusals
from dpboost.audit.released_surface import side_effects
from dpboost.audit.sampler_laws import sampler_laws
from dpboost.privacy.sensitivity.bound import Neighbors


@pytest.mark.parametrize("check", [sampler_laws, local_reports, telling_refusals, unfounded_claims])
def test_the_library_gives_no_cause(check):
    assert check() == []


def a_report(**changes):
    """A fitted estimator of epsilon 1 and delta 1e-5, as far as its claims go."""
    told = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "neighbors": "add_remove",
        "private": True,
        "rows_per_user": None,
        "privacy_measure": "mu squared",
        "spent": 0.05,
        "epsilon_spent": 1.0,
        "delta_spent": 1e-5,
    }
    report = SimpleNamespace(**told | changes)
    return SimpleNamespace(
        epsilon=1.0, delta=1e-5, neighbors="add_remove", noise_seed=None, privacy_report_=report
    )


def test_a_right_report_makes_no_false_claim():
    assert false_claims(a_report()) == []
    pure = {"privacy_measure": "epsilon", "spent": 1.0}
    assert false_claims(a_report(**pure)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 1.3},
        {"delta": 1e-4},
        {"neighbors": "replace"},
        {"epsilon_spent": 0.5},
        {"spent": 0.1},
        {"rows_per_user": 2},
        {"privacy_measure": "epsilon", "spent": 1.1},
        {"privacy_measure": "rho", "spent": 0.05},
    ],
    ids=str,
)
def test_a_wrong_report_makes_false_claims(wrong):
    assert len(false_claims(a_report(**wrong))) >= 1


def test_noise_that_anybody_can_draw_is_not_private():
    seeded = a_report()
    seeded.noise_seed = 3
    assert "private" in false_claims(seeded)[0]
    infinite = a_report(epsilon=math.inf, epsilon_spent=math.inf)
    infinite.epsilon = math.inf
    assert false_claims(infinite) != []


def test_side_effects_are_told(tmp_path):
    with side_effects() as found:
        (tmp_path / "cache").write_text("rows")
        (tmp_path / "cache").read_text()
        np.random.random(3)  # noqa: NPY002
        random.random()
    assert len(found) == 3
    assert "for writing" in found[0]
    with side_effects() as found:
        sum(range(9))
    assert found == []


def test_a_fit_with_side_effects_is_found(tmp_path):
    class Careless:
        def fit(self, X, y):
            (tmp_path / "bins").write_bytes(b"")
            schema = {"bounds": {0: (0, 1)}, "label_bounds": (-1, 1)}
            return DPBoostRegressor(schema=schema, n_estimators=1, n_jobs=1, random_state=0).fit(
                X, y
            )

    pair = pair_of(np.zeros((5, 1)), np.zeros(5), np.zeros(1), 1.0, Neighbors.ADD_REMOVE)
    audit = replay_pair(estimator_fit(Careless), pair)
    checks = [violation.check for violation in audit.violations]
    assert checks == ["side effect"] * 2
    # The releases are weighed all the same.
    assert audit.entries != ()


def test_a_bug_in_a_device_is_found():
    from dpboost.local import frequency_oracles

    original = frequency_oracles.share_above
    with mock.patch.object(frequency_oracles, "share_above", lambda odds: original(odds * 3 / 2)):
        found = local_reports()
    assert {violation.check for violation in found} == {"local report"}
