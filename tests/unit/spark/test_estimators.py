"""The estimators of Spark: the same models as in one process, and the interface of pyspark.ml."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

from pyspark.ml import Pipeline, PipelineModel  # noqa: E402
from pyspark.ml.feature import VectorAssembler  # noqa: E402

import dpboost  # noqa: E402
import dpboost.spark  # noqa: E402
from dpboost import (  # noqa: E402
    Budget,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    Transcript,
    replay,
)
from dpboost.recipes import ALGORITHMS  # noqa: E402
from dpboost.recipes.single_tree import NUMBER_TREE_ALGORITHMS, TREE_ALGORITHMS  # noqa: E402
from dpboost.spark import SparkDPBoostClassifier, SparkDPBoostRegressor  # noqa: E402
from tests.unit.spark.rows import FEW, LABELS, NAMES, SCHEMA, on_spark, table  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

LOCAL = {
    ("boosting", "classification"): DPBoostClassifier,
    ("boosting", "regression"): DPBoostRegressor,
    ("tree", "classification"): DPTreeClassifier,
    ("tree", "regression"): DPTreeRegressor,
}
EVERY = [
    *(("boosting", recipe, task) for recipe in ALGORITHMS.names for task in LABELS),
    *(("tree", recipe, "classification") for recipe in TREE_ALGORITHMS),
    *(("tree", recipe, "regression") for recipe in NUMBER_TREE_ALGORITHMS),
]
ROWS = table()


def outcome(model):
    """Return what is released: the text, and the records of the ledger."""
    report = model.privacy_report_
    return model.booster_.model_to_string(), report.spent, report.releases


def given(kind, task, **more):
    few = FEW if kind == "boosting" else {}
    own = {"epsilon": 20.0, "noise_seed": 5, "max_depth": 2, "schema": SCHEMA | LABELS[task]}
    return own | few | more


def locally(kind, task, X=None, fit=None, **more):
    X = ROWS.select(NAMES) if X is None else X
    labels = ROWS.column(task).to_numpy()
    return LOCAL[kind, task](**given(kind, task, **more)).fit(X, labels, **(fit or {}))


def on_cluster(frame, kind, task, **more):
    estimator = getattr(dpboost.spark, f"Spark{LOCAL[kind, task].__name__}")
    columns = {"labelCol": task} | ({} if "featuresCol" in more else {"featuresCols": NAMES})
    return estimator(**columns, **given(kind, task, **more)).fit(frame)


@pytest.fixture(scope="module", params=[pytest.param(1, marks=pytest.mark.nightly), 3])
def frame(request, session):
    return on_spark(session, request.param).persist()


@pytest.mark.parametrize(
    ("kind", "recipe", "task"),
    [pytest.param(*each, marks=() if each[1] == "best" else pytest.mark.nightly) for each in EVERY],
)
def test_every_recipe_trains_the_same_model(frame, kind, recipe, task):
    model = on_cluster(frame, kind, task, recipe=recipe)
    assert outcome(model.to_local()) == outcome(locally(kind, task, recipe=recipe))
    assert type(model.to_local()) is LOCAL[kind, task]


def test_users_are_protected_as_in_one_place(frame):
    model = on_cluster(frame, "boosting", "regression", rows_per_user=3, userCol="user")
    ids = {"user_ids": ROWS.column("user").to_numpy()}
    expected = locally("boosting", "regression", fit=ids, rows_per_user=3)
    assert outcome(model.to_local()) == outcome(expected)
    assert model.privacy_report_.to_dict() == expected.privacy_report_.to_dict()


def test_weights_are_those_of_one_place(frame):
    model = on_cluster(frame, "boosting", "regression", weightCol="weight", max_weight=2.0)
    weights = {"sample_weight": ROWS.column("weight").to_numpy()}
    expected = locally("boosting", "regression", fit=weights, max_weight=2.0)
    assert outcome(model.to_local()) == outcome(expected)


UNDECLARED = {"schema": {}, "epsilon": 50.0, "noise_seed": 5, "max_depth": 2, "delta": 1e-3}


def test_what_is_not_declared_is_learned_as_in_one_place(frame):
    """Bounds and classes, of which the first reading says nothing in public."""
    model = SparkDPBoostClassifier(
        featuresCols=NAMES[:3], labelCol="classification", **FEW, **UNDECLARED
    ).fit(frame)
    labels = ROWS.column("classification").to_numpy()
    expected = DPBoostClassifier(**FEW, **UNDECLARED).fit(ROWS.select(NAMES[:3]), labels)
    assert outcome(model.to_local()) == outcome(expected)


OTHERS = {
    "quantiles": {"objective": "quantile", "alpha": [0.1, 0.5, 0.9]},
    "dealt": {"trees_per_ensemble": 2, "n_estimators": 6},
    "LightGBM's names": {"lightgbmParams": {"bagging_fraction": 0.5, "bagging_freq": 1}},
    "a function": {"objective": lambda y, score: (score - y, np.ones_like(y))},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_ways_to_learn_are_those_of_one_place(frame, name):
    asked = dict(OTHERS[name])
    if name == "a function":
        asked |= {"gradient_bound": 2.0, "hessian_bound": 1.0, "score_bounds": (-3, 4)}
    model = on_cluster(frame, "boosting", "regression", **asked)
    asked |= asked.pop("lightgbmParams", {})
    assert outcome(model.to_local()) == outcome(locally("boosting", "regression", **asked))
    first = model.transform(frame).select("prediction").first()[0]
    np.testing.assert_allclose(first, model.to_local().predict(ROWS.select(NAMES))[0], atol=1e-12)


def test_a_column_of_vectors_is_an_array(frame):
    whole = frame.na.fill(0.0)
    vectors = VectorAssembler(inputCols=["a", "b", "c"], outputCol="v.1").transform(whole)
    schema = {"bounds": {0: (-2, 2), 1: (0, 8), 2: (-1, 1)}, "classes": [0, 1]}
    asked = {"schema": schema, "featuresCol": "v.1"}
    model = on_cluster(vectors, "boosting", "classification", **asked)
    rows = [each.fill_null(0.0).cast("double") for each in ROWS.select(["a", "b", "c"]).columns]
    X = np.column_stack([each.to_numpy() for each in rows])
    expected = locally("boosting", "classification", X, schema=schema)
    assert outcome(model.to_local()) == outcome(expected)
    found = model.transform(vectors).select("rawPrediction", "probability", "prediction").collect()
    assert (model.numFeatures, model.numClasses) == (3, 2)
    probability = np.array([row.probability.toArray() for row in found])
    np.testing.assert_array_equal(probability, expected.predict_proba(X))
    np.testing.assert_array_equal([row.prediction for row in found], expected.predict(X))
    raw = np.array([row.rawPrediction.toArray() for row in found])
    np.testing.assert_array_equal(raw[:, 1], expected.decision_function(X))
    np.testing.assert_array_equal(raw[:, 0], -raw[:, 1])


def test_estimators_and_models_are_stored_and_stand_in_pipelines(frame, tmp_path):
    whole = frame.na.fill(0.0)
    assembler = VectorAssembler(inputCols=["a", "b", "c"], outputCol="features")
    schema = {"bounds": {0: (-2, 2), 1: (0, 8), 2: (-1, 1)}, "label_bounds": (-3, 4)}
    own = SparkDPBoostRegressor(labelCol="regression", schema=schema, noise_seed=5, **FEW)
    own.write().overwrite().save(str(tmp_path / "estimator"))
    again = SparkDPBoostRegressor.load(str(tmp_path / "estimator"))
    assert again.uid == own.uid
    names = {param.name: value for param, value in own.extractParamMap().items()}
    assert {param.name: value for param, value in again.extractParamMap().items()} == names
    pipeline = Pipeline(stages=[assembler, again]).fit(whole)
    pipeline.save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    (first, second) = (
        [row.prediction for row in each.transform(whole).collect()] for each in (pipeline, loaded)
    )
    assert first == second
    local = loaded.stages[1].to_local()
    assert outcome(local) == outcome(pipeline.stages[1].to_local())
    assert loaded.stages[1].privacy_report_.to_dict() == local.privacy_report_.to_dict()


def test_parameters_are_those_of_pyspark(frame):
    own = SparkDPBoostRegressor(featuresCols=NAMES, labelCol="regression", schema=SCHEMA, **FEW)
    assert own.getOrDefault("epsilon") == 1.0
    assert "as in dpboost.DPBoostRegressor" in own.explainParam("epsilon")
    assert own.copy({own.epsilon: 3.0}).getOrDefault(own.epsilon) == 3.0
    local = set(inspect.signature(DPBoostRegressor).parameters) - {"kwargs"}
    assert local < {param.name for param in own.params}
    schema = SCHEMA | LABELS["regression"]
    one, two = own.fit(frame, [{own.schema: schema, own.epsilon: epsilon} for epsilon in (2, 3)])
    assert (one.privacy_report_.epsilon, two.privacy_report_.epsilon) == (2, 3)


def test_a_budget_pays_for_fits_and_judges_their_models(frame):
    budget = Budget(epsilon=4, delta=1e-5)
    own = SparkDPBoostClassifier(
        featuresCols=NAMES, labelCol="classification", schema=SCHEMA | LABELS["classification"]
    )
    with budget:
        model = own.fit(frame, fraction=0.5)
    with pytest.raises(dpboost.BudgetExceededError):
        own.fit(frame, budget=budget, fraction=0.6)
    labels = ROWS.column("classification").to_numpy()
    judged = dpboost.evaluate(
        model.to_local(), ROWS.select(NAMES), labels, budget=budget, fraction=0.5
    )
    assert judged.report.spent


@pytest.mark.parametrize("kind", ["columns", "vectors"])
def test_a_fit_is_replayed_from_its_transcript(frame, tmp_path, kind):
    if kind == "columns":
        model = on_cluster(frame, "boosting", "regression", noise_seed=None)
    else:
        rows = VectorAssembler(inputCols=["a", "b"], outputCol="features").transform(frame)
        schema = {"bounds": {0: (-2, 2), 1: (0, 8)}, "label_bounds": (-3, 4)}
        asked = {"schema": schema, "noise_seed": None, "featuresCol": "features"}
        model = on_cluster(rows, "boosting", "regression", **asked)
    model.to_local().transcript_.save(tmp_path / "fit.transcript")
    again = replay(Transcript.load(tmp_path / "fit.transcript"))
    assert outcome(again) == outcome(model.to_local())


def test_callbacks_look_on(frame):
    seen = []
    own = SparkDPBoostRegressor(
        featuresCols=NAMES, labelCol="regression", schema=SCHEMA | LABELS["regression"], **FEW
    )
    own.fit(frame, callbacks=[lambda env: seen.append(env.iteration)])
    assert seen == [0, 1]
