"""Samplers that leave out what is rare are found, and those of the library leave out nothing."""

from __future__ import annotations

from contextlib import ExitStack
from unittest import mock

import pytest

from dpboost.audit.rare_outcomes import rare_outcomes
from tests.audit.kernel_bugs import cut_noise, cut_run_selection, cut_selection
from tests.audit.positions import found, planted


def test_nothing_is_left_out():
    assert rare_outcomes() == []


BUGS = {
    "selection kernel": cut_selection,
    "selection kernel of runs": cut_run_selection,
    "noise kernel": cut_noise,
}


def positions(violations):
    return {violation.where.partition(",")[0] for violation in violations}


@pytest.mark.parametrize("far", [10, 20, 45])
@pytest.mark.parametrize("position", ["selection kernel", "selection kernel of runs"])
def test_a_selection_that_is_cut_off_is_found(position, far):
    bug = BUGS[position](found(position)[2], far)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(*planted(position, bug)))
        violations = rare_outcomes()
    assert {violation.check for violation in violations} == {"rare outcome"}
    assert "exponential mechanism" in positions(violations)
    assert ("permute-and-flip" in positions(violations)) == (position == "selection kernel")
    # What is drawn is not what the crowd of candidates would give, where it lies beyond the cut.
    crowds = [v for v in violations if "candidates" in v.where]
    assert bool(crowds) == (far < 14 or (far < 20 and position != "selection kernel"))


def test_noise_that_is_cut_off_is_found():
    with mock.patch.object(*planted("noise kernel", cut_noise(found("noise kernel")[2], 20))):
        assert positions(rare_outcomes()) == {"discrete Laplace", "discrete Gaussian"}
