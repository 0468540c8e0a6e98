"""The Booster keeps the report, and stock LightGBM reads what it writes."""

import copy
import json
import pickle
import re
import sys

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from lightgbm.basic import LightGBMError

from dpboost._utils.validation import InvalidParameterError
from dpboost.lightgbm import Booster, ModelTextError, model_text
from dpboost.lightgbm.init_model import EarlierModel
from dpboost.reporting.privacy_report import PrivacyReport
from tests.unit.ledgers import open_ledger
from tests.unit.lightgbm.model_text.test_model_check import chain_text


@pytest.fixture(scope="module")
def ensemble(tools):
    return tools.ensemble(21, n_trees=12, report=report('a=b=c ü \u2028 \n \\ "').to_dict())


def report(note):
    return PrivacyReport.from_ledger(open_ledger(0.1), facts={"note": note})


@pytest.fixture(scope="module")
def text(ensemble):
    return model_text(ensemble, parameters={"num_leaves": 12})


@pytest.fixture
def booster(text):
    return Booster(model_str=text)


def test_report_and_text_come_back(booster, ensemble, text):
    assert booster.privacy_report.to_dict() == ensemble.report
    assert booster.model_to_string() == text


def test_report_is_a_fresh_one(booster, ensemble):
    booster.privacy_report.facts["note"] = "changed"
    assert booster.privacy_report.to_dict() == ensemble.report


@pytest.mark.parametrize("path_type", [str, lambda path: path])
def test_save_load_save_is_byte_for_byte(booster, ensemble, text, tmp_path, path_type):
    first, second = tmp_path / "first.txt", tmp_path / "größe.txt"
    assert booster.save_model(path_type(first)) is booster
    assert first.read_bytes() == text.encode()
    loaded = Booster(model_file=path_type(first))
    loaded.save_model(path_type(second))
    assert second.read_bytes() == first.read_bytes()
    assert loaded.privacy_report.to_dict() == ensemble.report


def test_stock_lightgbm_reads_the_file(booster, tools, ensemble, tmp_path):
    booster.save_model(tmp_path / "model.txt")
    stock = lightgbm.Booster(model_file=tmp_path / "model.txt")
    X = tools.rows(np.random.default_rng(2), ensemble.binner, 50)
    np.testing.assert_array_equal(stock.predict(X), booster.predict(X))
    np.testing.assert_array_equal(stock.predict(X), tools.raw_scores(ensemble, X))
    again = Booster(model_str=stock.model_to_string())
    assert again.privacy_report is None
    np.testing.assert_array_equal(again.predict(X), booster.predict(X))


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))]
)
def test_copies_and_pickles_keep_everything(booster, ensemble, text, duplicate):
    booster.best_iteration = 7
    booster.best_score["valid"] = {"l2": 1.0}
    other = duplicate(booster)
    assert type(other) is Booster
    assert other.privacy_report.to_dict() == ensemble.report
    assert other.model_to_string(num_iteration=-1) == text
    assert other.best_iteration == 7
    assert other.best_score == {"valid": {"l2": 1.0}}
    assert other.params == booster.params
    other.best_score["valid"]["l2"] = 2.0
    other.set_leaf_output(0, 0, 3.0)
    assert booster.best_score == {"valid": {"l2": 1.0}}
    assert booster.model_to_string(num_iteration=-1) == text


def test_a_part_of_the_model_keeps_the_report(booster, ensemble, tmp_path):
    part = Booster(model_str=booster.model_to_string(num_iteration=3, start_iteration=2))
    assert part.num_trees() == 3
    assert part.privacy_report.to_dict() == ensemble.report
    booster.save_model(tmp_path / "part.txt", num_iteration=3, start_iteration=2)
    assert (tmp_path / "part.txt").read_text("utf-8") == booster.model_to_string(3, 2)
    booster.best_iteration = 5
    assert Booster(model_str=booster.model_to_string()).num_trees() == 5


def test_importance_type_is_passed_on(booster):
    stock = lightgbm.Booster(model_str=booster.model_to_string())
    with_gain = booster.model_to_string(importance_type="gain")
    assert (
        stock.model_to_string(importance_type="gain").split("parameters:")[0]
        == (with_gain.split("parameters:")[0])
    )


