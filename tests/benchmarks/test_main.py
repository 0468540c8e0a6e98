from __future__ import annotations

import dataclasses
import sys

import pytest

from benchmarks.__main__ import main, run_and_write
from benchmarks.catalogue import EXPERIMENTS
from benchmarks.problems import PROBLEMS
from benchmarks.rows import from_text


def test_list_names_everything(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    for name in [*PROBLEMS, *EXPERIMENTS]:
        assert name in shown


def test_a_finished_run_leaves_two_files_and_is_measured_anew(experiment, bench, library, tmp_path):
    page = run_and_write(experiment, tmp_path / "out", bench, fresh=False)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"trial.csv", "trial.md"}
    assert (tmp_path / "out" / "trial.md").read_text(encoding="utf-8") == page
    assert len(from_text((tmp_path / "out" / "trial.csv").read_text())) == 6
    run_and_write(experiment, tmp_path / "out", bench, fresh=False)
    assert len(library.calls) == 12


def test_a_stopped_run_leaves_the_last_result_alone(experiment, bench, library, tmp_path):
    run_and_write(experiment, tmp_path, bench, fresh=False)
    before = (tmp_path / "trial.csv").read_text()
    library.fail_at = 8
    with pytest.raises(RuntimeError):
        run_and_write(experiment, tmp_path, bench, fresh=False)
    assert (tmp_path / "trial.csv").read_text() == before
    assert len(from_text((tmp_path / "trial.partial.csv").read_text())) == 2
    library.fail_at = None
    library.calls.clear()
    run_and_write(experiment, tmp_path, bench, fresh=True)
    assert len(library.calls) == 6


def test_without_pandas_the_command_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert main(["run", "smoke", "--quick"]) == 1
    assert "dpboost[benchmarks]" in capsys.readouterr().err


def test_without_data_the_command_fails_with_one_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DPBOOST_DATA", str(tmp_path))
    assert main(["run", "smoke", "--output", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "DPBOOST_DATA" in error
    assert list(tmp_path.iterdir()) == []


def test_a_run_with_a_figure_writes_it(experiment, bench, tmp_path):
    pytest.importorskip("matplotlib")
    drawn = dataclasses.replace(experiment, figure=True)
    page = run_and_write(drawn, tmp_path, bench, fresh=False)
    assert "](trial.png)" in page
    image = (tmp_path / "trial.png").read_bytes()
    assert image.startswith(b"\x89PNG")
    assert len(image) < 200_000
