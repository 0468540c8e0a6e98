"""The estimators of a cluster: the same models as in one process, and LightGBM's interface."""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")

from lightgbm.dask import DaskLGBMClassifier, DaskLGBMRegressor  # noqa: E402

import dpboost  # noqa: E402
from dpboost import (  # noqa: E402
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    InvalidParameterError,
    replay,
)
from dpboost.dask import (  # noqa: E402
    DaskDPBoostClassifier,
    DaskDPBoostRegressor,
    DaskDPTreeClassifier,
    DaskDPTreeRegressor,
)
from dpboost.estimators.evaluation_sets import PublicRowsWarning  # noqa: E402
from dpboost.recipes.single_tree import TREE_ALGORITHMS  # noqa: E402
from dpboost.training.privacy_params import NotPrivateWarning  # noqa: E402
from dpboost.training.public_schema import UndeclaredWarning  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore", category=each)
    for each in (NotPrivateWarning, UndeclaredWarning, PublicRowsWarning)
]

N = 403
X = np.random.default_rng(0).uniform(-2, 2, (N, 3))
Y = X[:, 0] + X[:, 1] ** 2
CLASSES = np.digitize(Y, [0.0, 2.0])
WEIGHT = np.abs(X[:, 2])
DECLARED = {"bounds": dict.fromkeys(range(3), (-2, 2)), "label_bounds": (-2, 6)}
GIVEN = {"noise_seed": 1, "n_estimators": 4, "verbosity": -1}
FRAME = pd.DataFrame(
    {
        "a": X[:, 0],
        "b": X[:, 1].astype(np.float32),
        "kind": pd.Categorical(np.where(X[:, 2] > 0, "p", "n"), categories=["q", "p", "n"]),
    }
)
PARTITIONS = [1, 2, 5]


def chunked(array, n_parts):
    """Return a Dask array whose chunks are not all of one size."""
    sizes = np.diff(np.linspace(0, len(array), n_parts + 1).astype(int) + np.arange(n_parts + 1))
    sizes[-1] -= sizes.sum() - len(array)
    return da.from_array(array, chunks=(tuple(sizes.tolist()), *array.shape[1:]))


def text(model):
    return model.booster_.model_to_string()


@pytest.mark.parametrize("n_parts", PARTITIONS)
@pytest.mark.parametrize(
    ("recipe", "schema"),
    [("best", None), ("best", DECLARED), ("dpboost", DECLARED), ("para", None), ("seq", DECLARED)],
)
def test_the_model_does_not_depend_on_partitions(client, recipe, schema, n_parts):
    options = {**GIVEN, "recipe": recipe, "schema": schema}
    if recipe != "best":
        options |= {"n_estimators": 2, "max_depth": 2}
    expected = text(DPBoostRegressor(**options).fit(X, Y))
    model = DaskDPBoostRegressor(**options, client=client)
    assert model.fit(chunked(X, n_parts), chunked(Y, n_parts)) is model
    assert text(model) == expected


@pytest.mark.parametrize("n_parts", PARTITIONS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"assume_public": (), "epsilon": 20.0},
        {"class_weight": "balanced", "trees_per_ensemble": 2},
        {"recipe": "dpboost", "n_estimators": 2, "max_depth": 2, "schema": {"classes": [0, 1]}},
        {"objective": lambda y, s: (s - (np.arange(3) == y[:, None]), 1 + 0 * s)},
    ],
    ids=["several classes", "learned classes", "balanced", "two classes", "custom"],
)
def test_classifiers_do_not_either(client, options, n_parts):
    options = {**GIVEN, "gradient_bound": 2.0, **options}
    expected = DPBoostClassifier(**options).fit(X, CLASSES)
    model = DaskDPBoostClassifier(**options, client=client)
    model.fit(chunked(X, n_parts), chunked(CLASSES, n_parts))
    assert text(model) == text(expected)
    np.testing.assert_array_equal(model.classes_, expected.classes_)


