"""Sets of the papers that are large, or only to be had from their publishers.

They are no part of the runs that go through all of `PROBLEMS`. Bounds are declared from what the
publishers say of the columns, rounded up; values outside are clipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._compat import import_pandas
from benchmarks.errors import DataFileError
from benchmarks.files import DATA_VARIABLE, PublishedFile, cache_folder
from benchmarks.problems.covtype import INDICATORS, LABEL, MEASURES, RAW_BOUNDS, SOURCE
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.problems.tables import (
    array_frame,
    class_numbers,
    declared_frame,
    numbers,
    read_svmlight,
    read_table,
    same_bounds,
)

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"

# --- DPBoost ------------------------------------------------------------------------------------

_REAL_SIM_WORDS = 20_958
_REAL_SIM_FILE = PublishedFile(
    path="real_sim/real-sim.bz2",
    url=f"{_LIBSVM}binary/real-sim.bz2",
    sha256="7cd52374f55ce62e803ef33ca1c44689427c23d481eff64026f8ba9f53b8cc27",
)


def _read_real_sim(paths: Mapping[str, Path]) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    X, labels = read_svmlight(paths[_REAL_SIM_FILE.path], _REAL_SIM_WORDS)
    return X, class_numbers(labels, {-1.0: 0, 1.0: 1}, "label")


REAL_SIM = Problem(
    name="real_sim",
    task="binary",
    files=(_REAL_SIM_FILE,),
    # Weights of words in rows of length one.
    dictionary=DataDictionary(bounds=dict.fromkeys(range(_REAL_SIM_WORDS), (0, 1)), classes=(0, 1)),
    read=_read_real_sim,
    source=f"{_LIBSVM}binary.html#real-sim",
)

_COVTYPE_FILE = PublishedFile(
    path="covtype/covtype.data.gz",
    # The copy of the UCI file that scikit-learn's fetch_covtype downloads.
    url="https://ndownloader.figshare.com/files/5976039",
    sha256="614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
)
_COVTYPE = DataDictionary(
    bounds={**RAW_BOUNDS, **same_bounds(INDICATORS, 0, 1)},
    classes=(0, 1),
)


def _read_covtype(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    names = [*MEASURES, *INDICATORS, LABEL]
    raw = read_table(paths[_COVTYPE_FILE.path], len(names), header=None, names=names)
    second = {number: int(number == 2) for number in range(1, 8)}
    return declared_frame(raw, _COVTYPE), class_numbers(raw[LABEL], second, LABEL)


COVTYPE_FULL = Problem(
    name="covtype_full",
    task="binary",
    files=(_COVTYPE_FILE,),
    dictionary=_COVTYPE,
    read=_read_covtype,
    source=SOURCE,
)

_SUSY_FILE = PublishedFile(
    path="susy/SUSY.csv.gz",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/00279/SUSY.csv.gz",
    sha256=None,
)
_ANGLES = {1, 2, 4, 5, 7}
_SUSY_NAMES = tuple(f"f{number}" for number in range(18))
# Columns are divided by their spread; pseudorapidities and angles have both signs.
_SUSY = DataDictionary(
    bounds={
        name: (-3.0, 3.0) if number in _ANGLES else (0.0, 30.0)
        for number, name in enumerate(_SUSY_NAMES)
    }
    | {"f9": (-20.0, 20.0)},
    classes=(0, 1),
)


def _read_susy(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    names = ["label", *_SUSY_NAMES]
    raw = read_table(paths[_SUSY_FILE.path], len(names), header=None, names=names, dtype=np.float32)
    # Float32 columns stay as they are: five million rows.
    y = class_numbers(raw["label"].tolist(), {0.0: 0, 1.0: 1}, "label")
    return raw[list(_SUSY_NAMES)], y


SUSY = Problem(
    name="susy",
    task="binary",
    files=(_SUSY_FILE,),
    dictionary=_SUSY,
    read=_read_susy,
    source="https://archive.ics.uci.edu/dataset/279/susy",
)

_YEAR_FILE = PublishedFile(
    path="year_prediction/YearPredictionMSD.bz2",
    url=f"{_LIBSVM}regression/YearPredictionMSD.bz2",
    sha256="bd820472d9a6d87ae30d6208dcbfd0e80386e96e6e6832f78c498cd78df6da29",
)
_YEAR_NAMES = tuple(f"timbre{number}" for number in range(90))
_YEAR = DataDictionary(
    # Twelve averages of timbre, then 78 of its covariances.
    bounds=same_bounds(_YEAR_NAMES[:12], -500, 500)
    | same_bounds(_YEAR_NAMES[12:], -10_000, 10_000),
    label_bounds=(1922, 2011),
)


def _read_year(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = read_svmlight(paths[_YEAR_FILE.path], len(_YEAR_NAMES))
    return array_frame(X.toarray(), _YEAR_NAMES), y


YEAR_PREDICTION = Problem(
    name="year_prediction",
    task="regression",
    files=(_YEAR_FILE,),
    dictionary=_YEAR,
    read=_read_year,
    source=f"{_LIBSVM}regression.html#YearPredictionMSD",
)

# --- DP-TopDown ---------------------------------------------------------------------------------

_CREDIT_ID = 42477
_MONTHS = range(6)
_CREDIT = DataDictionary(
    bounds={
        "x1": (0, 1_000_000),  # credit, in New Taiwan dollars
        "x2": (1, 2),  # sex
        "x3": (0, 6),  # education
        "x4": (0, 3),  # marriage
        "x5": (18, 100),  # age
        **{f"x{6 + month}": (-2, 9) for month in _MONTHS},  # months of delay
        **{f"x{12 + month}": (-500_000, 2_000_000) for month in _MONTHS},  # bills
        **{f"x{18 + month}": (0, 2_000_000) for month in _MONTHS},  # payments
    },
    classes=(0, 1),
)


def from_openml(
    data_id: int,
    *,
    environment: Mapping[str, str] | None = None,
    fetch: Callable[..., Any] | None = None,
) -> Any:
    """Return a table of OpenML, which scikit-learn downloads once and checks by its digest.

    Parameters
    ----------
    data_id : int
        Number of the table at OpenML.
    environment : mapping of str to str, optional
        Environment variables; those of the process by default. In the folder of ``DPBOOST_DATA``
        the table is looked for in ``openml``, as scikit-learn keeps it.
    fetch : callable, optional
        ``sklearn.datasets.fetch_openml``.

    Raises
    ------
    DataFileError
        If the table is neither there nor to be downloaded.
    """
    if fetch is None:
        from sklearn.datasets import fetch_openml as fetch
    environment = os.environ if environment is None else environment
    own = environment.get(DATA_VARIABLE)
    home = Path(own) if own else cache_folder(environment)
    page = f"https://www.openml.org/d/{data_id}"
    advice = (
        f"Download {page} with sklearn.datasets.fetch_openml(data_id={data_id}, data_home=...), or "
        f"set the environment variable {DATA_VARIABLE} to such a folder."
    )
    if own and not (home / "openml").is_dir():
        raise DataFileError(
            f"The table {page} is not available: {DATA_VARIABLE} is set to a folder without "
            f"{home / 'openml'}. {advice}"
        )
    try:
        return fetch(data_id=data_id, data_home=str(home), as_frame=True, parser="auto")
    except (OSError, ValueError) as error:
        raise DataFileError(f"The table {page} is not available: {error}. {advice}") from error


def _read_credit(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    table = from_openml(_CREDIT_ID)
    y = class_numbers([str(label) for label in table.target], {"0": 0, "1": 1}, "y")
    raw = table.data.rename(columns=str.lower)
    missing = set(_CREDIT.bounds).difference(raw.columns)
    if missing:
        raise DataFileError(f"The table has no column {sorted(missing)[0]!r}.")
    return declared_frame(raw, _CREDIT), y


CREDIT_CARD = Problem(
    name="credit_card",
    task="binary",
    files=(),
    dictionary=_CREDIT,
    read=_read_credit,
    source=f"https://www.openml.org/d/{_CREDIT_ID}",
    made_by=f"OpenML {_CREDIT_ID}",
)

_AVAZU_ROWS = 1_100_000
_AVAZU_FILE = PublishedFile(
    path="avazu/train.gz",
    url=None,
    sha256=None,
    page="https://www.kaggle.com/c/avazu-ctr-prediction",
)
_AVAZU = DataDictionary(
    # Codes without a meaning; the columns that the paper has thresholds for.
    bounds={
        "C1": (1_000, 1_013),
        "C14": (0, 25_000),
        "C15": (0, 1_100),
        "C16": (0, 1_100),
        "C17": (0, 3_000),
        "C19": (0, 2_000),
        "C20": (-1, 100_300),
        "C21": (0, 300),
    },
    classes=(0, 1),
)


def _read_avazu(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    wanted = ["click", *_AVAZU.bounds]
    raw = read_table(
        paths[_AVAZU_FILE.path], len(wanted), usecols=wanted, nrows=_AVAZU_ROWS, compression="gzip"
    )
    return declared_frame(raw, _AVAZU), class_numbers(raw["click"], {0: 0, 1: 1}, "click")


AVAZU = Problem(
    name="avazu",
    task="binary",
    files=(_AVAZU_FILE,),
    dictionary=_AVAZU,
    read=_read_avazu,
    source="https://www.kaggle.com/c/avazu-ctr-prediction",
)

# --- LPDT ---------------------------------------------------------------------------------------

_TAXI_PAGE = "https://www.drivendata.org/competitions/77/deid2-sprint-3-prescreened/page/332/"
_TAXI_FILE = PublishedFile(
    path="chicago_taxi/ground_truth.csv", url=None, sha256=None, page=_TAXI_PAGE
)
_TAXI_LABEL = "fare"
_TAXI = DataDictionary(
    # Codes; -1 stands for one that is not known.
    bounds={
        "shift": (0, 21),
        "company_id": (-1, 150),
        "pickup_community_area": (-1, 77),
        "dropoff_community_area": (-1, 77),
        "payment_type": (-1, 10),
        "trip_seconds": (0, 5_000),
        "trip_miles": (0, 20),
    },
    label_bounds=(0, 50),
)


def _read_taxi(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    try:
        raw = import_pandas().read_csv(paths[_TAXI_FILE.path], usecols=[*_TAXI.bounds, _TAXI_LABEL])
    except (ValueError, OSError) as error:
        raise DataFileError(f"{paths[_TAXI_FILE.path]} does not read: {error}") from error
    return declared_frame(raw, _TAXI), numbers(raw[_TAXI_LABEL], _TAXI_LABEL)


CHICAGO_TAXI = Problem(
    name="chicago_taxi",
    task="regression",
    files=(_TAXI_FILE,),
    dictionary=_TAXI,
    read=_read_taxi,
    source=_TAXI_PAGE,
)
