from __future__ import annotations

import sys

import pytest

pytest.importorskip("pandas")

from benchmarks import __main__ as command_line
from benchmarks.__main__ import main
from benchmarks.errors import BenchmarkError
from benchmarks.harness.results import Result
from benchmarks.harness.run import Plan, Request, Run, Unit
from benchmarks.problems import PROBLEMS
from benchmarks.registry import runs
from benchmarks.reproductions.inventory import ITEMS


def test_list_names_everything(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out.splitlines()
    for name in [*PROBLEMS, *runs()]:
        assert any(line.split()[:1] == [name] for line in shown)
    for item in ITEMS:
        assert sum(f"{item.paper}, {item.name} (" in line for line in shown) == 1


def test_runs_have_names_of_their_own():
    for name, run in runs().items():
        assert run.name == name
        assert run.description.endswith(".")


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


def test_an_unknown_run_is_refused(capsys):
    assert main(["run", "nonsense"]) == 1
    assert "python -m benchmarks list" in capsys.readouterr().err


@pytest.fixture
def trial(monkeypatch):
    asked = []

    def plan(request):
        asked.append(request)
        rows = [Result(measure="m", value=1.0, method="a", x="1")]
        return Plan(units=[Unit(name="u", settings="", measure=lambda: rows)])

    run = Run(
        name="trial",
        description="A trial.",
        plan=plan,
        body=lambda results: [f"{len(results.rows)} results"],
        draw=lambda results: b"an image",
    )
    monkeypatch.setattr(command_line, "runs", lambda: {"trial": run})
    return asked


def test_options_are_handed_on_and_files_written(trial, tmp_path, capsys):
    folder = ["--output", str(tmp_path)]
    options = ["--quick", "--repeats", "2", "--n-jobs", "3", "--problem", "adult"]
    assert main(["run", "trial", *options, *folder]) == 0
    assert trial == [Request(quick=True, repeats=2, n_jobs=3, problem="adult")]
    page = (tmp_path / "trial-quick.md").read_text()
    assert capsys.readouterr().out == f"{page}\n"
    assert f"`python -m benchmarks run trial {' '.join(options)}`" in page
    (tmp_path / "trial-quick.md").unlink()
    (tmp_path / "trial-quick.png").unlink()
    assert main(["pages", *folder]) == 0
    assert (tmp_path / "trial-quick.md").read_text() == page
    assert not (tmp_path / "trial-quick.png").exists()
    assert main(["pages", "--figures", *folder]) == 0
    assert (tmp_path / "trial-quick.png").read_bytes() == b"an image"


def test_what_cannot_be_run_says_so(monkeypatch, capsys):
    def refuse():
        raise BenchmarkError("Not here.")

    monkeypatch.setattr(command_line, "runs", refuse)
    assert main(["run", "trial"]) == 1
    assert capsys.readouterr().err == "Not here.\n"
