"""A folder in the manner of LightGBM's tests, and what is made of each of its tests."""

from __future__ import annotations

import csv
import json
import re

import pytest

from benchmarks.__main__ import main
from benchmarks.errors import BenchmarkError
from benchmarks.lightgbm_suite import command
from benchmarks.lightgbm_suite.copies import changed
from benchmarks.lightgbm_suite.runs import Outcome, run_copy
from benchmarks.lightgbm_suite.sorting import Reason, read_reasons, sort

FILES = {
    "__init__.py": "",
    "utils.py": """
import numpy as np

def table():
    X = np.arange(400, dtype=float).reshape(200, 2) % 17
    return X, X[:, 0]
""",
    "test_engine.py": """
from pathlib import Path

import numpy as np
import pytest

import lightgbm as lgb
from lightgbm.basic import LightGBMError

from .utils import table

FEW = {"num_iterations": 3, "verbosity": -1}


def test_fine():
    X, y = table()
    model = lgb.train(FEW, lgb.Dataset(X, y))
    assert model.num_trees() == 3
    assert "dpboost" in lgb.__name__ or "lightgbm" in lgb.__name__


def test_reads_the_examples():
    path = Path(__file__).absolute().parents[2] / "examples" / "numbers" / "one.txt"
    assert path.read_text() == "1"


def test_ranking():
    X, y = table()
    lgb.train({**FEW, "objective": "lambdarank"}, lgb.Dataset(X, y, group=[100, 100]))


def test_refused_in_other_words():
    X, y = table()
    rows = lgb.Dataset(X, y).construct()
    with pytest.raises(LightGBMError, match="Sum of query counts"):
        rows.set_group([1])


def test_twice_the_same():
    X, y = table()
    first, second = (lgb.train(FEW, lgb.Dataset(X, y)).predict(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_on_purpose():
    X, y = table()
    counts = lgb.Dataset(X, y).construct().num_data() * [1]
    assert lgb.__name__ == "lightgbm", "another name"


@pytest.mark.parametrize("name", ["a", "b"])
def test_nobody_knows_why(name):
    assert name == "a" or lgb.__name__ == "lightgbm"


def test_wrong_in_both():
    assert False


def test_left_out():
    pytest.skip("for reasons of its own")
""",
    "test_abort.py": """
import os

import lightgbm


def test_before():
    pass


def test_ends_the_process():
    if lightgbm.__name__ == "dpboost":
        os._exit(3)


def test_after():
    pass


def test_takes_too_long():
    while lightgbm.__name__ == "dpboost":
        pass
""",
    "test_import.py": "from lightgbm.basic import no_such_name_there\n",
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    root = tmp_path_factory.mktemp("LightGBM")
    folder = root / "tests" / "python_package_test"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (root / "examples" / "numbers").mkdir(parents=True)
    (root / "examples" / "numbers" / "one.txt").write_text("1")
    return folder


@pytest.fixture(scope="module")
def written(suite, tmp_path_factory):
    """The page and the table of a run over the folder."""
    output = tmp_path_factory.mktemp("results")
    reasons = [
        Reason(
            test=re.compile("::test_on_purpose$"),
            error=re.compile("^AssertionError: another name"),
            kind="differs by design",
            reason="a module has its own name",
        )
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "read_reasons", lambda: reasons)
        assert main(["lightgbm-suite", str(suite), "--output", str(output), "--seconds", "15"]) == 0
    page = (output / "lightgbm-suite.md").read_text(encoding="utf-8")
    with (output / "lightgbm-suite.csv").open(newline="", encoding="utf-8") as file:
        return page, {row["test"]: row for row in csv.DictReader(file)}


EXPECTED = {
    "test_engine.py::test_fine": "passes",
    "test_engine.py::test_reads_the_examples": "passes",
    "test_engine.py::test_ranking": "refused by design",
    "test_engine.py::test_refused_in_other_words": "refused by design",
    "test_engine.py::test_twice_the_same": "differs by noise",
    "test_engine.py::test_on_purpose": "differs by design",
    "test_engine.py::test_nobody_knows_why[a]": "passes",
    "test_engine.py::test_nobody_knows_why[b]": "wrong",
    "test_engine.py::test_wrong_in_both": "fails in LightGBM too",
    "test_engine.py::test_left_out": "skipped",
    "test_abort.py::test_before": "passes",
    "test_abort.py::test_ends_the_process": "wrong",
    "test_abort.py::test_after": "passes",
    "test_abort.py::test_takes_too_long": "wrong",
    "test_import.py": "fails in LightGBM too",
}


def test_every_test_is_sorted(written):
    _, rows = written
    assert {test: row["verdict"] for test, row in rows.items()} == EXPECTED


def test_verdicts_say_why(written):
    _, rows = written
    reason = {test.split("::")[-1]: row["reason"] for test, row in rows.items()}
    assert reason["test_on_purpose"] == "a module has its own name"
    assert reason["test_ends_the_process"] == "the process ended"
    assert "longer than 15" in reason["test_takes_too_long"]
    assert "group" in reason["test_ranking"]
    assert reason["test_nobody_knows_why[b]"].startswith("AssertionError")


def test_the_page_counts_and_lists_what_is_wrong(written):
    page, rows = written
    assert "| test_engine.py | 3 | 2 | 1 | 1 | 1 | 1 | 1 |" in page
    wrong = [test for test, row in rows.items() if row["verdict"] == "wrong"]
    assert all(f"* `{test}`: " in page.split("## wrong")[1] for test in wrong)


def test_a_folder_without_tests_is_an_error(tmp_path, capsys):
    assert main(["lightgbm-suite", str(tmp_path), "--output", str(tmp_path)]) == 1
    assert "no files test_*.py" in capsys.readouterr().err


def test_a_file_that_never_begins_is_no_success(tmp_path):
    (tmp_path / "conftest.py").write_text("raise ValueError('nothing begins')\n")
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    found = run_copy(tmp_path, scratch=tmp_path)
    assert found["test_it.py"].outcome == "failed"
    assert "nothing begins" in found["test_it.py"].errors[0][1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("import lightgbm as lgb", "import dpboost as lgb"),
        ("    import lightgbm as lgb  # noqa", "    import dpboost as lgb  # noqa"),
        ("import lightgbm", "import dpboost as lightgbm"),
        ("import lightgbm.dask as ld", "import dpboost.dask as ld"),
        ("from lightgbm import LGBMModel", "from dpboost import LGBMModel"),
        ("from lightgbm.compat import (", "from dpboost.compat import ("),
        ("import lightgbm_tools", "import lightgbm_tools"),
        ("from lightgbm_tools import x", "from lightgbm_tools import x"),
        ('message = "import lightgbm as lgb"', 'message = "import lightgbm as lgb"'),
        ('lgb = pytest.importorskip("lightgbm")', 'lgb = pytest.importorskip("dpboost")'),
    ],
)
def test_imports_are_changed_and_nothing_else(line, expected):
    assert changed(f"x = 1\n{line}\n") == f"x = 1\n{expected}\n"


