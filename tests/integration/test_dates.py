"""Dates with declared bounds are numbers in every kind of fit, and the same ones everywhere."""

import datetime

import numpy as np
import pandas as pd
import pytest

import dpboost
from dpboost import DPBoostRegressor, DPTreeRegressor, InvalidParameterError, Schema

pytestmark = [
    pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore::dpboost.ParameterWarning"),
]

N = 400
RANDOM = np.random.default_rng(0)
DAYS = np.where(
    RANDOM.random(N) < 0.05, np.nan, np.floor(RANDOM.uniform(19723, 20088, N) * 24) / 24
)
SIZE = RANDOM.uniform(size=N)
Y = np.nan_to_num((DAYS - 19723) / 365) + SIZE
NUMBERS = pd.DataFrame({"admitted": DAYS, "size": SIZE})
DATES = NUMBERS.assign(admitted=pd.to_datetime(DAYS, unit="D", origin="unix"))
SCHEMA = Schema(
    bounds={"admitted": ("2024-01-01", datetime.date(2024, 12, 31)), "size": (0, 1)},
    label_bounds=(0, 2),
)
FAST = {"schema": SCHEMA, "n_estimators": 5, "noise_seed": 1, "verbosity": -1, "n_jobs": 1}


def fitted(X):
    return DPBoostRegressor(**FAST).fit(X, Y)


def text(model):
    return model.booster_.model_to_string()


@pytest.fixture(scope="module")
def expected():
    model = fitted(NUMBERS)
    return text(model), model.predict(NUMBERS)


def arrow(frame):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return pa.Table.from_pandas(frame, preserve_index=False)


def polars(frame):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return pl.from_arrow(arrow(frame))


def duckdb(frame):
    module = pytest.importorskip("duckdb", reason="duckdb is not installed")
    return module.from_df(frame)


def narwhals(frame):
    return pytest.importorskip("narwhals", reason="narwhals is not installed").from_native(frame)


def zoned(frame):
    stamps = frame["admitted"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    return frame.assign(admitted=stamps)


@pytest.mark.parametrize("make", [lambda frame: frame, zoned, arrow, polars, duckdb, narwhals])
def test_a_fit_on_dates_is_that_on_days(make, expected):
    X = make(DATES)
    model = fitted(X)
    assert text(model) == expected[0]
    np.testing.assert_array_equal(model.predict(X), expected[1])
    np.testing.assert_array_equal(model.predict(NUMBERS), expected[1])
    assert model.reason_codes(X)[0]


def test_batches_and_single_trees():
    parts = [DATES[:150], DATES[150:]]
    numbers = [NUMBERS[:150], NUMBERS[150:]]
    labels = [Y[:150], Y[150:]]
    boosters = [
        dpboost.train(FAST, dpboost.Dataset(list(zip(each, labels, strict=True))))
        for each in (parts, numbers)
    ]
    assert boosters[0].model_to_string() == boosters[1].model_to_string()
    trees = [
        DPTreeRegressor(schema=SCHEMA, noise_seed=1, max_depth=2).fit(each, Y)
        for each in (DATES, NUMBERS)
    ]
    np.testing.assert_array_equal(trees[0].predict(DATES), trees[1].predict(NUMBERS))


def test_a_look_at_the_rows_knows_dates():
    findings = SCHEMA.check(DATES.assign(admitted=DATES["admitted"] + pd.Timedelta(days=100)))
    assert "admitted" in repr(findings)
    assert "no numbers" not in repr(findings)


def test_without_bounds_dates_are_refused_before_a_draw():
    with pytest.raises(InvalidParameterError, match=r"'admitted'.*Schema\(bounds="):
        DPBoostRegressor(schema={"label_bounds": (0, 2)}).fit(DATES, Y)


def test_workers_read_them_alike(expected, client):
    dd = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
    from dpboost.dask import DaskDPBoostRegressor

    labels = dd.from_pandas(pd.Series(Y), npartitions=3)
    rows = dd.from_pandas(DATES, npartitions=3)
    model = DaskDPBoostRegressor(client=client, **FAST).fit(rows, labels)
    assert text(model) == expected[0]
    np.testing.assert_array_equal(np.asarray(model.predict(rows)), expected[1])