def test_model_from_string_replaces_the_report(booster, text, tools):
    stock = lightgbm.Booster(model_str=text).model_to_string()
    assert booster.model_from_string(stock) is booster
    assert booster.privacy_report is None
    assert booster.model_to_string() == stock
    booster.model_from_string(model_text(tools.ensemble(3, report=report("other").to_dict())))
    assert booster.privacy_report == report("other")


def test_refused_text_leaves_the_booster_as_it_is(booster, text):
    with pytest.raises(ModelTextError):
        booster.model_from_string(text.replace("num_class=1", "num_class=0"))
    assert booster.model_to_string() == text


def test_texts_in_pickles_are_checked_first(booster, text):
    bad = pickle.dumps(booster).replace(b"label_index=0", b"label_index=x")
    with pytest.raises(ModelTextError, match="label_index"):
        pickle.loads(bad)
    with pytest.raises(ModelTextError, match="label_index"):
        Booster.__new__(Booster).__setstate__({"_handle": text.replace("x=0", "x=x")})


def test_models_to_continue_are_checked_first(text, tmp_path):
    (tmp_path / "model.txt").write_text(text.replace("label_index=0", "label_index=x"))
    with pytest.raises(ModelTextError, match="label_index"):
        EarlierModel.of(tmp_path / "model.txt")


def test_parameters_of_an_unknown_kind_are_refused(text, monkeypatch):
    monkeypatch.setattr("dpboost.lightgbm.booster.check_model_text", lambda _: None)
    odd = text.replace("[num_leaves: 12]", "[learning_rate: nan]")
    with pytest.raises(ModelTextError, match="parameters"):
        Booster(model_str=odd)


# -- what MLflow relies on ------------------------------------------------------------------------


def test_tools_that_ask_for_the_class_see_lightgbms(booster, tmp_path):
    """MLflow reads back the saved text if this is the name that it noted, else a pickle."""
    told = booster.__class__
    assert f"{told.__module__}.{told.__name__}" == "lightgbm.basic.Booster"
    assert isinstance(booster, lightgbm.Booster)
    assert type(booster) is Booster
    assert isinstance(booster, Booster)

    class Own(Booster):
        pass

    assert type(copy.deepcopy(Own(model_str=booster.model_to_string()))) is Own


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_bring_back_this_class(booster, protocol):
    again = pickle.loads(pickle.dumps(booster, protocol=protocol))
    assert type(again) is Booster
    assert again.model_to_string() == booster.model_to_string()


def test_mlflow_loads_what_it_has_saved(booster, ensemble, tools, tmp_path):
    mlflow_lightgbm = pytest.importorskip("mlflow.lightgbm")
    X = tools.rows(np.random.default_rng(2), ensemble.binner, 20)
    mlflow_lightgbm.save_model(booster, tmp_path / "saved", pip_requirements=[])
    loaded = mlflow_lightgbm.load_model(str(tmp_path / "saved"))
    np.testing.assert_array_equal(loaded.predict(X), booster.predict(X))
    file = Booster(model_file=tmp_path / "saved" / "model.lgb")
    assert file.privacy_report == ensemble.report


def test_files_are_checked_first(text, tmp_path):
    (tmp_path / "windows.txt").write_bytes(text.replace("\n", "\r\n").encode())
    (tmp_path / "latin.txt").write_bytes(b"tree\nversion=\xe4")
    for name in ("windows.txt", "latin.txt"):
        with pytest.raises(ModelTextError):
            Booster(model_file=tmp_path / name)
    with pytest.raises(FileNotFoundError):
        Booster(model_file=tmp_path / "absent.txt")


def test_post_processing_keeps_the_report(booster, ensemble):
    booster.shuffle_models()
    booster.set_leaf_output(0, 0, 1.5)
    assert booster.get_leaf_output(0, 0) == 1.5
    assert Booster(model_str=booster.model_to_string()).privacy_report.to_dict() == ensemble.report


