from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks.errors import BenchmarkError, DataFileError
from benchmarks.problems import PROBLEMS
from benchmarks.problems.problem import SplitProtocol

ADULT_TRAIN = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, "
    "Male, 2174, 0, 40, United-States, <=50K\n"
    "54, ?, 180211, Some-college, 10, Married-civ-spouse, ?, Husband, Asian-Pac-Islander, "
    "Male, 0, 0, 60, South, >50K\n\n"
)
ADULT_TEST = (
    "|1x3 Cross validator\n"
    "25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, "
    "Male, 0, 0, 40, United-States, <=50K.\n"
    "44, Private, 160323, Some-college, 10, Married-civ-spouse, Machine-op-inspct, Husband, "
    "Black, Male, 7688, 0, 40, ?, >50K.\n\n"
)
ABALONE = (
    "M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\n"
    "I,0.33,0.255,0.08,0.205,0.0895,0.0395,0.055,7\n"
)


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("DPBOOST_DATA", str(tmp_path))
    for path, text in {
        "adult/adult.data": ADULT_TRAIN,
        "adult/adult.test": ADULT_TEST,
        "abalone/abalone.data": ABALONE,
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_adult_joins_both_files_in_order(data):
    X, y = PROBLEMS["adult"].load()
    assert y.tolist() == [0, 1, 0, 1]
    assert y.dtype == np.int64
    assert X["age"].tolist() == [39, 54, 25, 44]
    assert X["capital_gain"].tolist() == [2174, 0, 0, 7688]
    assert "income" not in X
    assert X.shape == (4, 14)


def test_adult_marks_missing_values_and_keeps_every_declared_category(data):
    X, _ = PROBLEMS["adult"].load()
    assert X["workclass"].isna().tolist() == [False, True, False, False]
    assert X["native_country"].isna().tolist() == [False, False, False, True]
    for name, values in PROBLEMS["adult"].dictionary.categories.items():
        assert X[name].cat.categories.tolist() == list(values)
        assert "?" not in values


def test_abalone(data):
    X, y = PROBLEMS["abalone"].load()
    assert y.tolist() == [15.0, 7.0]
    assert X["sex"].tolist() == ["M", "I"]
    assert X["shell_weight"].tolist() == [0.15, 0.055]
    assert X.shape == (2, 8)


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_every_column_is_declared_once(data, name):
    problem = PROBLEMS[name]
    X, _ = problem.load()
    declared = [*problem.dictionary.bounds, *problem.dictionary.categories]
    assert sorted(X.columns) == sorted(declared)
    assert all(low < high for low, high in problem.dictionary.bounds.values())
    for values in problem.dictionary.categories.values():
        assert len(set(values)) == len(values)
    assert (problem.dictionary.classes is None) == (problem.task == "regression")
    assert (problem.dictionary.label_bounds is None) == (problem.task == "binary")


def test_files_of_ones_own_are_told_from_the_published_ones(data):
    problem = PROBLEMS["abalone"]
    digests = problem.local_digests()
    assert not problem.is_published(digests)
    assert problem.is_published({file.path: file.sha256 for file in problem.files})


@pytest.mark.parametrize(
    ("name", "path", "text", "message"),
    [
        ("abalone", "abalone/abalone.data", "M,1,2\n", "line 1: 9 values are expected, 3"),
        ("abalone", "abalone/abalone.data", "", "no rows"),
        ("abalone", "abalone/abalone.data", ABALONE.replace("0.33", "big"), "'length'.*'big'"),
        ("abalone", "abalone/abalone.data", ABALONE.replace("I", "X"), "'sex'.*'X'"),
        ("adult", "adult/adult.test", ADULT_TEST.replace(">50K.", "rich."), "'income'.*'rich'"),
        ("adult", "adult/adult.test", ADULT_TEST.replace(", Black", "", 1), "line 2: 15 values"),
    ],
)
def test_a_malformed_file_is_named(data, name, path, text, message):
    (data / path).write_text(text)
    with pytest.raises(DataFileError, match=message):
        PROBLEMS[name].load()


def test_a_missing_file_is_named(data):
    (data / "adult" / "adult.test").unlink()
    with pytest.raises(DataFileError, match=r"machine-learning-databases/adult/adult\.test"):
        PROBLEMS["adult"].load()


def test_without_pandas_the_extra_is_named(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BenchmarkError, match=r"dpboost\[benchmarks\]"):
        PROBLEMS["abalone"].load()


def test_a_split_is_fixed_by_its_seed():
    protocol = SplitProtocol()
    train, test = protocol.indices(100, 3)
    again, _ = protocol.indices(100, 3)
    other, _ = protocol.indices(100, 4)
    assert len(test) == 20
    assert sorted([*train, *test]) == list(range(100))
    assert train.tolist() == again.tolist()
    assert train.tolist() != other.tolist()