@pytest.mark.parametrize("n_parts", PARTITIONS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_of_no_class_are_told_of_as_in_one_process(client, n_classes, n_parts):
    schema = {"classes": list(range(n_classes))}
    options = {**GIVEN, "epsilon": 20.0, "schema": schema, "verbosity": 0}
    labels = CLASSES % n_classes + 1
    told, texts = [], []
    for model, rows, y in (
        (DPBoostClassifier(**options), X, labels),
        (
            DaskDPBoostClassifier(**options, client=client),
            chunked(X, n_parts),
            chunked(labels, n_parts),
        ),
    ):
        with pytest.warns(dpboost.ParameterWarning) as caught:
            model.fit(rows, y)
        found = [each for each in caught if issubclass(each.category, dpboost.ParameterWarning)]
        told.append("\n".join(str(each.message) for each in found).splitlines())
        texts.append(text(model))
    assert told[0] == told[1]
    assert any("take no part" in line for line in told[0])
    assert any("The released count of class 0 is within" in line for line in told[0])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("n_parts", PARTITIONS)
@pytest.mark.parametrize("assumed", [("column_types", "classes"), ()])
def test_frames_weights_and_scores_do_not_either(client, assumed, n_parts):
    options = {**GIVEN, "assume_public": assumed, "epsilon": 20.0}
    beside = {"sample_weight": pd.Series(WEIGHT), "init_score": pd.Series(X[:, 0])}
    expected = DPBoostRegressor(**options).fit(FRAME, Y, **beside)
    rows, labels, *others = (
        dd.from_pandas(each, npartitions=n_parts)
        for each in (FRAME, pd.Series(Y), *beside.values())
    )
    model = DaskDPBoostRegressor(**options, client=client)
    model.fit(rows, labels, **dict(zip(beside, others, strict=True)))
    assert text(model) == text(expected)
    np.testing.assert_array_equal(model.predict(rows).compute(), expected.predict(FRAME))


@pytest.mark.parametrize("known", [False, True])
def test_lists_that_differ_by_partition_are_learned_together(client, known):
    options = {**GIVEN, "schema": {"bounds": {"a": (-2, 2), "b": (-2, 2)}}, "epsilon": 20.0}
    frame = FRAME.assign(kind=FRAME.kind.astype(str)).sort_values("kind", kind="stable")
    labels = pd.Series(Y[frame.index])
    frame = frame.reset_index(drop=True)
    expected = DPBoostRegressor(**options).fit(frame.astype({"kind": "category"}), labels)
    assert expected.booster_.pandas_categorical == [["n", "p"]]
    rows = dd.from_pandas(frame, npartitions=3)
    if known:
        rows = rows.astype({"kind": pd.CategoricalDtype(["p", "n", "q"])})
    else:
        rows = rows.map_partitions(lambda part: part.astype({"kind": "category"}))
    given = rows, dd.from_pandas(labels, npartitions=3)
    model = DaskDPBoostRegressor(**options, client=client).fit(*given)
    assert text(model) == text(expected)
    np.testing.assert_array_equal(
        model.predict(rows).compute(), expected.predict(frame.astype({"kind": "category"}))
    )
    again = DaskDPBoostRegressor(**options, client=client).fit(*given, init_model=model)
    assert again.booster_.pandas_categorical == [["n", "p"]]
    assert "categories" not in again.privacy_report_.facts["learned"]


@pytest.mark.parametrize("order", [1, -1])
def test_equal_labels_of_other_types_are_one_class(client, order):
    kinds = [bool, float, int][::order]
    parts = [dask.delayed((Y[:60] > 0).astype)(kind) for kind in kinds]
    labels = da.concatenate([da.from_delayed(part, (60,), dtype=int) for part in parts])
    rows = da.from_array(np.tile(X[:60], (3, 1)), chunks=(60, 3))
    model = DaskDPBoostClassifier(**GIVEN, client=client).fit(rows, labels)
    assert model.classes_.dtype == np.int64
    assert model.classes_.tolist() == [0, 1]


def test_partitions_of_parquet_are_read_where_they_are_needed(client, tmp_path):
    pytest.importorskip("pyarrow")
    frame = FRAME.assign(kind=FRAME.kind.astype(str), label=Y)
    for number, part in enumerate(np.array_split(np.arange(N), 3)):
        frame.iloc[part].to_parquet(tmp_path / f"{number}.parquet", index=False)
    schema = {"bounds": {"a": (-2, 2)}, "categories": {"kind": ["n", "p"]}}
    expected = DPBoostRegressor(schema=schema, **GIVEN).fit(frame[["a", "b", "kind"]], Y)
    stored = dd.read_parquet(tmp_path)
    model = DaskDPBoostRegressor(schema=schema, **GIVEN, client=client)
    model.fit(stored[["a", "b", "kind"]], stored["label"])
    assert text(model) == text(expected)


def test_a_model_is_continued_watched_and_named(client):
    first = DPBoostRegressor(schema=DECLARED, **GIVEN).fit(X, Y)
    names = ["x", "y", "z"]
    seen = []

    def fit(model, rows, labels, public):
        model.fit(
            rows,
            labels,
            init_model=first,
            eval_set=[public],
            feature_name=names,
            callbacks=[lambda env: seen.append(env.evaluation_result_list[0][2])],
        )
        return text(model)

    expected = fit(DPBoostRegressor(schema=DECLARED, **GIVEN), X, Y, (X[:9], Y[:9]))
    rows, labels = chunked(X, 2), chunked(Y, 2)
    model = DaskDPBoostRegressor(schema=DECLARED, **GIVEN, client=client)
    assert fit(model, rows, labels, (rows[:9], labels[:9])) == expected
    assert seen[:4] == seen[4:]


def test_sparse_blocks_are_those_of_one_matrix(client):
    kept = scipy.sparse.csr_matrix(np.where(X > 1, X, 0.0))
    for recipe in ("best", "dpboost"):
        options = {**GIVEN, "recipe": recipe, "schema": DECLARED, "n_estimators": 2}
        expected = text(DPBoostRegressor(**options).fit(kept, Y))
        rows = chunked(kept.toarray(), 2).map_blocks(scipy.sparse.csr_matrix)
        model = DaskDPBoostRegressor(**options, client=client).fit(rows, chunked(Y, 2))
        assert text(model) == expected


def test_partitions_without_rows_change_nothing(client):
    expected = text(DPBoostRegressor(**GIVEN).fit(FRAME, Y))
    frame = dd.from_pandas(FRAME.assign(label=Y, part=np.arange(N) % 4), npartitions=4)
    frame = dd.concat([frame, frame[frame.a > 99]])
    model = DaskDPBoostRegressor(**GIVEN, client=client)
    model.fit(frame[["a", "b", "kind"]], frame["label"])
    assert text(model) == expected


def test_small_models_are_those_of_one_process(client):
    given = {**GIVEN, "n_estimators": 60, "schema": DECLARED}
    small = {"n_trees": 10, "num_leaves": 7}
    model = DaskDPBoostRegressor(**given, client=client).fit(chunked(X, 2), chunked(Y, 2))
    expected = DPBoostRegressor(**given).fit(X, Y).compact(**small).model_to_string()
    assert model.compact(**small).model_to_string() == expected


def test_predictions_of_collections_are_those_of_the_local_model(client):
    model = DaskDPBoostClassifier(schema={"classes": [0, 1, 2]}, **GIVEN, client=client)
    model.fit(chunked(X, 2), chunked(CLASSES, 2))
    local = model.to_local()
    assert type(local) is DPBoostClassifier
    assert text(local) == text(model)
    assert "client" not in local.get_params()
    rows = chunked(X, 3)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    for method, options in (
        ("predict", {}),
        ("predict", {"pred_leaf": True}),
        ("predict_proba", {}),
        ("predict_proba", {"raw_score": True}),
        ("predict_proba", {"pred_contrib": True}),
        ("decision_function", {}),
    ):
        expected = getattr(local, method)(X, **options)
        for collection in (rows, frame):
            found = getattr(model, method)(collection, **options)
            assert isinstance(found, da.Array)
            assert found.ndim == expected.ndim
            np.testing.assert_array_equal(found.compute(), expected)
        assert getattr(model, method)(rows, **options).shape == expected.shape
    with pytest.raises(InvalidParameterError, match="to_local"):
        model.predict(X)


@pytest.mark.parametrize(
    ("kind", "local", "theirs"),
    [
        (DaskDPBoostRegressor, DPBoostRegressor, DaskLGBMRegressor),
        (DaskDPBoostClassifier, DPBoostClassifier, DaskLGBMClassifier),
    ],
)
def test_the_interface_is_that_of_lightgbm(kind, local, theirs):
    assert set(inspect.signature(kind).parameters) == {
        *inspect.signature(local).parameters,
        "client",
    }
    assert "client : distributed.Client" in kind.__doc__
    public = {name for name in dir(theirs) if not name.startswith("_")}
    # scikit-learn makes these of the names of arguments.
    public = {name for name in public if not name.startswith("set_")} | {"set_params"}
    assert public <= set(dir(kind))
    for method in ("fit", "predict", "predict_proba", "to_local"):
        if hasattr(theirs, method):
            own = inspect.signature(getattr(kind, method)).parameters
            wanted = inspect.signature(getattr(theirs, method)).parameters
            positional = [name for name in list(wanted)[:4] if name != "start_iteration"]
            assert list(own)[: len(positional)] == positional


def test_one_import_changes():
    assert dpboost.DaskLGBMRegressor is dpboost.dask.DaskLGBMRegressor is DaskDPBoostRegressor
    assert dpboost.DaskDPBoostClassifier is dpboost.dask.DaskLGBMClassifier


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "dpboost.dask")
    with pytest.raises(ImportError, match=r"dpboost\[dask\]"):
        importlib.import_module("dpboost.dask")
    with pytest.raises(AttributeError, match=r"dpboost\[dask\]"):
        _ = dpboost.DaskLGBMRegressor


