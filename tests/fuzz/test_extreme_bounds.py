"""Tiny fits at the ends of all public bounds: refused before the first draw, or whole models."""

import warnings

import lightgbm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpboost
from dpboost import (
    Budget,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    InvalidParameterError,
    evaluate,
)
from dpboost._utils.schema_checks import LARGEST_BOUND, LEAST_WIDTH
from dpboost.audit import pair_of, replay_pair
from dpboost.privacy.sensitivity.bound import Neighbors
from tests.fuzz.test_fit import check_model, released  # noqa: F401

# Beyond the limits: to be refused, whatever else is asked for.
ILLEGAL = (1e300, 5e-324, 2.5e154, 1e-300, float(np.nextafter(LARGEST_BOUND, np.inf)))
LEGAL = (LARGEST_BOUND, 1e29, 1e12, 1.0, 0.5, 1e-6, 1e-20, LEAST_WIDTH, 2 * LEAST_WIDTH, 0.0)
SIZES = st.sampled_from(LEGAL) | st.floats(-30, 30).map(lambda power: 10.0**power)
SIZES |= st.integers(0, 40).flatmap(lambda k: st.sampled_from(ILLEGAL if k == 0 else LEGAL))
ENDS = st.builds(lambda size, sign: sign * size, SIZES, st.sampled_from([-1.0, 1.0]))
CELLS = st.sampled_from([0.0, 1.0, 5e-324, 1e300, -1e300, np.nan, np.inf, -np.inf]) | ENDS
SMALLEST = 5e-324
LEVELS = (SMALLEST, 1e-12, 0.3, 0.9, 1 - 1e-12, float(np.nextafter(1, 0)))
SCALES = (1e-12, 1e-6, 1.0, 1e12, SMALLEST, 1e300)
OBJECTIVES = ("regression", "regression_l1", "huber", "fair", "quantile", "poisson", "gamma")
OBJECTIVES += ("tweedie", "cross_entropy", "binary")
CLASS_OBJECTIVES = ("binary", "multiclass", "multiclassova", "cross_entropy")
OF_POSITIVE = ("poisson", "gamma", "tweedie")
TREES = (DPTreeClassifier, DPTreeRegressor)
RECIPES = ("best", "best", "best", "dpboost", "seq", "para")
POWERS = (float(np.nextafter(1, 2)), 1.0001, 1.5, 1.999, float(np.nextafter(2, 1)))


def gradients(y_true, y_pred, *_others):
    """Return gradients and hessians of half the squared error, as users write them."""
    return y_pred - y_true, np.ones_like(y_pred)


def gradients_of_classes(y_true, y_pred, *_others):
    """The same of several classes."""
    own = np.asarray(y_true)[:, np.newaxis] == np.arange(np.shape(y_pred)[1])
    return y_pred - own, np.ones_like(y_pred)


def pair(draw):
    """Return two numbers in their order, which may be equal."""
    return tuple(sorted((draw(ENDS), draw(ENDS))))


@st.composite
def schemas(draw, n_features, classes):
    mapping = {"bounds": {k: pair(draw) for k in range(n_features) if draw(st.booleans())}}
    if classes is not None:
        mapping["classes"] = list(range(classes))
    elif draw(st.integers(0, 5)):
        mapping["label_bounds"] = pair(draw)
    return mapping


