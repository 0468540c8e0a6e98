"""What cannot be had on a cluster is refused before anything is drawn or charged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

from dpboost import Budget, InvalidParameterError  # noqa: E402
from dpboost.dask import DaskDPBoostClassifier, DaskDPBoostRegressor  # noqa: E402
from dpboost.training.public_schema import ASSUMPTIONS  # noqa: E402

X = np.random.default_rng(0).uniform(-1, 1, (40, 3))
Y = X[:, 0]
ROWS, LABELS = da.from_array(X, chunks=(10, 3)), da.from_array(Y, chunks=10)


@pytest.fixture(autouse=True)
def nothing_is_drawn(monkeypatch):
    drawn = []
    for name in ("release", "row_coins"):
        monkeypatch.setattr(
            f"dpboost.privacy.ledger.Ledger.{name}", lambda *_, **__: drawn.append(1)
        )
    yield
    assert not drawn


def regress(client, X, y, fit=None, **options):
    DaskDPBoostRegressor(**options, verbosity=-1, client=client).fit(X, y, **(fit or {}))


def mixed_kinds():
    """Partitions whose categorical types differ."""
    parts = [
        dask.delayed(pd.DataFrame)({"k": pd.Categorical([value] * 10)}) for value in ("a", "b")
    ]
    meta = pd.DataFrame({"k": pd.Categorical([], categories=["a"])})
    return dd.from_delayed(parts, meta=meta, verify_meta=False)


def half_kinds():
    """Numbers in one partition, categories in the other."""
    parts = [
        dask.delayed(pd.DataFrame)({"k": pd.Series([1] * 10, dtype=dtype)})
        for dtype in ("int64", "category")
    ]
    return dd.from_delayed(parts, meta=pd.DataFrame({"k": [1]}), verify_meta=False)


@pytest.mark.parametrize(
    ("rows", "labels", "fit", "options", "message"),
    [
        (ROWS, LABELS, {"user_ids": Y}, {"rows_per_user": 2}, "'user_ids' argument must be a Dask"),
        (ROWS, LABELS, {}, {"rows_per_user": 2}, "pass both or neither"),
        (ROWS, LABELS, {"user_ids": LABELS > 0}, {"rows_per_user": 2}, "in several partitions"),
        (X, LABELS, {}, {}, "'X' argument must be a Dask array"),
        (ROWS, Y, {}, {}, "'y' argument must be a Dask array"),
        (ROWS, None, {}, {}, "requires y to be passed"),
        (ROWS, LABELS, {"sample_weight": Y}, {}, "'sample_weight' argument must be a Dask"),
        (ROWS, LABELS, {"sample_weight": LABELS}, {"max_weight": 1.0}, "must not be negative"),
        (ROWS.rechunk((10, 2)), LABELS, {}, {}, r"X\.rechunk"),
        (ROWS[..., None], LABELS, {}, {}, "one or two dimensions"),
        (ROWS, LABELS.rechunk(20), {}, {}, "partitions of y must be those of X"),
        (ROWS, LABELS.rechunk(((9, 11, 10, 10),)), {}, {}, "same length"),
        (ROWS[:0], LABELS[:0], {}, {}, r"0 sample\(s\)"),
        (ROWS, LABELS * np.nan, {}, {}, "Input y contains NaN"),
        (ROWS, LABELS, {}, {"epsilon": -1}, "epsilon"),
        (ROWS, LABELS, {}, {"gradient_clip": 0.001, "n_estimators": 1}, "larger gradient_clip"),
        (ROWS, LABELS, {"init_score": da.ones((40, 2), chunks=(10, 2))}, {}, "init_score"),
        (ROWS, LABELS, {"categorical_feature": ["z"]}, {}, "names the column 'z'"),
        (mixed_kinds(), LABELS[:20], {}, {"assume_public": ASSUMPTIONS}, "'k' of X has another"),
        (mixed_kinds(), LABELS[:20], {}, {"delta": 0, "recipe": "dpboost"}, "Undeclared: 'k'"),
        (half_kinds(), LABELS[:20], {}, {}, "'k' of X has another type"),
    ],
)
def test_regressions(client, rows, labels, fit, options, message):
    with pytest.raises(InvalidParameterError, match=message):
        regress(client, rows, labels, fit, **options)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (LABELS, {}, "continuous"),
        (da.from_array(np.arange(40), chunks=10) % 3, {"recipe": "dpboost"}, "Only binary"),
        (
            da.from_array(np.array(list("ab") * 20), chunks=10),
            {"schema": {"classes": [0, 1]}},
            "one kind",
        ),
    ],
)
def test_classifications(client, labels, options, message):
    model = DaskDPBoostClassifier(**options, verbosity=-1, client=client)
    with pytest.raises(InvalidParameterError, match=message):
        model.fit(ROWS, labels)


def test_a_closed_client_or_cluster_is_named():
    own = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0")
    first = distributed.Client(own, set_as_default=False)
    second = distributed.Client(own, set_as_default=False)
    first.close()
    with pytest.raises(InvalidParameterError, match="DaskDPBoostRegressor is closed, or its clus"):
        regress(first, ROWS, LABELS)
    with pytest.raises(InvalidParameterError, match="is closed, or its cluster"):
        regress(first, ROWS, LABELS, {"eval_set": [(ROWS[:9], LABELS[:9])]})
    own.close()
    with pytest.raises(InvalidParameterError, match="is closed, or its cluster"):
        regress(second, ROWS, LABELS)
    second.close()


def test_no_client_at_all_is_named(monkeypatch):
    monkeypatch.setattr("distributed.client._get_global_client", lambda: None)
    with pytest.raises(InvalidParameterError, match="finds no Dask client"):
        regress(None, ROWS, LABELS)


def test_a_damaged_partition_is_refused(client):
    damaged = scipy.sparse.coo_matrix(X[:10])
    damaged.row[3] = 10**8
    rows = da.from_delayed(dask.delayed(damaged), shape=(10, 3), dtype=float)
    with pytest.raises(InvalidParameterError, match="X is invalid"):
        regress(client, rows, LABELS[:10])


def test_names_must_be_the_same_everywhere(client):
    parts = [dask.delayed(pd.DataFrame)(X[:10], columns=list(names)) for names in ("abc", "abd")]
    frame = dd.from_delayed(parts, meta=pd.DataFrame(X[:0], columns=list("abc")), verify_meta=False)
    with pytest.raises(InvalidParameterError, match="same columns"):
        regress(client, frame, LABELS[:20])


def test_rows_on_a_cluster_are_not_set_aside(client):
    budget = Budget(epsilon=1, delta=0)
    with pytest.raises(InvalidParameterError, match="'holdout' of DaskDPBoostRegressor"):
        regress(client, ROWS, LABELS, {"budget": budget, "fraction": 0.5, "holdout": 0.2})
    assert budget.lines == ()