def test_the_ranker_refuses():
    with pytest.raises(dpboost.InvalidParameterError, match="DaskLGBMRanker .*pointwise"):
        dpboost.DaskLGBMRanker()
    assert callable(dpboost.DaskLGBMRanker.fit)
    assert callable(dpboost.DaskLGBMRanker.predict)


@pytest.mark.parametrize("cuts", [None, [0.0], [0.0, 2.0]])
@pytest.mark.parametrize("kind", ["boosted", "tree"])
def test_contributions_of_sparse_partitions_are_sparse(client, cuts, kind):
    names = ("DaskDPBoostRegressor", "DaskDPTreeRegressor")
    declared, y = DECLARED, Y
    if cuts is not None:
        names, y = ("DaskDPBoostClassifier", "DaskDPTreeClassifier"), np.digitize(Y, cuts)
        declared = {"bounds": DECLARED["bounds"], "classes": range(len(cuts) + 1)}
    given = GIVEN if kind == "boosted" else {"noise_seed": 1, "max_depth": 2}
    model = getattr(dpboost.dask, names[kind == "tree"])(schema=declared, **given)
    model.fit(chunked(X, 2), chunked(y, 2))
    rows = scipy.sparse.csr_matrix(np.where(np.abs(X) < 1, 0.0, X))
    parts = [dask.delayed(rows[a:b]) for a, b in ((0, 100), (100, N))]
    lengths = (100, N - 100)
    collection = da.concatenate(
        [
            da.from_delayed(part, shape=(n, 3), meta=scipy.sparse.csr_matrix((0, 3)))
            for part, n in zip(parts, lengths, strict=True)
        ]
    )
    local = model.to_local().predict(rows, pred_contrib=True)
    found = model.predict(collection, pred_contrib=True)
    assert isinstance(found, list) == isinstance(local, list)
    pairs = zip(found, local, strict=True) if isinstance(found, list) else [(found, local)]
    for own, theirs in pairs:
        assert own.shape == theirs.shape
        computed = own.compute()
        assert scipy.sparse.issparse(computed)
        np.testing.assert_array_equal(computed.toarray(), theirs.toarray())


