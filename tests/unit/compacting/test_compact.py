"""Small models: what they carry over, what they say of themselves, and what is refused."""

import json

import lightgbm
import numpy as np
import pandas as pd
import pytest

import dpboost
from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.main import main
from dpboost.compacting import compact as compacting
from dpboost.compacting.drawn_rows import cells_of, draw_rows
from dpboost.compacting.released_function import ReleasedFunction
from dpboost.data.conform import conform
from dpboost.lightgbm.model_text.read_trees import read_trees
from dpboost.reporting.terms import AFTER_THE_FIT, COMPACT_SETTINGS

pytestmark = pytest.mark.filterwarnings("ignore")

COLORS = ["red", "green", "blue", "gray"]
SCHEMA = {
    "bounds": {"a": (0, 1), "b": (-1, 1), "c": (0, 1)},
    "categories": {"color": COLORS},
}
# A wrong way of a split makes the error one or more.
NEAR = 0.35
SMALL = {"n_trees": 60, "num_leaves": 15}


def table(n_rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {name: rng.uniform(*ends, n_rows) for name, ends in SCHEMA["bounds"].items()}
    )
    frame.loc[rng.random(n_rows) < 0.1, "b"] = np.nan
    codes = rng.integers(0, 4, n_rows)
    frame["color"] = pd.Categorical.from_codes(codes, COLORS)
    signal = 3 * frame["a"] + frame["b"].fillna(2) * (codes % 2) + (codes == 2)
    return frame, (signal + 0.1 * rng.normal(size=n_rows)).to_numpy()


def fitted(kind=dpboost.DPBoostRegressor, y=None, fit=None, **settings):
    X, signal = table()
    labels = {"label_bounds": (-3, 7)} if y is None else {}
    labels |= {} if y is None or kind is dpboost.DPBoostRegressor else {"classes": sorted(set(y))}
    if y is not None and kind is dpboost.DPBoostRegressor:
        labels = {"label_bounds": (0, 30)}
    settings = {"epsilon": 8.0, "delta": 1e-6, "n_jobs": 1, "verbosity": -1, **settings}
    model = kind(schema={**SCHEMA, **labels}, **settings)
    return model.fit(X, signal if y is None else y, **(fit or {}))


@pytest.fixture(scope="module")
def model():
    return fitted()


def rows(model, n_rows=1000):
    return conform(table(n_rows, seed=1)[0], model.ensemble_.binner)


def error(model, small, X):
    full = np.asarray(model.booster_.predict(X, raw_score=True))
    return np.std(small.predict(X, raw_score=True) - full) / np.std(full)


def edges(text):
    forest = read_trees(text)
    found = set()
    for tree in forest.trees:
        numbers = tree.decision_type & 1 == 0
        found |= set(
            zip(tree.feature[numbers].tolist(), tree.threshold[numbers].tolist(), strict=True)
        )
    return {(f, value) for f, value in found if value < 1e300}


def test_a_text_is_the_function_that_lightgbm_predicts(model):
    X = rows(model)
    text = model.booster_.model_to_string()
    raw = model.booster_.predict(X, raw_score=True)
    for function in (ReleasedFunction.of_text(text), ReleasedFunction.of_ensemble(model.ensemble_)):
        cells = cells_of(function, X, model.booster_.pandas_categorical, "test")
        found = function.scores(cells, function.trees) + function.start[0]
        assert np.allclose(found, raw, atol=1e-9)


@pytest.mark.parametrize("from_text", [False, True])
def test_a_small_model_says_what_the_full_one_says(model, from_text):
    source = model.booster_.model_to_string() if from_text else model
    small = dpboost.compact(source, **SMALL)
    text = small.model_to_string()
    assert small.num_trees() == 60
    assert len(text) < len(model.booster_.model_to_string()) / 4
    assert error(model, small, rows(model)) < NEAR
    assert edges(text) <= edges(model.booster_.model_to_string())
    assert small.pandas_categorical == model.booster_.pandas_categorical
    settings = json.loads(small.privacy_report.facts[COMPACT_SETTINGS])
    assert settings["error"] < NEAR
    assert ("known noise" in small.privacy_report.facts[AFTER_THE_FIT]) != from_text


