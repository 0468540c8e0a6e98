"""Sets that are generated, large, or to be had from their publishers alone; no network."""

from __future__ import annotations

import bz2
import gzip
import hashlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.errors import DataFileError
from benchmarks.files import PublishedFile, locate
from benchmarks.problems import ALL_PROBLEMS, PROBLEMS
from benchmarks.problems.elsewhere import CREDIT_CARD, from_openml
from benchmarks.problems.generated import synthetic_cls, synthetic_reg

FROM_FILES = ["real_sim", "covtype_full", "susy", "year_prediction", "avazu", "chicago_taxi"]


def corners(name, high):
    """Return one row at the lower or upper declared bounds."""
    return [ends[high] for ends in ALL_PROBLEMS[name].dictionary.bounds.values()]


def lines(*rows):
    return ("\n".join(",".join(map(str, row)) for row in rows) + "\n").encode()


def content(name):
    """Two rows of a set in the form of its file."""
    known = list(ALL_PROBLEMS[name].dictionary.bounds)
    low, high = corners(name, 0), corners(name, 1)
    if name == "real_sim":
        return bz2.compress(b"-1 1:0.5\n+1 2:0.25 20958:0.1\n")
    if name == "year_prediction":
        return bz2.compress(b"2001 1:4.5 90:-7\n1969 2:-3.25\n")
    if name == "covtype_full":
        return gzip.compress(lines([*low, 2], [*high, 7]))
    if name == "susy":
        return gzip.compress(lines([1.0, *low], [0.0, *high]))
    if name == "avazu":
        head = ["id", "click", "hour", *known, "C18"]
        return gzip.compress(lines(head, [9, 0, 14, *low, 3], [8, 1, 15, *high, 0]))
    head = ["taxi_id", *known, "fare", "tips"]
    return lines(head, [1, *low, 4.25, 0], [2, *high, 50, 3])


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("DPBOOST_DATA", str(tmp_path))
    for name in FROM_FILES:
        (file,) = ALL_PROBLEMS[name].files
        (tmp_path / file.path).parent.mkdir()
        (tmp_path / file.path).write_bytes(content(name))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "labels", "n_columns"),
    [
        ("real_sim", [0, 1], 20_958),
        ("covtype_full", [1, 0], 54),
        ("susy", [1, 0], 18),
        ("year_prediction", [2001, 1969], 90),
        ("avazu", [0, 1], 8),
        ("chicago_taxi", [4.25, 50], 7),
    ],
)
def test_a_file_is_read_as_declared(data, name, labels, n_columns):
    problem = ALL_PROBLEMS[name]
    X, y = problem.load()
    assert y.tolist() == labels
    assert X.shape == (2, n_columns) == (2, len(problem.dictionary.bounds))
    assert y.dtype == (np.float64 if problem.task == "regression" else np.int64)
    columns = X.columns if hasattr(X, "columns") else range(X.shape[1])
    assert list(columns) == list(problem.dictionary.bounds)


@pytest.mark.parametrize("name", FROM_FILES)
def test_a_missing_file_names_where_it_is_to_be_had_and_where_it_belongs(data, name):
    (file,) = ALL_PROBLEMS[name].files
    (data / file.path).unlink()
    with pytest.raises(DataFileError) as caught:
        ALL_PROBLEMS[name].load()
    message = str(caught.value)
    assert str(data / file.path) in message
    assert (file.url or file.page) in message


def test_a_malformed_taxi_file_is_named(data):
    (data / "chicago_taxi" / "ground_truth.csv").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataFileError, match="does not read"):
        ALL_PROBLEMS["chicago_taxi"].load()