def test_the_client_is_a_parameter_that_is_not_stored(client):
    model = DaskDPBoostRegressor(schema=DECLARED, **GIVEN)
    with pytest.raises(NotFittedError):
        _ = model.client_
    model.fit(chunked(X, 2), chunked(Y, 2))  # the default client
    assert model.client_ is client
    model.set_params(client=client)
    assert model.get_params()["client"] is client
    copied = pickle.loads(pickle.dumps(model))
    assert copied.client is None
    assert text(copied) == text(model)
    assert clone(DaskDPBoostRegressor(epsilon=2.0)).epsilon == 2.0
    with pytest.raises(InvalidParameterError, match=r"distributed\.Client"):
        DaskDPBoostRegressor(client="tcp://host", **GIVEN).fit(chunked(X, 2), chunked(Y, 2))


def test_types_of_partitions_are_those_of_the_whole_table(client):
    whole = np.random.default_rng(2).integers(0, 30, (N, 3))
    frame = pd.DataFrame({"n": whole[:, 0], "flag": whole[:, 1] > 9, "x": X[:, 2]})
    given = {**GIVEN, "schema": {"label_bounds": (-2, 6)}}
    for rows, parts in ((whole, chunked(whole, 3)), (frame, dd.from_pandas(frame, npartitions=3))):
        y = chunked(Y, 3) if rows is whole else dd.from_pandas(pd.Series(Y), npartitions=3)
        one = text(DPBoostRegressor(**given).fit(rows, Y))
        model = DaskDPBoostRegressor(client=client, **given).fit(parts, y)
        assert text(model) == text(replay(model.transcript_)) == one
        assert one != text(DPBoostRegressor(**given).fit(rows.astype(float), Y))


