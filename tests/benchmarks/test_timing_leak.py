import numpy as np
import pytest

pytest.importorskip("pandas")

from benchmarks import timing_leak  # noqa: E402


def test_everything_is_measured_and_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(timing_leak, "SIZES", (40,))
    monkeypatch.setattr(timing_leak, "MORE", (1.0,))
    monkeypatch.setattr(timing_leak, "MEMORY_ROWS", 50)
    monkeypatch.setattr(timing_leak, "FEW_ROWS", 30)
    assert timing_leak.main(["--folder", str(tmp_path), "--repeats", "2"]) == 0
    text = (tmp_path / "timing-leak.md").read_text()
    assert capsys.readouterr().out == text
    assert text.count("| single tree |") == 4
    assert "| best, delta 1e-5 | contrary |" in text


def test_the_other_table_has_one_row_more():
    X, y = timing_leak.table(30)
    for kind in ("ordinary", "contrary"):
        more, labels = timing_leak.with_row(30, kind)
        assert np.array_equal(more[:30], X)
        assert np.array_equal(labels[:30], y)
        assert len(labels) == len(more) == 31


def test_what_tells_all_and_what_tells_nothing():
    low, high = np.arange(50.0), np.arange(50.0) + 100
    assert timing_leak.advantage(low, high)[0] == 1.0
    assert timing_leak.advantage(high, low)[0] == 0.0
    assert timing_leak.advantage(low, low)[0] == pytest.approx(0.5)
    assert timing_leak.advantage(np.zeros(9), np.zeros(7)) == pytest.approx((0.5, 0.0))
    assert timing_leak.advantage(low, high)[1] > timing_leak.ALARM
    assert "shows" in timing_leak._told(high, low)
    assert "shows" not in timing_leak._told(low, low + 0.1)


def test_measures_are_taken_in_turn():
    seen = []
    one, other = timing_leak.in_turn(
        lambda: seen.append(0) or 0.0, lambda: seen.append(1) or 1.0, 5
    )
    assert one.tolist() == [0.0] * 5
    assert other.tolist() == [1.0] * 5
    assert sorted(seen) == [0] * 6 + [1] * 6
