"""The bar shows trees and budget only: times depend on the rows."""

import io
import re
import time
from contextlib import redirect_stderr

import pytest

from dpboost._utils import progress

TREE_NUMBERS = re.compile(
    r"\s*dpboost: \d+ of 5 trees(, (20|40|60|80|100) % of the budget)? \|[^|]*\|\s*"
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(*, show=True, pause=0.0, stream=None):
    """What a run of five trees writes to a terminal."""
    stream = stream or Terminal()
    # Not a fixture: pytest puts its own stream back between the setup and the call of a test.
    done = []
    bar = progress.tree_progress(5, show=show, spent=lambda: len(done) / 5)
    with redirect_stderr(stream), bar as on_tree:
        for each in range(5):
            time.sleep(pause)
            done.append(each)
            assert on_tree() is None
    return stream.getvalue()


@pytest.fixture
def no_delay(monkeypatch):
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)


def test_a_bar_shows_trees_and_budget_and_nothing_else(no_delay):
    frames = [frame for frame in shown(pause=0.11).split("\r") if frame.strip()]
    assert len(frames) >= 3
    for frame in frames:
        assert TREE_NUMBERS.fullmatch(frame), frame
    numbers = [int(frame.split()[1]) for frame in frames]
    assert numbers == sorted(numbers)
    for number, frame in zip(numbers[1:], frames[1:], strict=True):
        assert f"{20 * number} % of the budget" in frame
    assert numbers[0] == 0
    assert numbers[-1] >= 3


def test_a_late_bar_is_the_same(monkeypatch):
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.2)
    frames = [frame for frame in shown(pause=0.11).split("\r") if frame.strip()]
    assert frames
    assert all(TREE_NUMBERS.fullmatch(frame) for frame in frames)
    assert not any(frame.startswith("dpboost: 0 ") for frame in frames)


def test_short_fits_show_nothing():
    assert progress.DELAY_SECONDS >= 1
    assert "trees" not in shown()


def test_silence_on_demand_and_away_from_terminals(no_delay):
    assert shown(show=False) == ""
    assert shown(stream=io.StringIO()) == ""
    assert "trees" in shown()