@st.composite
def settings_of(draw, classes):
    """Return the parameters of an estimator of boosting."""
    found = {
        "recipe": "best" if classes == 3 else draw(st.sampled_from(RECIPES)),
        "n_estimators": draw(st.integers(1, 6)),
        "epsilon": draw(st.sampled_from([1.0, 50.0, np.inf])),
        "delta": draw(st.sampled_from([0.0, 1e-6])),
        "neighbors": draw(st.sampled_from(["add_remove", "replace"])),
        "verbosity": -1,
    }
    if found["recipe"] == "best" and draw(st.integers(0, 4)):
        custom = gradients if classes in (None, 2) else gradients_of_classes
        names = OBJECTIVES if classes is None else CLASS_OBJECTIVES
        found["objective"] = draw(st.sampled_from([*names, custom]))
        if callable(found["objective"]):
            found["gradient_bound"] = draw(st.sampled_from(SCALES))
            found["hessian_bound"] = draw(st.sampled_from(SCALES))
            if draw(st.booleans()):
                found["score_bounds"] = pair(draw)
        extremes = {
            "huber": {"alpha": SIZES},
            "fair": {"fair_c": SIZES},
            "quantile": {"alpha": st.sampled_from(LEVELS)},
            "tweedie": {"tweedie_variance_power": st.sampled_from(POWERS)},
            "poisson": {"poisson_max_delta_step": st.sampled_from([SMALLEST, 0.7, 9.99])},
        }
        if isinstance(found["objective"], str):
            for name, values in extremes.get(found["objective"], {}).items():
                found[name] = draw(values)
        if found["objective"] == "quantile" and draw(st.booleans()):
            found["alpha"] = list(LEVELS)
    ends = {
        "reg_lambda": [1e-6, 1.0, 1e12],
        "learning_rate": [SMALLEST, 1e-6, 1.0],
        "max_depth": [1, 3],
        "gradient_clip": [0.001, 1.0],
        "step_prior": [1e-6, 100.0],
        "hessian_share": [SMALLEST, 1e-9, 0.99],
        "max_delta_step": [SMALLEST, 1e-9, 1e300],
        "path_smooth": [SMALLEST, 1e300],
        "min_sum_hessian_in_leaf": [SMALLEST, 1e300],
    }
    for name, values in ends.items():
        of_all = name in ("reg_lambda", "learning_rate", "max_depth", "max_delta_step")
        if draw(st.integers(0, 5)) == 0 and (of_all or found["recipe"] == "best"):
            found[name] = draw(st.sampled_from(values))
    return found


@st.composite
def trees(draw):
    """Return the parameters of a single tree."""
    found = {
        "epsilon": draw(st.sampled_from([1.0, 50.0, np.inf])),
        "delta": draw(st.sampled_from([0.0, 1e-6])),
        "max_depth": draw(st.integers(0, 4)),
        "neighbors": draw(st.sampled_from(["add_remove", "replace"])),
    }
    ends = {"leaf_share": [0.001, 0.999], "max_weight": SCALES}
    for name, values in ends.items():
        if draw(st.integers(0, 3)) == 0:
            found[name] = draw(st.sampled_from(values))
    return found


@st.composite
def cases(draw):
    """Return an estimator with its rows, and the bounds of its labels."""
    n_rows, n_features = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    classes = draw(st.sampled_from([None, None, 2, 3]))
    schema = draw(schemas(n_features, classes))
    tree = draw(st.integers(0, 5)) == 0
    parameters = draw(trees() if tree else settings_of(classes))
    cells = st.lists(CELLS, min_size=n_rows * n_features, max_size=n_rows * n_features)
    X = np.array(draw(cells)).reshape(n_rows, n_features)
    if classes is None:
        ends = [*schema.get("label_bounds", ()), 0.0, 1.0, 1e308, -1e308, SMALLEST]
        labels = st.lists(st.sampled_from(ends), min_size=n_rows, max_size=n_rows)
    else:
        labels = st.lists(st.integers(0, classes), min_size=n_rows, max_size=n_rows)
    options = {}
    best = parameters.get("recipe", "best") == "best"
    if best and draw(st.integers(0, 3)) == 0:
        weights = st.sampled_from([0.0, SMALLEST, 1e-12, 1.0, 1e12, 1e308])
        options["sample_weight"] = draw(st.lists(weights, min_size=n_rows, max_size=n_rows))
        parameters.setdefault("max_weight", draw(st.sampled_from(SCALES)))
    if best and not tree and draw(st.integers(0, 5)) == 0:
        scores = st.sampled_from([-1e308, -1.0, 0.0, SMALLEST, 1e308])
        n_outputs = classes if classes == 3 else 1
        options["init_score"] = np.array(
            draw(st.lists(scores, min_size=n_outputs * n_rows, max_size=n_outputs * n_rows))
        ).reshape(n_rows, n_outputs)
    if classes is None:
        kind = DPTreeRegressor if tree else DPBoostRegressor
    else:
        kind = DPTreeClassifier if tree else DPBoostClassifier
    return kind, schema, parameters, X, np.array(draw(labels)), options


