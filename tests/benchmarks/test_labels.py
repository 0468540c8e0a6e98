import pytest

pytest.importorskip("pandas")

from benchmarks import labels  # noqa: E402
from benchmarks.harness.run import Request, carry_out  # noqa: E402


def test_every_kind_of_label_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(labels, "N_TEST", 50)
    asked = []

    def fitted(value):
        def measure(*arguments):
            asked.append(arguments)
            return value

        return measure

    monkeypatch.setattr(labels, "coverage", fitted(0.87))
    monkeypatch.setattr(labels, "error", fitted((0.5, (-1.0, 1.0))))
    monkeypatch.setattr(labels, "explained", fitted((0.25, 0.75)))
    text = carry_out(labels.LABELS, tmp_path, Request(repeats=2), progress=False)
    assert len(asked) == 2 * (2 * 2 * 2 * 3 + 3 * len(labels.LAWS) + 2 * 2 * 2)
    assert "0.870 (0.870)" in text
    assert "| gamma, normal, 3,000 rows | 0.250 | 0.750 |" in text


@pytest.mark.parametrize("measure", ["coverage", "error", "explained"])
def test_a_small_table_is_measured(measure, monkeypatch):
    monkeypatch.setattr(labels, "N_TEST", 50)
    arguments = {
        "coverage": (300, 0.5, 1.0, 20.0, 0),
        "error": ("line", 300, 8.0, 0),
        "explained": ("gamma", "uniform", 300, 0),
    }
    found = getattr(labels, measure)(*arguments[measure])
    first = found if measure == "coverage" else found[0]
    assert isinstance(first, float)
