"""The cost of a transcript is measured and written."""

import sys

from benchmarks import transcript_cost
from dpboost import DPBoostRegressor


def test_it_is_measured_and_written(monkeypatch, tmp_path, capsys):
    X, y = transcript_cost.table(200)
    schema = {**transcript_cost.SCHEMA, "label_bounds": (-1, 3)}

    def make():
        return DPBoostRegressor(n_estimators=2, schema=schema, verbosity=-1)

    monkeypatch.setattr(transcript_cost, "cases", lambda: {"a fit": (make, X, y)})
    monkeypatch.setattr(sys, "argv", ["x", "--pairs", "2", "--folder", str(tmp_path)])
    transcript_cost.main()
    written = (tmp_path / "transcript-cost.md").read_text()
    assert "| a fit | " in written
    assert written.strip() == capsys.readouterr().out.strip()
