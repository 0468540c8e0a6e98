"""A folder in the manner of LightGBM's tests, and what is made of each of its tests."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.errors import BenchmarkError
from benchmarks.lightgbm_suite import command
from benchmarks.lightgbm_suite.copies import changed
from benchmarks.lightgbm_suite.runs import Outcome, run_copy
from benchmarks.lightgbm_suite.sorting import Difference, digest, read_differences, sort

ROOT = Path(__file__).parents[2]

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


@pytest.mark.parametrize("name", ["one", "two"])
def test_for_a_reason_at_one_line(name):
    if name == "two":
        assert lgb.__name__ == "lightgbm"
    assert lgb.__name__ == "lightgbm", name


def test_a_known_fault():
    assert lgb.__name__ == "lightgbm", "a fault"


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


LINE = 'assert lgb.__name__ == "lightgbm", '
READ = {
    "test_ranking": (
        'lgb.train({**FEW, "objective": "lambdarank"}, lgb.Dataset(X, y, group=[100, 100]))',
        "refused by design",
        "gradients of a ranking mix rows",
    ),
    "test_on_purpose": (LINE + '"another name"', "differs by design", "a module has its own name"),
    "test_for_a_reason_at_one_line[one]": (LINE + "name", "differs by design", "as before"),
    "test_for_a_reason_at_one_line[two]": (LINE + "name", "differs by design", "as before"),
    "test_a_known_fault": (LINE + '"a fault"', "wrong", "to be mended"),
}


@pytest.fixture(scope="module")
def written(suite, tmp_path_factory):
    """The folder of the page and of the tables of a run over the tests."""
    output = tmp_path_factory.mktemp("results")
    known = {
        (f"test_engine.py::{test}", digest(line)): Difference(
            test=f"test_engine.py::{test}", line=digest(line), kind=kind, reason=reason
        )
        for test, (line, kind, reason) in READ.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "read_differences", lambda: known)
        assert main(["lightgbm-suite", str(suite), "--output", str(output), "--seconds", "15"]) == 1
    return output


@pytest.fixture(scope="module")
def rows(written):
    with (written / "lightgbm-suite.csv").open(newline="", encoding="utf-8") as file:
        return {row["test"]: row for row in csv.DictReader(file)}


EXPECTED = {
    "test_engine.py::test_fine": "passes",
    "test_engine.py::test_reads_the_examples": "passes",
    "test_engine.py::test_ranking": "refused by design",
    "test_engine.py::test_refused_in_other_words": "unclassed",
    "test_engine.py::test_twice_the_same": "differs by noise",
    "test_engine.py::test_on_purpose": "differs by design",
    "test_engine.py::test_for_a_reason_at_one_line[one]": "differs by design",
    "test_engine.py::test_for_a_reason_at_one_line[two]": "unclassed",
    "test_engine.py::test_a_known_fault": "wrong",
    "test_engine.py::test_nobody_knows_why[a]": "passes",
    "test_engine.py::test_nobody_knows_why[b]": "unclassed",
    "test_engine.py::test_wrong_in_both": "fails in LightGBM too",
    "test_engine.py::test_left_out": "skipped",
    "test_abort.py::test_before": "passes",
    "test_abort.py::test_ends_the_process": "unclassed",
    "test_abort.py::test_after": "passes",
    "test_abort.py::test_takes_too_long": "unclassed",
    "test_import.py": "fails in LightGBM too",
}


@pytest.mark.nightly
def test_every_test_is_sorted(rows):
    assert {test: row["verdict"] for test, row in rows.items()} == EXPECTED


@pytest.mark.nightly
def test_verdicts_say_why(rows):
    reason = {test.split("::")[-1]: row["reason"] for test, row in rows.items()}
    assert reason["test_on_purpose"] == "a module has its own name"
    assert reason["test_ends_the_process"] == "the process ended"
    assert "longer than 15" in reason["test_takes_too_long"]
    assert reason["test_refused_in_other_words"].startswith("refused: ")
    assert reason["test_nobody_knows_why[b]"].startswith("AssertionError")
    assert rows["test_engine.py::test_on_purpose"]["line"] == LINE + '"another name"'


@pytest.mark.nightly
def test_the_page_counts_and_lists_what_is_wrong_or_unclassed(written, rows):
    page = (written / "lightgbm-suite.md").read_text(encoding="utf-8")
    assert "| test_engine.py | 3 | 1 | 1 | 2 | 1 | 1 | 1 | 3 |" in page
    for kind in ("wrong", "unclassed"):
        faults = [test for test, row in rows.items() if row["verdict"] == kind]
        assert all(f"* `{test}`: " in page.split(f"## {kind}")[1] for test in faults)


@pytest.mark.nightly
def test_what_nobody_has_read_is_an_entry_without_a_class(written, rows, tmp_path):
    path = written / "lightgbm-suite-unclassed.json"
    entries = json.loads(path.read_text(encoding="utf-8"))
    assert {each["test"] for each in entries} == {
        test for test, row in rows.items() if row["verdict"] == "unclassed"
    }
    assert {each["kind"] for each in entries} == {""}
    with pytest.raises(BenchmarkError, match="says too little"):
        read_differences(path)
    read = [{**each, "kind": "wrong"} for each in entries]
    (tmp_path / "read.json").write_text(json.dumps(read))
    found = read_differences(tmp_path / "read.json")
    assert all(
        (test, row["digest"]) in found
        for test, row in rows.items()
        if row["verdict"] == "unclassed"
    )


def test_a_suite_without_faults_ends_well(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("def test_it():\n    pass\n")
    assert main(["lightgbm-suite", str(tmp_path / "tests"), "--output", str(tmp_path)]) == 0


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


ENTRY = {"test": "test_a.py::test_a", "line": "0", "kind": "wrong", "reason": "because"}


@pytest.mark.parametrize(
    "changes", [{"kind": "passes"}, {"reason": ""}, {"test": ""}, {"line": ""}, {"error": ".*"}]
)
def test_an_entry_names_a_test_a_line_a_class_and_a_reason(changes, tmp_path):
    path = tmp_path / "differences.json"
    path.write_text(json.dumps([ENTRY]))
    assert list(read_differences(path)) == [("test_a.py::test_a", "0")]
    path.write_text(json.dumps([ENTRY | changes]))
    with pytest.raises(BenchmarkError, match="says too little"):
        read_differences(path)


def test_an_entry_comes_once(tmp_path):
    path = tmp_path / "differences.json"
    path.write_text(json.dumps([ENTRY, ENTRY | {"kind": "differs by noise"}]))
    with pytest.raises(BenchmarkError, match="twice"):
        read_differences(path)


def test_the_list_can_be_read():
    assert all(test.startswith("test_") for test, _ in read_differences())


FAILED = Outcome(outcome="failed", errors=((("builtins.KeyError",), "x"),), line="a = b[c]")
PASSED = Outcome(outcome="passed")
KNOWN = {("t", digest(FAILED.line)): Difference(test="t", line="", kind="wrong", reason="r")}


def test_the_same_error_elsewhere_is_not_excused():
    assert sort({"t": FAILED}, {}, {"t": PASSED}, KNOWN)["t"][:2] == ("wrong", "r")
    for other in ("t[1]", "tt"):
        assert sort({other: FAILED}, {}, {other: PASSED}, KNOWN)[other].kind == "unclassed"
    elsewhere = Outcome(outcome="failed", errors=FAILED.errors, line="a = b[d]")
    found = sort({"t": elsewhere}, {}, {"t": PASSED}, KNOWN)["t"]
    assert found[:2] == ("unclassed", "KeyError: x")


def test_a_refusal_of_ours_is_read_as_well():
    types = ("dpboost._utils.validation.RefusedError", "builtins.ValueError")
    refused = Outcome(outcome="failed", errors=((types, "No."),), line="lgb.train()")
    assert sort({"t": refused}, {"t": refused}, {"t": PASSED}, KNOWN)["t"].kind == "unclassed"


def test_two_runs_sort_without_a_reader():
    assert sort({"t": FAILED}, {"t": PASSED}, {"t": PASSED}, {})["t"].kind == "differs by noise"
    verdict = sort({"t": FAILED}, {"t": FAILED}, {"t": FAILED}, KNOWN)["t"]
    assert verdict.kind == "fails in LightGBM too"


@pytest.mark.skipif(shutil.which("bash") is None, reason="the stage is a script of bash")
@pytest.mark.parametrize(("argument", "status"), [("suite", 1), ("suite={}", 0), ("suite=no", 1)])
def test_the_nightly_stage_takes_the_folder(argument, status, tmp_path):
    # Its clone, its environment and the run are stubs that say what they were given.
    script = (ROOT / ".ci" / "nightly").read_text(encoding="utf-8")
    stage = script[script.index("stage_suite()") :].partition("\n}\n")[0] + "\n}\n"
    loop = "stage=$1; argument=; [[ $stage != *=* ]] || argument=${stage#*=}; stage=${stage%%=*}\n"
    assert "[[ $stage != *=* ]] || argument=${stage#*=}" in script
    stubs = 'enter() { :; }\npython() { [ $2 = pip ] || echo "$@"; }\nroot=/r\n'
    command_line = stubs + stage + loop + 'stage_$stage "$argument"\n'
    ended = subprocess.run(
        ["bash", "-c", command_line, "nightly", argument.format(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert ended.returncode == status
    if status == 0:
        expected = f"-m benchmarks lightgbm-suite {tmp_path} --output /r/benchmarks/results"
        assert ended.stdout.strip() == expected
