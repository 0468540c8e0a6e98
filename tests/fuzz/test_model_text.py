"""A mutated model text is refused, or safe for everything that LightGBM does with it."""

import re
from functools import lru_cache

import lightgbm
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost.lightgbm import Booster, ModelTextError, check_model_text

PARAMETERS = [
    {"objective": "regression", "monotone_constraints": [1, 0, 0]},
    {"objective": "regression", "linear_tree": True},
    {"objective": "binary", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
    {"objective": "binary", "zero_as_missing": True, "min_data_in_leaf": 1},
    {"objective": "multiclass", "num_class": 3},
    {"objective": "multiclassova", "num_class": 3},
    {"objective": "cross_entropy_lambda"},
    {"objective": "regression", "interaction_constraints": "[0,1],[2]"},
]


@lru_cache(maxsize=1)
def valid_texts():
    """Texts of LightGBM and of our own, with numbers, categories and missing values."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    X[random.random(X.shape) < 0.1] = np.nan
    X[:, 2] = random.integers(0, 40, 200)
    frame = pd.DataFrame(X, columns=["a", "b c", "größe"])
    frame["größe"] = pd.Categorical(frame["größe"].astype(int).astype(str))
    texts = []
    for parameters in PARAMETERS:
        y = random.integers(0, parameters.get("num_class", 2), 200)
        for rows, nominal in ((X, [2]), (frame, ["größe"])):
            data = lightgbm.Dataset(
                rows, y, categorical_feature=[] if "linear_tree" in parameters else nominal
            )
            options = {"num_leaves": 6, "verbosity": -1, "num_threads": 1, **parameters}
            texts.append(lightgbm.train(options, data, 2).model_to_string())
    own = {"n_estimators": 3, "max_depth": 2, "trees_per_ensemble": 3, "n_jobs": 1, "verbosity": 0}
    bounds = dict.fromkeys(range(3), (-3, 40))
    for estimator, known in (
        (DPBoostRegressor, {"label_bounds": (0, 1)}),
        (DPBoostClassifier, {"classes": [0, 1]}),
    ):
        model = estimator(schema={"bounds": bounds, **known}, **own)
        texts.append(model.fit(X, random.integers(0, 2, 200)).booster_.model_to_string())
    return texts


ODD = [
    *("", " ", "\n", "\n\n", "\r\n", "\r", "\0", "\t", "=", ":", "-", ".", '"', "\\", "[", "]"),
    *("nan", "inf", "-inf", "NaN", "1e999", "-1e308", "1e-320", "0x10", "1_0", "+1", "1.5"),
    *("-1", "0", "1", "2", "3", "7", "12", "31", "255", "65536", "2147483647", "-2147483648"),
    *("2147483648", "4294967295", "9999999999", "99999999999999999999", "\u0661", "\ud800"),
    *("Tree=0", "Tree=1", "end of trees", "parameters:", "end of parameters", "average_output"),
    *("pandas_categorical:null", "pandas_categorical:[[1]]", "dpboost:{}", "dpboost:[", "x=1"),
    *("sigmoid:nan", "sigmoid:0", "sigmoid:-1", "sigmoid:1e-300", "num_class:0", "num_class:3"),
    *("[a: b]", "[num_leaves: x]", "[monotone_constraints: 1,x]", "[metric: a\\b]", "num_class=2"),
]
PIECES = st.sampled_from(ODD) | st.text(max_size=3) | st.integers().map(str) | st.floats().map(str)


@st.composite
def mutated(draw):
    """A valid text after one to four changes of its lines, entries or characters."""
    text = draw(st.sampled_from(valid_texts()))
    if draw(st.booleans()):
        # Without sizes the change of a tree is seen by its own checks.
        text = re.sub("tree_sizes=.*\n", "", text)
    for _ in range(draw(st.integers(1, 4))):
        change = draw(st.sampled_from([of_lines, of_an_entry, of_an_entry, of_characters]))
        text = change(draw, text)
    return text


def of_lines(draw, text):
    lines = text.split("\n")
    here, there = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    kind = draw(st.sampled_from(["remove", "repeat", "swap", "move", "insert", "cut"]))
    if kind == "remove":
        del lines[here]
    elif kind == "repeat":
        lines.insert(there, lines[here])
    elif kind == "swap":
        lines[here], lines[there] = lines[there], lines[here]
    elif kind == "move":
        lines.insert(there, lines.pop(here))
    elif kind == "insert":
        lines.insert(here, draw(PIECES))
    else:
        lines = lines[:here]
    return "\n".join(lines)


def of_an_entry(draw, text):
    lines = text.split("\n")
    position = draw(st.integers(0, len(lines) - 1))
    key, equals, value = lines[position].partition("=")
    entries = value.split(" ")
    here = draw(st.integers(0, len(entries) - 1))
    kind = draw(st.sampled_from(["replace", "remove", "repeat", "swap"]))
    if kind == "replace":
        entries[here] = draw(PIECES)
    elif kind == "remove":
        del entries[here]
    elif kind == "repeat":
        entries.insert(here, entries[here])
    else:
        other = draw(st.integers(0, len(entries) - 1))
        entries[here], entries[other] = entries[other], entries[here]
    lines[position] = key + equals + " ".join(entries)
    return "\n".join(lines)


def of_characters(draw, text):
    start = draw(st.integers(0, len(text)))
    length = draw(st.integers(0, 3))
    return text[:start] + draw(PIECES) + text[start + length :]


def rows(n_features):
    """Rows of odd values for a model of so many features."""
    values = [0.0, -1.0, 1.0, 39.0, 1e9, -1e300, 1e-36, np.nan, np.inf, -np.inf, 2.0**31, 64.5]
    return np.array([np.roll(np.resize(values, n_features), k) for k in range(len(values))])


@settings(deadline=None)
@given(mutated())
def test_a_mutated_text_is_refused_or_safe(text):
    try:
        check_model_text(text)
    except ModelTextError:
        with pytest.raises(ModelTextError):
            Booster(model_str=text)
        return
    stock, own = lightgbm.Booster(model_str=text), Booster(model_str=text)
    X = rows(stock.num_feature())
    options = {"num_threads": 1, "validate_features": False}
    for booster in (stock, own):
        booster.pandas_categorical = None
        assert isinstance(booster.dump_model(), dict)
    kinds = [{}, {"raw_score": True}, {"pred_leaf": True}, {"pred_contrib": True}]
    if "is_linear=1" in text:
        kinds.pop()  # LightGBM explains no linear trees
    for kind in kinds:
        expected = stock.predict(X, **options, **kind)
        np.testing.assert_array_equal(own.predict(X, **options, **kind), expected)
    stock.trees_to_dataframe()
    again = stock.model_to_string()
    check_model_text(again)
    np.testing.assert_array_equal(lightgbm.Booster(model_str=again).predict(X), stock.predict(X))