@pytest.mark.parametrize("recipe", list(TREE_ALGORITHMS))
@pytest.mark.parametrize("n_parts", [2, 5])
def test_a_single_tree_does_not_depend_on_partitions(client, recipe, n_parts):
    options = {"noise_seed": 1, "recipe": recipe, "schema": {"bounds": DECLARED["bounds"]}}
    given, parts = {}, {}
    if TREE_ALGORITHMS[recipe].weights:
        options["max_weight"] = 1.0
        weights = np.arange(len(X)) % 4 / 3
        given, parts = {"sample_weight": weights}, {"sample_weight": chunked(weights, n_parts)}
    expected = DPTreeClassifier(**options).fit(X, CLASSES, **given)
    model = DaskDPTreeClassifier(**options, client=client)
    model.fit(chunked(X, n_parts), chunked(CLASSES, n_parts), **parts)
    assert text(model) == text(expected)
    probability = model.predict_proba(chunked(X, n_parts))
    assert np.array_equal(probability.compute(), expected.predict_proba(X))
    assert np.array_equal(model.predict(chunked(X, n_parts)).compute(), expected.predict(X))
    assert model.to_local().export_text() == expected.export_text()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_tree_of_numbers_does_not_either(client, delta):
    options = {"noise_seed": 1, "schema": DECLARED, "delta": delta}
    expected = DPTreeRegressor(**options).fit(X, Y)
    model = DaskDPTreeRegressor(**options, client=client).fit(chunked(X, 3), chunked(Y, 3))
    assert text(model) == text(expected)
    assert np.array_equal(model.predict(chunked(X, 3)).compute(), expected.predict(X))
    assert "client : distributed.Client" in DaskDPTreeRegressor.__doc__


# Some have many rows, some have one, and no partition of 45 rows divides one.
USERS = np.arange(N) // 45 * 100 + (np.arange(N) % 45) ** 2 // 90


@pytest.mark.parametrize("form", ["numbers", "text"])
@pytest.mark.parametrize("local", [DPBoostRegressor, DPTreeRegressor])
def test_users_are_protected_as_in_one_place(client, local, form):
    there = getattr(dpboost.dask, f"Dask{local.__name__}")
    users = USERS if form == "numbers" else USERS.astype(str).astype(object)
    options = {"schema": DECLARED, "noise_seed": 1, "rows_per_user": 3}
    expected = local(**options).fit(X, Y, user_ids=users)
    rows, labels, ids = (da.from_array(each, chunks=90) for each in (X, Y, users))
    model = there(**options, client=client).fit(rows.rechunk((90, 3)), labels, user_ids=ids)
    assert text(model) == text(expected)
    assert model.privacy_report_.to_dict() == expected.privacy_report_.to_dict()


CONTROLS = {"max_delta_step": 0.01, "feature_fraction": 0.4, "subsample": 0.3, "subsample_freq": 1}
OF_BEST = {"path_smooth": 200.0, "min_child_weight": 60.0, "feature_contri": [1, 0, 1]}


@pytest.mark.parametrize("recipe", ["best", "dpboost", "para", "seq"])
def test_controls_of_lightgbm_are_followed_on_workers(client, recipe):
    asked = CONTROLS | (OF_BEST if recipe == "best" else {})
    options = {"schema": DECLARED, **GIVEN, "random_state": 2, "recipe": recipe, **asked}
    there = DaskDPBoostRegressor(client=client, **options).fit(chunked(X, 3), chunked(Y, 3))
    assert text(there) == text(DPBoostRegressor(**options).fit(X, Y))


def test_training_rows_are_skipped_before_collections_are_brought_here(client):
    rows, labels = chunked(X, 2), chunked(Y, 2)
    model = DaskDPBoostRegressor(schema=DECLARED, **GIVEN, client=client)
    with pytest.warns(dpboost.PrivacyWarning, match="are not evaluated"):
        model.fit(rows, labels, eval_set=[(rows, labels)])
    assert np.isnan(model.evals_result_["training"]["l2"]).all()
    assert model.transcript_.call.arguments["eval_set"] == [("training rows", "training rows")]
