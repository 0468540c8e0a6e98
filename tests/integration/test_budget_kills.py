"""A budget in a file, whose process is killed at random moments."""

from __future__ import annotations

import os

import pytest

from benchmarks.budgets.kills import runs

KILLS = 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on Unix alone")
def test_what_was_released_is_never_more_than_what_is_on_disk(tmp_path) -> None:
    after = runs(tmp_path / "budget", KILLS)
    assert len(after) == KILLS
    assert all(0 < released <= booked for released, booked in after)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on Unix alone")
def test_a_line_that_is_written_after_the_draws_would_be_found(tmp_path) -> None:
    after = runs(tmp_path / "budget", KILLS, planted=True)
    assert any(released > booked for released, booked in after)