@pytest.mark.parametrize(
    "call",
    [
        lambda b, X, y: b.update(),
        lambda b, X, y: b.update(fobj=lambda score, data: (score, score)),
        lambda b, X, y: b.refit(X, y),
        lambda b, X, y: b.add_valid(lightgbm.Dataset(X, y), "valid"),
        lambda b, X, y: b.eval(lightgbm.Dataset(X, y), "valid"),
        lambda b, X, y: b.eval_train(),
        lambda b, X, y: b.eval_valid(),
        lambda b, X, y: b.rollback_one_iter(),
        lambda b, X, y: b.reset_parameter({"num_threads": 1}),
    ],
)
def test_training_is_refused(booster, text, call):
    with pytest.raises(LightGBMError, match="Booster"):
        call(booster, np.zeros((5, 6)), np.zeros(5))
    assert booster.model_to_string() == text


def test_a_model_is_required():
    with pytest.raises(TypeError, match="model"):
        Booster()


def test_booster_of_an_ensemble_is_that_of_its_text(ensemble, text, tools, monkeypatch):
    X = tools.rows(np.random.default_rng(2), ensemble.binner, 50)
    expected = Booster(model_str=text)
    monkeypatch.setattr("dpboost.lightgbm.booster.check_model_text", lambda _: pytest.fail("read"))
    made = Booster.of_ensemble(ensemble, parameters={"num_leaves": 12})
    monkeypatch.undo()
    assert type(made) is Booster
    assert made.model_to_string() == text
    assert made.privacy_report.to_dict() == ensemble.report
    assert made.params == expected.params
    np.testing.assert_array_equal(made.predict(X), expected.predict(X))
    assert copy.deepcopy(made).model_to_string() == text


def test_texts_from_outside_are_checked(text, tmp_path, monkeypatch):
    (tmp_path / "model.txt").write_bytes(text.encode())
    seen = []
    monkeypatch.setattr("dpboost.lightgbm.booster.check_model_text", seen.append)
    Booster(model_str=text).model_from_string(text)
    Booster(model_file=tmp_path / "model.txt")
    assert seen == [text] * 3


def test_stock_training_on_purpose_makes_a_stock_booster(booster):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 6)), rng.normal(size=100)
    data = lightgbm.Dataset(X, y)
    longer = lightgbm.train({"verbosity": -1, "num_threads": 1}, data, 2, init_model=booster)
    assert type(longer) is lightgbm.Booster
    assert longer.num_trees() == booster.num_trees() + 2
    refitted = lightgbm.Booster(model_str=booster.model_to_string()).refit(
        X, y, verbosity=-1, num_threads=1
    )
    assert "dpboost:" not in refitted.model_to_string()


def test_nothing_is_printed(text, tmp_path, capfd):
    booster = Booster(model_str=text)
    booster.save_model(tmp_path / "model.txt")
    loaded = copy.deepcopy(Booster(model_file=tmp_path / "model.txt"))
    loaded.predict(np.zeros((2, 6)), pred_contrib=True)
    pickle.loads(pickle.dumps(loaded))
    assert capfd.readouterr() == ("", "")


def test_dump_model_is_json(booster):
    assert json.loads(json.dumps(booster.dump_model()))["max_feature_idx"] == 5


def kept(tmp_path, booster, how):
    """Return LightGBM's own Booster of a model, after it was saved and loaded by LightGBM."""
    stock = booster.to_lightgbm()
    if how == "pickled":
        return pickle.loads(pickle.dumps(stock))
    if how == "copied":
        return copy.deepcopy(stock)
    if how == "saved":
        stock.save_model(tmp_path / "stock.txt")
        return lightgbm.Booster(model_file=tmp_path / "stock.txt")
    return stock


@pytest.mark.parametrize("how", ["as it is", "pickled", "copied", "saved"])
def test_lightgbms_own_booster_keeps_the_report(tools, tmp_path, capfd, how):
    ensemble = tools.ensemble(3)
    booster = Booster.of_ensemble(ensemble, parameters={"num_iterations": 10, "max_depth": 3})
    stock = kept(tmp_path, booster, how)
    assert type(stock) is lightgbm.Booster
    X = tools.rows(np.random.default_rng(0), ensemble.binner, 50)
    np.testing.assert_array_equal(stock.predict(X), booster.predict(X))
    again = Booster(model_str=stock.model_to_string())
    assert again.model_to_string() == booster.model_to_string()
    assert again._report_line == booster._report_line is not None
    assert again.params == booster.params
    assert "".join(capfd.readouterr()) == ""


