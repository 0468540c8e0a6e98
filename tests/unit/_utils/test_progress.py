"""The line of a long fit: on a terminal with the time left, wiped at the end; no times in files."""

import io
import re
import sys
import time
from contextlib import redirect_stderr
from types import SimpleNamespace

import pytest

from dpboost._utils import progress

LINE = re.compile(
    r"\s*dpboost: \d+ of 5 rounds(, (20|40|60|80|100) % of the budget)?, [0-9:?]+ left "
    r"\|[^|]*\|\s*"
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(*, show=True, pause=0.0, stream=None):
    """What a run of five rounds writes to a terminal."""
    stream = stream or Terminal()
    # Not a fixture: pytest puts its own stream back between the setup and the call of a test.
    done = []
    bar = progress.round_progress(5, show=show, spent=lambda: len(done) / 5)
    with redirect_stderr(stream), bar as on_round:
        for each in range(5):
            time.sleep(pause)
            done.append(each)
            assert on_round() is None
    return stream.getvalue()


@pytest.fixture
def no_delay(monkeypatch):
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(progress, "REDRAW_SECONDS", 0.0)


def test_a_line_shows_rounds_budget_and_the_time_left(no_delay):
    frames = [frame for frame in shown(pause=0.11).split("\r") if frame.strip()]
    assert len(frames) >= 3
    for frame in frames:
        assert LINE.fullmatch(frame), frame
    numbers = [int(frame.split()[1]) for frame in frames]
    assert numbers == sorted(numbers)
    for number, frame in zip(numbers[1:], frames[1:], strict=True):
        assert f"{20 * number} % of the budget" in frame
    assert numbers[0] == 0
    assert numbers[-1] >= 3


def test_the_line_is_wiped_at_the_end(no_delay):
    assert shown(pause=0.11).split("\r")[-2].strip() == ""


def test_a_late_line_is_the_same(monkeypatch):
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.2)
    frames = [frame for frame in shown(pause=0.11).split("\r") if frame.strip()]
    assert frames
    assert all(LINE.fullmatch(frame) for frame in frames)
    assert not any(frame.startswith("dpboost: 0 ") for frame in frames)


def test_short_fits_show_nothing():
    assert progress.DELAY_SECONDS >= 1
    assert "rounds" not in shown()


def test_silence_on_demand_and_away_from_terminals(no_delay):
    # A file is kept: nothing of the time that a fit took may be in it.
    assert shown(show=False) == ""
    assert shown(stream=io.StringIO()) == ""
    assert "rounds" in shown()


def test_a_notebook_gets_a_line_without_times_that_goes_away(no_delay, monkeypatch):
    lines = []

    def display(data, *, raw, display_id=None):
        assert raw
        lines.append(data["text/plain"])
        return SimpleNamespace(update=display)

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    assert shown(pause=0.02, stream=io.StringIO()) == ""
    assert lines[-2] == "dpboost: 5 of 5 rounds, 100 % of the budget"
    assert lines[-1] == ""
    assert not any(re.search(r"left|second|\d:\d", line) for line in lines)