def test_a_reason_needs_a_kind_a_text_and_a_test(tmp_path):
    good = {"test": "a", "error": "", "kind": "differs by design", "reason": "because"}
    path = tmp_path / "reasons.json"
    path.write_text(json.dumps([good]))
    assert len(read_reasons(path)) == 1
    for changes in ({"kind": "passes"}, {"reason": ""}, {"test": ""}):
        path.write_text(json.dumps([good | changes]))
        with pytest.raises(BenchmarkError, match="says too little"):
            read_reasons(path)


def test_the_list_can_be_read_and_forgives_nothing_at_large():
    reasons = read_reasons()
    nothing = Outcome(outcome="failed", errors=((("builtins.AssertionError",), "x"),))
    assert not any(reason.fits("test_new.py::test_new", nothing) for reason in reasons)


SCORE = "assert np.float64(0.37) < 0.25"
FORGIVEN = [
    ("test_engine.py::test_binary", "AssertionError", SCORE),
    ("test_sklearn.py::test_stacking_classifier", "AssertionError", "assert 0.61 >= 0.8"),
    ("test_basic.py::test_x", "AssertionError", "assert 30 == 1\n +  where 30 = a.num_trees()"),
    ("test_dask.py::test_machines_should_be_used", "Failed", "DID NOT RAISE <class 'Error'>"),
    ("test_engine.py::test_cv_works", "AssertionError", "assert 1 == 10\n +  where 1 = len([2])"),
]
WRONG = [
    # Another test with a number in it, and a number of another kind.
    ("test_basic.py::test_round_trip", "AssertionError", SCORE),
    ("test_engine.py::test_binary", "AssertionError", "assert 37 < 25"),
    ("test_engine.py::test_binary", "AssertionError", "assert [0.37] < 0.25"),
    ("test_basic.py::test_x", "AssertionError", "assert 30 == 1\n +  where 30 = len(a)"),
    ("test_sklearn.py::test_positional", "TypeError", "unsupported operand"),
    ("test_sklearn.py::test_same_kwargs", "AssertionError", "assert False"),
    ("test_dask.py::test_classifier", "Failed", "DID NOT RAISE <class 'Error'>"),
    ("test_dask.py::test_training", "KeyError", "'machines'"),
    ("test_engine.py::test_cv_works", "AssertionError", "assert 1 == 10\n +  where 1 = a.b"),
    ("test_engine.py::test_multiclass", "Failed", "DID NOT RAISE <class 'Error'>"),
]


@pytest.mark.parametrize(("test", "kind", "message"), FORGIVEN)
def test_reasons_fit_what_they_speak_of(test, kind, message):
    outcome = Outcome(outcome="failed", errors=(((f"builtins.{kind}",), message),))
    assert any(reason.fits(test, outcome) for reason in read_reasons())


@pytest.mark.parametrize(("test", "kind", "message"), WRONG)
def test_reasons_fit_nothing_else(test, kind, message):
    outcome = Outcome(outcome="failed", errors=(((f"builtins.{kind}",), message),))
    assert not any(reason.fits(test, outcome) for reason in read_reasons())


def test_a_reason_for_any_test_is_about_an_error_of_ours_or_one_attribute():
    for reason in read_reasons():
        if not reason.test.pattern:
            assert reason.error.pattern.startswith(("^InvalidParameterError: ", "^AssertionError"))
            assert "num_trees" in reason.error.pattern or "Invalid" in reason.error.pattern


def test_a_file_that_needs_another_package_is_left_out():
    message = "E   ModuleNotFoundError: No module named 'a_package'"
    failed = Outcome(outcome="failed", errors=((("collection",), message),))
    assert sort({"t": failed}, {}, {}, ())["t"] == ("skipped", "needs a_package")
    ours = Outcome(outcome="failed", errors=((("collection",), "No module named 'dpboost.x'"),))
    assert sort({"t": ours}, {}, {}, ())["t"].kind == "wrong"


def test_a_failure_that_is_not_on_the_list_is_wrong():
    failed = Outcome(outcome="failed", errors=((("builtins.KeyError",), "x"),))
    verdicts = sort({"t": failed}, {"t": failed}, {"t": Outcome(outcome="passed")}, ())
    assert verdicts["t"] == ("wrong", "KeyError: x")
