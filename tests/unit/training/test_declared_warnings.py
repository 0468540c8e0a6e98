"""A fit warns where released numbers show that rows lie at the ends of what was declared."""

import warnings

import numpy as np
import pandas as pd
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor, ParameterWarning, replay

N_ROWS = 4000
X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
Y = (X[:, 0] > 0).astype(int)
WIDE = dict.fromkeys(range(3), (-4, 4))
TOLD = "may not fit the rows"


def messages(fit, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*arguments)
    return [str(each.message) for each in caught if TOLD in str(each.message)]


def classifier(bounds, **more):
    schema = {"bounds": bounds, "classes": [0, 1], **more.pop("schema", {})}
    return DPBoostClassifier(schema=schema, n_estimators=5, epsilon=2.0, noise_seed=1, **more)


def regressor(label_bounds, **more):
    schema = {"bounds": WIDE, "label_bounds": label_bounds}
    return DPBoostRegressor(schema=schema, n_estimators=5, epsilon=2.0, noise_seed=1, **more)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_columns_out_of_bounds_are_named_in_one_warning(relation):
    bounds = {0: (10, 20), 1: (-4, 4), 2: (-0.01, 0.01)}
    (told,) = messages(classifier(bounds, neighbors=relation).fit, X, Y)
    assert "'Column_0' (10 to 20), 'Column_2' (-0.01 to 0.01) are at an end" in told
    assert "Column_1" not in told
    assert "schema=Schema(bounds=...)" in told


def test_zeros_and_codes_are_no_reason_to_warn():
    rows = np.column_stack(
        [
            np.maximum(X[:, 0] * 100 - 130, 0),  # nine tenths are zero
            np.where(X[:, 1] > 1, 3, 1),  # a code whose first value is frequent
            X[:, 2],
        ]
    )
    bounds = {0: (0, 500), 1: (1, 3), 2: (-4, 4)}
    assert messages(classifier(bounds, schema={"integer": [1]}).fit, rows, Y) == []


def test_a_range_that_is_far_too_wide_is_told():
    assert len(messages(classifier({**WIDE, 0: (0, 1e9)}).fit, np.abs(X), Y)) == 1


@pytest.mark.parametrize(
    ("bounds", "told"),
    [((10, 20), 1), ((-20, -10), 1), ((-4, 4), 0), ((-4, 40), 0), ((-1e5, 0), 1)],
)
def test_a_mean_of_labels_at_a_bound_is_told(bounds, told):
    found = messages(regressor(bounds).fit, X, X[:, 0])
    assert len(found) == told
    assert all("label bounds" in each for each in found)


@pytest.mark.parametrize(("objective", "upper"), [("poisson", 1e5), ("cross_entropy", 1.0)])
def test_labels_of_other_objectives(objective, upper):
    labels = np.zeros(N_ROWS)
    model = regressor((0, upper), objective=objective)
    assert len(messages(model.fit, X, labels)) == 1
    assert messages(model.fit, X, labels + upper / 2) == []


def test_a_column_without_a_learned_value_is_told():
    names = pd.Series([f"n{k}" for k in range(N_ROWS)], dtype="category")
    rows = pd.DataFrame({"name": names, "x": X[:, 0]})
    model = classifier({"x": (-4, 4)})
    (told,) = messages(model.fit, rows, Y)
    assert "No value of 'name' has enough rows" in told


def test_a_replay_says_the_same_without_a_row():
    model = classifier({0: (10, 20), 1: (-4, 4), 2: (-4, 4)})
    said = messages(model.fit, X, Y)
    assert len(said) == 1
    assert messages(replay, model.transcript_) == said


@pytest.mark.usefixtures("one_process")
def test_it_is_advice_that_verbosity_silences_and_that_is_given_once():
    bounds = dict.fromkeys(range(3), (10, 20))
    assert messages(classifier(bounds, verbosity=-1).fit, X, Y) == []
    model = classifier(bounds)
    with pytest.warns(ParameterWarning, match=TOLD):
        model.fit(X, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    assert not [each for each in caught if TOLD in str(each.message)]


def test_what_nobody_declared_is_not_doubted():
    model = DPBoostClassifier(schema={"classes": [0, 1]}, n_estimators=5, epsilon=2.0)
    assert messages(model.fit, np.zeros((N_ROWS, 2)), Y) == []


LISTS = {"sex": ["m", "f"], "ward": list("abcd")}


def unlisted(lists, *, kind=DPBoostClassifier, empty=0.0, **more):
    """Return what a fit says of lists of categories, of a table whose values are `LISTS`."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({name: rng.choice(known, N_ROWS) for name, known in LISTS.items()})
    rows = rows.astype(object).where(rng.random((N_ROWS, 2)) >= empty, None)
    labels = (rows["sex"] == "m").astype(int)
    known = {"classes": [0, 1]} if kind is DPBoostClassifier else {"label_bounds": (0, 1)}
    settings = {"epsilon": 4.0, "noise_seed": 1, **more}
    model = kind(schema={"categories": lists, **known}, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, labels)
    return [told for each in caught if "no declared value" in (told := str(each.message))], model


@pytest.mark.parametrize("kind", [DPBoostClassifier, DPBoostRegressor])
@pytest.mark.parametrize("delta", [1e-6, 0])
def test_lists_that_no_row_has_a_value_of_are_named(kind, delta):
    wrong = {**LISTS, "sex": ["male", "female"]}
    (told,), model = unlisted(wrong, kind=kind, delta=delta)
    assert "no declared value of 'sex': they count as missing" in told
    assert "Schema(categories=...)" in told
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        replay(model.transcript_)
    assert told in [str(each.message) for each in caught]


@pytest.mark.parametrize("empty", [0.0, 0.3])
def test_lists_that_fit_are_not_doubted(empty):
    assert unlisted(LISTS, empty=empty)[0] == []


def test_lists_are_not_doubted_where_noise_hides_the_rows():
    assert unlisted({"sex": ["male", "female"], "ward": ["A", "B"]}, epsilon=0.05)[0] == []