@given(cases())
def test_refused_before_any_release_or_a_whole_model(released, case):  # noqa: F811
    kind, schema, parameters, X, y, options = case
    released.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A warning of arithmetic would show that some number is odd.
        warnings.simplefilter("error", RuntimeWarning)
        try:
            known = dpboost.Schema(**schema)
            model = kind(schema=known, noise_seed=1, n_jobs=1, **parameters).fit(X, y, **options)
        except InvalidParameterError:
            # Learned bounds may show that no label is positive, which some losses need.
            learned = "label_bounds" not in schema
            assert released == [] or (learned and parameters.get("objective") in OF_POSITIVE)
            return
    for low, high in (*schema["bounds"].values(), schema.get("label_bounds", (0.0, 1.0))):
        assert max(abs(low), abs(high)) <= LARGEST_BOUND
    text = model.booster_.model_to_string()
    again = dpboost.Booster(model_str=text)
    assert again.model_to_string() == text
    np.testing.assert_array_equal(again.predict(X), model.booster_.predict(X))
    if callable(parameters.get("objective")) or issubclass(kind, TREES):
        assert np.isfinite(lightgbm.Booster(model_str=text).predict(X)).all()
    else:
        check_model(model, X)


@given(cases())
def test_every_release_keeps_to_its_charge_between_neighbors(case):
    kind, schema, parameters, X, y, _options = case
    neighbors = Neighbors(parameters["neighbors"])
    weighted = parameters.pop("max_weight", None)
    parameters["epsilon"] = min(parameters["epsilon"], 50.0)

    def fit(X, y):
        options = {}
        if weighted is not None and parameters.get("recipe", "best") == "best":
            # Something of the row itself that is neither negative nor missing.
            own = np.nan_to_num(np.abs(X[:, 0]), nan=1.0, posinf=1e308)
            options = {"sample_weight": own}
            parameters["max_weight"] = weighted
        kind(schema=schema, n_jobs=1, **parameters).fit(X, y, **options)
        return {}

    if "recipe" in parameters:
        parameters["random_state"] = 0
    both = pair_of(
        X[1:] if len(X) > 1 else X,
        y[1:] if len(X) > 1 else y,
        X[0],
        y[0],
        neighbors,
        instead=(X[-1], y[-1]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            audit = replay_pair(fit, both)
        except InvalidParameterError:
            return
    assert audit.violations == ()


@given(st.data())
def test_fits_that_hold_rows_out_and_are_evaluated(data):
    low, high = pair(data.draw)
    objective = data.draw(st.sampled_from(["regression", "regression_l1", "quantile", "gamma"]))
    n_rows = 40
    numbers = st.sampled_from([low, high, low / 2 + high / 2, 0.0, 1e308, -1e308])
    y = np.array(data.draw(st.lists(numbers, min_size=n_rows, max_size=n_rows)))
    X = np.linspace(0, 1, n_rows).reshape(-1, 1)
    options = {"holdout": 0.5, "fraction": 0.5}
    parameters = {"objective": objective, "n_estimators": 8}
    if data.draw(st.booleans()):
        parameters["early_stopping_round"] = 2
    else:
        options = {"conformal": 0.9}
    if objective == "quantile":
        parameters["alpha"] = data.draw(st.sampled_from(LEVELS))
    budget = Budget(epsilon=10.0, delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            schema = dpboost.Schema(bounds={0: (0, 1)}, label_bounds=(low, high))
            model = DPBoostRegressor(schema=schema, n_jobs=1, verbosity=-1, **parameters)
            if "holdout" in options:
                model.fit(X, y, budget=budget, **options)
            else:
                model.fit(X, y, **options)
        except InvalidParameterError:
            return
        found = evaluate(model, X, y, budget=budget, fraction=0.2)
    for figure in found.metrics.values():
        assert np.isfinite(figure.value)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("objective", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("bounds", [(1e-300, 1e300), (0, 5e-324), (-1.0, 5e-324), (1e-26, 2e-26)])
def test_losses_of_positive_labels_refuse_what_they_cannot_hold(released, objective, bounds):  # noqa: F811
    schema = {"bounds": {0: (0, 1)}, "label_bounds": bounds}
    with pytest.raises(InvalidParameterError, match="label_bounds"):
        DPBoostRegressor(schema=schema, objective=objective).fit([[0.5]], [1.0])
    assert released == []
