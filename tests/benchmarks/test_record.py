"""Records say by which code they were made, and show when it is another today."""

from __future__ import annotations

import shutil
from functools import partial

import pytest

pytest.importorskip("pandas")

from benchmarks.harness import record  # noqa: E402
from benchmarks.harness.results import Result, Results, to_text  # noqa: E402
from benchmarks.harness.run import RESULTS  # noqa: E402
from benchmarks.registry import runs  # noqa: E402

NAME = "friedman-schuster"


def stored(folder, **facts):
    row = Result(measure="m", value=0.0)
    (folder / f"{NAME}.csv").write_text(to_text(Results(facts=facts, rows=[row])))


def test_a_record_of_other_code_is_marked(tmp_path):
    assert record.state_of(NAME, tmp_path) == ""
    stored(tmp_path, run=NAME)
    assert record.state_of(NAME, tmp_path) == record.UNKNOWN
    stored(tmp_path, code=record.code_of(runs()[NAME].planned_by))
    assert record.state_of(NAME, tmp_path) == record.CURRENT
    stored(tmp_path, code="0" * 16)
    assert record.state_of(NAME, tmp_path) == record.STALE


def test_only_what_makes_numbers_tells_code_from_code():
    one = 'def f(x):\n    """Return it."""\n    return x  # as it is\n'
    assert record.syntax(one) == record.syntax("def f(x):\n    return x\n")
    assert record.syntax(one) != record.syntax("def f(x):\n    return -x\n")


def test_the_code_of_a_run_is_that_of_its_own_experiment():
    found = {record.code_of(runs()[name].planned_by) for name in (NAME, "figure2", "lpdt-table2")}
    assert len(found) == 3
    assert record.code_of(partial(runs()[NAME].planned_by, 1)) in found
    same = {record.code_of(runs()[name].planned_by) for name in ("dp-topdown", "federated-topdown")}
    assert len(same) == 1


@pytest.mark.parametrize("folder", sorted(record._RECIPES))
def test_an_experiment_rests_on_the_models_of_its_recipes(folder, tmp_path, monkeypatch):
    own = record.ROOT / "benchmarks" / "reproductions" / folder
    texts = tmp_path / "texts"
    shutil.copytree(record._TEXTS, texts)
    monkeypatch.setattr(record, "_TEXTS", texts)
    found = {record._digest.__wrapped__(own)}
    assert found == {record._digest(own)}
    patterns = record._RECIPES[folder]
    for pattern in patterns:
        (text, *_) = sorted(texts.glob(f"{pattern}.txt"))
        text.write_text("another model")
        found.add(record._digest.__wrapped__(own))
    assert len(found) == 1 + len(patterns)
    (texts / "objective-fair.txt").write_text("a model of no paper")
    assert record._digest.__wrapped__(own) in found


def test_more_fits_are_no_other_code_and_another_fit_is(tmp_path, monkeypatch):
    own = tmp_path / "benchmarks" / "reproductions" / "dpboost"
    shutil.copytree(record.ROOT / own.relative_to(tmp_path), own)
    monkeypatch.setattr(record, "ROOT", tmp_path)
    before = record._digest.__wrapped__(own)
    (own / record._REPEATS).write_text("FIGURE_2 = 1000")
    assert record._digest.__wrapped__(own) == before
    found = {before}
    for name in ("methods.py", "plan.py", "runs.py"):
        (own / name).write_text("TREES = 1000")
        found.add(record._digest.__wrapped__(own))
    assert len(found) == 4


def test_every_stored_record_has_a_state():
    states = {record.state_of(path.stem, RESULTS) for path in RESULTS.glob("*.csv")}
    assert states <= {record.CURRENT, record.STALE, record.UNKNOWN}


def test_a_record_says_commit_and_time():
    words = record.commit().split()
    assert words == ["unknown"] or len(words[0]) == 12
    before = record.cpu_seconds()
    assert sum(range(2_000_000)) > 0
    assert record.cpu_seconds() >= before