def test_a_text_says_what_the_trees_over_cells_say(model):
    function = ReleasedFunction.of_ensemble(model.ensemble_)
    source = compacting._Source.of(model)
    fitting = compacting._Fitting.of(function, None, source)
    trees = fitting.trees(40, 31)
    asked = {"num_leaves": 31}
    text = compacting._text(source, fitting, trees, 0.1, asked)
    X = rows(model, 500)
    X.loc[:49, "a"] = np.nan
    X.loc[50:99, "color"] = None
    cells = cells_of(function, X, model.booster_.pandas_categorical, "test")
    expected = trees[0][0].scores(function, cells) + function.start[0]
    assert np.allclose(lightgbm.Booster(model_str=text).predict(X), expected, atol=1e-6)
    unknown = X.assign(color=pd.Categorical(["violet"] * 500))
    missing = X.assign(color=pd.Categorical([None] * 500, categories=COLORS))
    small = dpboost.Booster(model_str=text)
    assert np.array_equal(small.predict(unknown), small.predict(missing))


def test_zeros_may_be_what_is_missing():
    X = np.random.default_rng(0).integers(0, 5, size=(3000, 2)).astype(float)
    schema = {"bounds": {0: (0, 5), 1: (0, 5)}, "label_bounds": (-2, 7)}
    model = dpboost.DPBoostRegressor(epsilon=8.0, delta=1e-6, schema=schema, zero_as_missing=True)
    model.fit(X, X[:, 0] - 2 * (X[:, 1] == 0))
    small = model.compact(**SMALL)
    assert error(model, small, X) < NEAR
    assert error(model, dpboost.compact(model.booster_, **SMALL), X) < NEAR


def test_contributions_add_up(model):
    X = rows(model, 50)
    small = model.compact(**SMALL)
    found = small.predict(X, pred_contrib=True)
    assert np.allclose(found.sum(axis=1), small.predict(X, raw_score=True))


def test_the_same_model_has_the_same_small_one(model):
    first = model.compact(**SMALL).model_to_string()
    model.n_jobs = 2
    try:
        assert model.compact(**SMALL).model_to_string() == first
    finally:
        model.n_jobs = 1


def test_directions_and_groups_are_kept():
    model = fitted(
        monotone_constraints={"a": 1}, interaction_constraints=[["a", "b"], ["c", "color"]]
    )
    small = model.compact(**SMALL)
    assert dpboost.check_constraints(small, {"a": 1}, [["a", "b"], ["c", "color"]])
    assert not dpboost.check_constraints(fitted().compact(**SMALL), {"a": 1})
    assert small.num_trees() == 60


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_carried_over(n_classes):
    y = np.digitize(table()[1], [1.5, 2.5][: n_classes - 1])
    model = fitted(dpboost.DPBoostClassifier, y)
    small = model.compact(**SMALL)
    X = rows(model)
    full = model.booster_.predict(X)
    assert small.predict(X).shape == full.shape
    assert np.abs(small.predict(X) - full).mean() < 0.1


def test_several_quantiles_are_carried_over():
    model = fitted(objective="quantile", alpha=[0.1, 0.5, 0.9], n_estimators=300)
    X = rows(model)
    small = np.sort(model.compact(**SMALL).predict(X), axis=1)
    full = model.predict(X)
    assert small.shape == full.shape == (len(X), 3)
    assert (np.std(small - full, axis=0) < NEAR * np.std(full, axis=0)).all()


def test_models_of_parties_are_carried_over():
    X, y = table()
    half = len(X) // 2
    model = dpboost.federated.FederatedBoostingRegressor(
        schema={**SCHEMA, "label_bounds": (-3, 7)}, verbosity=-1, epsilon=8.0, delta=1e-6
    ).fit([(X[:half], y[:half]), (X[half:], y[half:])])
    public = table(2000, seed=3)[0]
    for small in (
        dpboost.compact(model.booster_, **SMALL),
        dpboost.compact(model.booster_, **SMALL, public_rows=public),
    ):
        assert error(model, small, conform(public, model.ensemble_.binner)) < NEAR


def test_a_link_is_carried_over():
    y = np.exp(table()[1] / 3)
    model = fitted(dpboost.DPBoostRegressor, y, objective="poisson")
    small = model.compact(**SMALL)
    X = rows(model)
    assert np.allclose(np.log(small.predict(X)), small.predict(X, raw_score=True))
    assert error(model, small, X) < NEAR