def test_a_kept_report_that_is_none_is_refused(tools):
    text = Booster.of_ensemble(tools.ensemble(3)).to_lightgbm().model_to_string()
    assert text.count("[dpboost: ]:{") == 1
    for wrong in ("[dpboost: ]:[1]", "[dpboost: ]:{"):
        with pytest.raises(ModelTextError, match="report|JSON"):
            Booster(model_str=re.sub(r"\[dpboost: \]:.*", wrong, text))


def test_a_model_without_report_has_none_to_keep(tools):
    stock = lightgbm.Booster(model_str=Booster.of_ensemble(tools.ensemble(3)).model_to_string())
    plain = Booster(model_str=stock.model_to_string())
    assert plain._report_line is None
    assert "dpboost" not in plain.to_lightgbm().model_to_string()


TEXT = {
    "text": pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}),
    "objects": pd.DataFrame({"a": pd.Series([1, 2], dtype=object), "b": [1.0, 2.0]}),
    "dates": pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 2), "b": [1.0, 2.0]}),
    "array": np.array([["x", "y"]]),
    "array of objects": np.array([["x", 1]], dtype=object),
    "list": [["x", "y"]],
}


@pytest.mark.parametrize("kind", TEXT)
def test_text_is_refused_before_lightgbm_reads_it(kind, tools):
    bins = tools.Bins([{"edges": [0.5]}, {"edges": [1.0]}])
    booster = Booster(model_str=model_text(tools.ensemble(0, binner=bins)))
    for options in ({}, {"pred_leaf": True}, {"raw_score": True}):
        with pytest.raises(InvalidParameterError, match=r"'a' of X contain|of the 'X' argument"):
            booster.predict(TEXT[kind], **options)


def test_numbers_are_predicted_as_before(tools, tmp_path):
    bins = tools.Bins([{"edges": [0.5]}, {"edges": [1.0]}])
    text = model_text(tools.ensemble(0, binner=bins, n_trees=4))
    X = np.random.default_rng(0).uniform(0, 2, (20, 2))
    own, stock = Booster(model_str=text), lightgbm.Booster(model_str=text)
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",")
    frame = pd.DataFrame(X)
    path = str(tmp_path / "rows.csv")
    for rows in (X, X.tolist(), frame, frame.astype("Float64"), scipy.sparse.csr_matrix(X), path):
        np.testing.assert_array_equal(own.predict(rows), stock.predict(rows))
    np.testing.assert_array_equal(own.predict(X.astype(object)), stock.predict(X))


@pytest.mark.parametrize("depth", [2000, 4000])
def test_trees_too_deep_for_python_are_named(depth, tools):
    booster = Booster(model_str=chain_text(tools, depth))
    if sys.version_info < (3, 12):  # later ones have another limit for JSON
        with pytest.raises(InvalidParameterError, match=r"dump_model .*too many levels"):
            booster.dump_model()
    with pytest.raises(InvalidParameterError, match="trees_to_dataframe|dump_model"):
        booster.trees_to_dataframe()
    assert np.isfinite(booster.predict([[0.0, 0.0]])).all()
    assert Booster(model_str=booster.model_to_string()).num_trees() == 1


def test_refusals_name_the_way_there_is(booster):
    with pytest.raises(InvalidParameterError, match="dpboost.refit_leaves"):
        booster.refit(None, None)
    with pytest.raises(InvalidParameterError, match="init_model"):
        booster.update()


def test_the_default_importance_is_the_released_gain(booster):
    np.testing.assert_array_equal(booster.feature_importance(), booster.feature_importance("gain"))
    stock = Booster(
        model_str=lightgbm.Booster(model_str=booster.model_to_string()).model_to_string()
    )
    assert stock.privacy_report is None
    np.testing.assert_array_equal(stock.feature_importance(), stock.feature_importance("split"))