@pytest.mark.parametrize("make", [synthetic_cls, synthetic_reg])
def test_generated_sets_have_the_size_that_is_asked_for(make):
    problem = make(300)
    X, y = problem.load()
    assert X.shape == (300, 400)
    assert len(y) == 300
    again, _ = problem.load()
    assert (again == X).all()
    assert problem.files == ()
    assert problem.is_published(problem.local_digests())
    assert "300 rows" in problem.made_by
    for position, (low, high) in problem.dictionary.bounds.items():
        assert low < X[:, position].min() < X[:, position].max() < high
    if problem.task == "regression":
        low, high = problem.dictionary.label_bounds
        assert low < y.min() < y.max() < high
    else:
        assert set(y) == {0, 1}


def test_sets_from_elsewhere_are_no_part_of_runs_over_everything():
    elsewhere = set(ALL_PROBLEMS) - set(PROBLEMS)
    assert elsewhere == {*FROM_FILES, "credit_card", "synthetic_cls", "synthetic_reg"}


class OpenML:
    """Answers like scikit-learn's fetch_openml, and remembers what it was asked."""

    def __init__(self, error=None):
        self.asked = []
        self.error = error

    def __call__(self, **wanted):
        self.asked.append(wanted)
        if self.error is not None:
            raise self.error
        known = CREDIT_CARD.dictionary.bounds
        rows = {name.upper(): list(ends) for name, ends in known.items()}
        return SimpleNamespace(data=pd.DataFrame(rows), target=pd.Series(["0", "1"]))


def test_openml_is_asked_through_the_cache(tmp_path, monkeypatch):
    fake = OpenML()
    monkeypatch.delenv("DPBOOST_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fake)
    X, y = CREDIT_CARD.load()
    assert y.tolist() == [0, 1]
    assert list(X.columns) == list(CREDIT_CARD.dictionary.bounds)
    assert fake.asked[0]["data_home"] == str(tmp_path / "dpboost")
    assert fake.asked[0]["data_id"] == 42477


def test_openml_is_not_asked_where_a_folder_of_ones_own_has_none(tmp_path):
    fake = OpenML()
    with pytest.raises(DataFileError, match=r"openml\.org/d/7.*data_id=7"):
        from_openml(7, environment={"DPBOOST_DATA": str(tmp_path)}, fetch=fake)
    assert fake.asked == []
    (tmp_path / "openml").mkdir()
    from_openml(7, environment={"DPBOOST_DATA": str(tmp_path)}, fetch=fake)
    assert fake.asked[0]["data_home"] == str(tmp_path)


@pytest.mark.parametrize("error", [OSError("no route"), ValueError("md5 checksum")])
def test_a_table_that_cannot_be_downloaded_is_named(tmp_path, error):
    with pytest.raises(DataFileError, match=r"openml\.org/d/7 is not available.*data_home"):
        from_openml(7, environment={"XDG_CACHE_HOME": str(tmp_path)}, fetch=OpenML(error))


FIRST = PublishedFile(path="toy/toy.data", url="https://example.org/toy.data", sha256=None)


def test_without_a_recorded_digest_the_first_download_is_kept(tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    path = locate(FIRST, environment=environment, fetch=lambda url: b"one")
    kept = path.with_name("toy.data.sha256").read_text().strip()
    assert kept == hashlib.sha256(b"one").hexdigest()
    assert locate(FIRST, environment=environment, fetch=pytest.fail) == path
    path.write_bytes(b"two")
    with pytest.raises(DataFileError, match=kept):
        locate(FIRST, environment=environment, fetch=pytest.fail)
    path.with_name("toy.data.sha256").unlink()
    with pytest.raises(DataFileError, match="Delete it"):
        locate(FIRST, environment=environment, fetch=pytest.fail)


def test_a_file_behind_a_login_names_the_page(tmp_path):
    file = PublishedFile(path="a/b", url=None, sha256=None, page="https://example.org/page")
    with pytest.raises(DataFileError, match=r"example\.org/page.*DPBOOST_DATA"):
        locate(file, environment={"XDG_CACHE_HOME": str(tmp_path)}, fetch=pytest.fail)