def test_a_model_that_continues_another_is_carried_whole(model):
    both = fitted(fit={"init_model": model})
    small = both.compact(**SMALL)
    assert error(both, small, rows(both)) < NEAR
    assert "known noise" not in small.privacy_report.facts[AFTER_THE_FIT]


def test_public_rows_take_the_place_of_draws(model):
    X = table(2000, seed=3)[0]
    small = model.compact(**SMALL, public_rows=X)
    assert "declared public rows" in small.privacy_report.facts[AFTER_THE_FIT]
    assert error(model, small, rows(model)) < NEAR
    with pytest.raises(InvalidParameterError, match="a table of 4 columns"):
        model.compact(**SMALL, public_rows=X.iloc[:, :3])


def test_rows_are_drawn_by_released_shares(model):
    function = ReleasedFunction.of_ensemble(model.ensemble_)
    drawn = draw_rows(function, 20_000, np.random.default_rng(0))
    for f in function.used.tolist():
        n = function.n_bins[f] + 1
        expected = 0.9 * function.shares[f] + 0.1 / n
        assert np.abs(np.bincount(drawn[f], minlength=n) / 20_000 - expected).max() < 0.02


def test_an_error_is_kept_or_refused(model):
    loose = model.compact(n_trees=20, num_leaves=15)
    reached = json.loads(loose.privacy_report.facts[COMPACT_SETTINGS])["error"]
    tight = model.compact(n_trees=20, num_leaves=15, max_error=0.9 * reached)
    assert tight.num_trees() > 20
    with pytest.raises(InvalidParameterError, match="come as near as"):
        model.compact(n_trees=5, num_leaves=4, max_error=1e-6)


def test_what_cannot_be_carried_is_refused(model):
    with pytest.raises(InvalidParameterError, match="as small already"):
        model.compact(n_trees=10**6)
    with pytest.raises(InvalidParameterError, match="must be a fitted estimator"):
        dpboost.compact(3)
    silent = fitted(recipe="dpboost", n_estimators=40, max_depth=6)
    if ReleasedFunction.of_text(silent.booster_.model_to_string()).shares is None:
        with pytest.raises(InvalidParameterError, match="public_rows="):
            silent.compact(n_trees=10, num_leaves=7)
        silent.compact(n_trees=10, num_leaves=7, public_rows=table(500)[0])


def test_the_report_and_the_certificate_name_the_step(model):
    report = model.compact(**SMALL).privacy_report
    assert "After the fit" in str(report)
    assert report.guarantee == model.privacy_report_.guarantee
    record = report.certificate(model=model.compact(**SMALL))
    assert record["identity"]["after_the_fit"].startswith("compact: 60 trees")
    assert "after_the_fit" not in model.privacy_report_.certificate()["identity"]


def test_the_command_writes_a_text_that_its_transcript_gives_again(model, tmp_path, capsys):
    paths = [str(tmp_path / name) for name in ("full.txt", "small.txt", "record.json", "fit.zip")]
    model.booster_.save_model(paths[0])
    model.transcript_.save(paths[3])
    assert main(["compact", paths[0], "-o", paths[1], "--n-trees", "50"]) == 0
    assert "compact: 50 trees" in capsys.readouterr().out
    assert main(["report", paths[1], "--certificate", paths[2]]) == 0
    assert main(["verify", paths[2], paths[1], "--transcript", paths[3]]) == 0
    model.compact(**SMALL).save_model(paths[1])
    assert main(["report", paths[1], "--certificate", paths[2]]) == 0
    assert main(["verify", paths[2], paths[1], "--transcript", paths[3]]) == 0
    fitted().compact(**SMALL).save_model(paths[1])
    assert main(["report", paths[1], "--certificate", paths[2]]) == 0
    assert main(["verify", paths[2], paths[1], "--transcript", paths[3]]) == 1


def test_the_command_takes_public_rows(model, tmp_path, capsys):
    full, small, public = (tmp_path / name for name in ("full.txt", "small.txt", "public.csv"))
    model.booster_.save_model(full)
    table(2000, seed=3)[0].to_csv(public, index=False)
    given = ["compact", str(full), "-o", str(small), "--max-error", "0.9", "--n-trees", "50"]
    assert main([*given, "--public-rows", str(public)]) == 0
    assert "declared public rows" in capsys.readouterr().out
