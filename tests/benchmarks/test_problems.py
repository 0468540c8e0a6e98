from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks.errors import BenchmarkError, DataFileError
from benchmarks.problems import PROBLEMS
from benchmarks.problems.problem import SplitProtocol, StratifiedSplit, take
from tests.benchmarks.samples import every_file

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
    texts = {
        "adult/adult.data": ADULT_TRAIN,
        "adult/adult.test": ADULT_TEST,
        "abalone/abalone.data": ABALONE,
    }
    for path, content in every_file().items() | {(k, v.encode()) for k, v in texts.items()}:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
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
    X, y = problem.load()
    declared = [*problem.dictionary.bounds, *problem.dictionary.categories]
    columns = X.columns if hasattr(X, "columns") else range(X.shape[1])
    assert sorted(columns) == sorted(declared)
    assert X.shape[0] == len(y)
    assert y.dtype == (np.float64 if problem.task == "regression" else np.int64)
    if problem.dictionary.classes is not None:
        assert problem.dictionary.classes == tuple(range(problem.n_classes))
        assert set(y) <= set(problem.dictionary.classes)
        assert (problem.n_classes > 2) == (problem.task == "multiclass")
    assert all(low < high for low, high in problem.dictionary.bounds.values())
    assert set(problem.dictionary.integer) <= set(problem.dictionary.bounds)
    for column in problem.dictionary.integer:
        cells = X[column].dropna()
        assert (cells == np.floor(cells)).all()
    assert set(problem.dictionary.schema().integer) == set(problem.dictionary.integer)
    for values in problem.dictionary.categories.values():
        assert len(set(values)) == len(values)
    assert (problem.dictionary.classes is None) == (problem.task == "regression")
    assert (problem.dictionary.label_bounds is None) == (problem.task != "regression")


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("bank", [0, 1]),
        ("cod_rna", [0, 1]),
        ("a9a", [0, 1, 0, 1]),
        ("ijcnn1", [0, 1]),
        ("news20", [0, 1]),
        ("covtype", [1, 0]),
        ("covtype_7", [1, 6]),
        ("covtype_odds", [0, 1]),
        ("skin", [0, 1]),
        ("mushroom", [0, 1]),
        ("higgs", [0, 1, 0, 1]),
        ("kddcup99", [0, 1]),
        ("kddcup99_23", [0, 18]),
        ("letter", [0, 0]),
        ("mnist", [0, 9]),
        ("wine_quality", [3, 9, 3, 9]),
        ("ccpp", [420, 500]),
        ("naval", [0.95, 1]),
        ("air_quality", [11.9, 9.4]),
        ("kin40k", [0, 0.5]),
        ("cpu_act", [1, 1]),
        ("bike_sharing", [1, 977]),
        ("kc_house", [75_000, 7_700_000]),
        ("default_credit", [0, 1]),
        ("telco_churn", [0, 1]),
        ("spambase", [0, 1]),
    ],
)
def test_labels_are_numbered(data, name, labels):
    assert PROBLEMS[name].load()[1].tolist() == labels


def test_wine_knows_its_color(data):
    X, _ = PROBLEMS["wine_quality"].load()
    assert X["color"].tolist() == ["red", "red", "white", "white"]


def test_air_quality_has_missing_values_and_repaired_decimals(data):
    X, _ = PROBLEMS["air_quality"].load()
    assert X["AH"].tolist() == [0.7578, 1.0086]
    assert X["hour"].tolist() == [18, 19]
    assert X["CO(GT)"].isna().tolist() == [False, True]


def test_news_stay_sparse(data):
    X, _ = PROBLEMS["news20"].load()
    assert X.nnz == 3
    assert take(X, np.array([1])).shape == (1, 62_061)


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
        ("mushroom", "mushroom/agaricus-lepiota.data", "e,x\n", "'cap_surface'.*not declared"),
        ("ccpp", "ccpp/Folds5x2_pp.csv", "a,b,c,d\n", "rows of 5 values"),
        ("skin", "skin/Skin_NonSkin.txt", "1\t2\tred\t1\n", "'red' must hold numbers"),
        ("skin", "skin/Skin_NonSkin.txt", "1\t2\t3\t7\n", "label not declared: 7"),
        ("bank", "bank_marketing/bank.zip", "no archive", "does not hold bank-full.csv"),
        ("w8a", "libsvm_w8a/w8a", "-1 301:1\n", "does not read"),
        ("mnist", "mnist/mnist_reconstructed.npz", "no archive", "does not hold x_train"),
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


@pytest.mark.parametrize("protocol", [SplitProtocol(), StratifiedSplit()])
def test_a_split_is_fixed_by_its_seed(protocol):
    labels = np.repeat([0, 1], [90, 10])
    train, test = protocol.indices(labels, 3)
    again, _ = protocol.indices(labels, 3)
    other, _ = protocol.indices(labels, 4)
    assert len(test) == 20
    assert sorted([*train, *test]) == list(range(100))
    assert train.tolist() == again.tolist()
    assert train.tolist() != other.tolist()


def test_strata_keep_the_shares_of_the_classes():
    labels = np.repeat([0, 1], [90, 10])
    for seed in range(5):
        _, test = StratifiedSplit().indices(labels, seed)
        assert labels[test].sum() == 2


def test_a_customer_without_a_total_has_none(data):
    X, _ = PROBLEMS["telco_churn"].load()
    assert X["TotalCharges"].isna().tolist() == [False, True]


def test_delays_are_the_same_each_time_and_mostly_small(data):
    problem = PROBLEMS["delays"]
    (X, y), (again, same) = problem.load(), problem.load()
    assert X.equals(again)
    assert (y == same).all()
    for name, (low, high) in problem.dictionary.bounds.items():
        assert X[name].between(low, high).all()
    low, high = problem.dictionary.label_bounds
    assert low <= y.min()
    assert y.max() <= high
    assert np.quantile(np.abs(y), 0.9) < 0.05 * (high - low), "far from the declared range"
