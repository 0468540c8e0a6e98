"""MLflow keeps a released model and reads it back."""

import numpy as np
import pytest

import dpboost

mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: pip install mlflow-skinny")
pytestmark = pytest.mark.filterwarnings("ignore")


# It writes an environment for each model, which takes seconds.
@pytest.fixture(params=["regression", "multiclass"])
def model(request):
    return request.param, "best"


@pytest.fixture(params=["numbers", "missing categories"])
def kind(request):
    return request.param


@pytest.fixture
def tracking(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    mlflow.set_experiment("clients")
    yield
    mlflow.set_tracking_uri(None)


def test_a_booster_is_saved_and_loaded(case, tmp_path):
    """`mlflow.lightgbm.save_model(model.booster_)`: the same predictions"""
    path = str(tmp_path / "model")
    mlflow.lightgbm.save_model(dpboost.Booster(model_str=case.text), path)
    again = mlflow.lightgbm.load_model(path)
    assert np.array_equal(again.predict(case.X), case.booster.predict(case.X))


def test_the_report_comes_along(case, tmp_path):
    """`save_model(model.booster_.to_lightgbm())`: the privacy report comes back too"""
    booster = dpboost.Booster(model_str=case.text)
    path = str(tmp_path / "model")
    mlflow.lightgbm.save_model(booster.to_lightgbm(), path)
    text = mlflow.lightgbm.load_model(path).model_to_string()
    assert dpboost.Booster(model_str=text).privacy_report == booster.privacy_report


def test_a_logged_model_serves(fitted, tracking):
    """`mlflow.lightgbm.log_model` and `mlflow.pyfunc.load_model`: the same predictions"""
    case = fitted("regression", "best", "numbers")
    booster = dpboost.Booster(model_str=case.text)
    with mlflow.start_run():
        logged = mlflow.lightgbm.log_model(booster.to_lightgbm(), name="model")
    served = mlflow.pyfunc.load_model(logged.model_uri)
    assert np.array_equal(served.predict(case.X), case.booster.predict(case.X))


X = np.random.default_rng(0).uniform(size=(200, 2))
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (0, 1)}


def estimator():
    return dpboost.DPBoostRegressor(schema=SCHEMA, n_estimators=3, verbosity=-1)


def test_an_estimator_is_logged_as_lightgbms_own(tracking):
    """`mlflow.lightgbm.log_model(model.to_lightgbm(), ...)`: the same numbers, and the report"""
    model = estimator().fit(X, X[:, 0])
    with mlflow.start_run():
        logged = mlflow.lightgbm.log_model(model.to_lightgbm(), name="model")
    served = mlflow.lightgbm.load_model(logged.model_uri)
    assert np.array_equal(served.predict(X), model.predict(X))
    text = served.booster_.model_to_string()
    assert dpboost.Booster(model_str=text).privacy_report == model.booster_.privacy_report


def test_our_own_types_are_not_trusted(tracking, is_on_the_page):
    """the estimator itself is refused: its types are none that MLflow trusts"""
    model = estimator().fit(X, X[:, 0])
    with mlflow.start_run(), pytest.raises(mlflow.MlflowException) as error:
        mlflow.lightgbm.log_model(model, name="model")
    assert is_on_the_page(error)


@pytest.mark.parametrize("how", ["skops", "cloudpickle"])
def test_the_estimator_itself_is_logged_on_request(tracking, how):
    """with `skops_trusted_types=` or as `"cloudpickle"` it comes back itself, with its report"""
    model = estimator().fit(X, X[:, 0])
    asked = {"serialization_format": how}
    if how == "skops":
        io = pytest.importorskip("skops.io")
        asked["skops_trusted_types"] = io.get_untrusted_types(data=io.dumps(model))
    with mlflow.start_run():
        logged = mlflow.lightgbm.log_model(model, name="model", **asked)
    again = mlflow.lightgbm.load_model(logged.model_uri)
    assert type(again) is dpboost.DPBoostRegressor
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.privacy_report_ == model.privacy_report_


@pytest.mark.parametrize("how", ["train", "fit"])
def test_autolog_gets_what_is_released(tracking, how):
    """`mlflow.lightgbm.autolog()`: parameters, public metrics, importances, model, report"""
    mlflow.lightgbm.autolog(silent=True)
    params = {"schema": SCHEMA, "verbosity": -1, "learning_rate": 0.25}
    try:
        if how == "train":
            valid = [dpboost.Dataset(X, X[:, 0]), dpboost.Dataset(X[:50].copy(), X[:50, 0])]
            model = dpboost.train(params, valid[0], 3, valid_sets=valid)
        else:
            model = estimator().set_params(learning_rate=0.25)
            model.fit(X, X[:, 0], eval_set=[(X, X[:, 0]), (X[:50].copy(), X[:50, 0])])
    finally:
        mlflow.lightgbm.autolog(disable=True)
    run = mlflow.last_active_run()
    assert run.data.params["learning_rate"] == "0.25"
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "valid_1-l2")
    assert {each.step for each in history} == {0, 1, 2}
    assert set(run.data.metrics) == {"valid_1-l2"}
    names = {each.path for each in mlflow.MlflowClient().list_artifacts(run.info.run_id)}
    assert {"privacy_report.json", "feature_importance_gain.json"} <= names
    (logged,) = mlflow.search_logged_models(output_format="list")
    served = mlflow.pyfunc.load_model(logged.model_uri)
    assert np.array_equal(served.predict(X), model.predict(X))
    estimator().fit(X, X[:, 0])  # switched off
    assert mlflow.last_active_run().info.run_id == run.info.run_id
