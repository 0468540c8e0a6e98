"""The steps of a fit: what is asked, what is refused before a draw, what is said."""

import dataclasses
import math
import re
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpboost import (
    AssumedPublicWarning,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    InvalidParameterError,
    LargeDeltaWarning,
    LargeEpsilonWarning,
    NotPrivateWarning,
    ParameterWarning,
    PrivacyWarning,
    PublicRowsWarning,
    PublicSizeWarning,
    Schema,
    UnboundedWeightsWarning,
    UndeclaredWarning,
)
from dpboost.data.binner import Binner
from dpboost.growing.boosting_loop import BoostingLoop
from dpboost.growing.single_tree_growth import SingleTree
from dpboost.losses.newton_loss import NewtonLoss
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes.recipe import Recipe
from dpboost.rows.row_attributes import Weighting
from dpboost.training.fit import fit
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.public_schema import ASSUMED_BY_DEFAULT, ASSUMPTIONS

FAST = {"n_estimators": 2, "max_depth": 2, "n_jobs": 1}
BOUNDS = {"bounds": {0: (-3, 3), 1: (-3, 3)}}
EXACT = {"epsilon": math.inf, "recipe": "seq", "n_estimators": 10, "max_depth": 2, "n_jobs": 1}


def rows(n_rows=300):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    return X, (X[:, 0] > 0).astype(int)


def request(**changes):
    asked = {
        "epsilon": 1,
        "delta": 1e-6,
        "neighbors": "add_remove",
        "schema": None,
        "assume_public": ASSUMED_BY_DEFAULT,
        "noise_seed": None,
    }
    return PrivacyRequest.validated("X", **asked | changes)


def test_a_request_opens_the_ledger_that_was_asked_for():
    accountant = PureAccountant()
    ledger = request(epsilon=0.3, delta=1e-5, neighbors="replace").ledger(accountant)
    assert ledger.accountant is accountant
    assert ledger.epsilon == ledger.capacity == Fraction(3, 10)
    assert ledger.delta == Fraction(1, 10**5)
    assert ledger.neighbors is Neighbors.REPLACE
    assert ledger.private
    assert not request(noise_seed=0).ledger(accountant).private
    assert not request(epsilon=math.inf).ledger(accountant).private


@pytest.mark.parametrize("public", [(), ["classes"], {"classes"}, ("classes", "column_types")])
def test_assumptions_may_come_in_any_collection(public):
    assert set(request(assume_public=public).assume_public) == set(public)


@pytest.mark.parametrize("public", [None, 3, "classes", ("labels",), [["classes"]], {"classes": 1}])
def test_other_assumptions_are_refused_by_name(public):
    with pytest.raises(InvalidParameterError, match="'assume_public' parameter of X"):
        request(assume_public=public)


# -- refusals: all before the first draw --------------------------------------------------------


def frame(name):
    return pd.DataFrame({name: rows()[0][:, 0]})


REFUSED = {
    "label bounds too close": (
        DPBoostRegressor,
        {"label_bounds": (1e15, 1e15 + 0.25)},
        rows,
        "label_bounds",
    ),
    "text classes for numbers": (DPBoostClassifier, {"classes": ["a", "b"]}, rows, "of one kind"),
    "classes of two kinds": (DPBoostClassifier, {"classes": [0, "b"]}, rows, "of one kind"),
    **{
        f"column name {name!r}": (
            DPBoostRegressor,
            {},
            lambda name=name: (frame(name), rows()[1]),
            "column name",
        )
        for name in ("a\\b", "a\x00b", "a\x7fb", "a\u200bb", "a\nb", 'a"b', "")
    },
}


@pytest.mark.filterwarnings("ignore::dpboost.UndeclaredWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_what_could_not_be_finished_is_refused_before_a_draw(name, no_release):
    estimator, schema, load, message = REFUSED[name]
    with pytest.raises(InvalidParameterError, match=message):
        estimator(schema=schema, **FAST).fit(*load())


def test_released_classes_that_do_not_fit_are_an_error_without_a_count():
    X, _ = rows()
    options = {"assume_public": (), "epsilon": 50.0, **FAST}
    cases = {"seq": np.arange(300) % 3, "best": np.arange(300)}
    for recipe, labels in cases.items():
        options["recipe"] = recipe
        with pytest.raises(InvalidParameterError) as caught:
            DPBoostClassifier(**options).fit(X, labels)
        message = str(caught.value).replace("epsilon=50, delta=1e-06", "")
        assert "Schema(classes=...)" in message
        assert not any(letter.isdigit() for letter in message)


# -- classes and categories ---------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")
@pytest.mark.parametrize(
    ("classes", "names"),
    [([0, 1], [0, 1]), ([1, 0], [0, 1]), (["yes", "no"], ["no", "yes"]), ([3.0, -1.0], [-1, 3])],
)
def test_the_order_in_which_classes_are_declared_does_not_matter(classes, names):
    X, y = rows()
    labels = np.array(names)[y]
    model = DPBoostClassifier(schema={**BOUNDS, "classes": classes}, **EXACT).fit(X, labels)
    assert model.classes_.tolist() == names
    assert model.score(X, labels) > 0.95
    assert ((model.predict_proba(X)[:, 1] > 0.5) == (y == 1)).mean() > 0.95


@pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")
@pytest.mark.filterwarnings("ignore::dpboost.AssumedPublicWarning")
@pytest.mark.parametrize(
    ("assume_public", "numeric"), [(ASSUMPTIONS, True), (ASSUMED_BY_DEFAULT, False), ((), False)]
)
def test_ordered_pandas_types_are_compared_where_their_lists_are_public(assume_public, numeric):
    sizes = ["tiny", "small", "large", "huge"]
    codes = np.random.default_rng(1).integers(0, 4, 400)
    X = pd.DataFrame({"size": pd.Categorical.from_codes(codes, sizes, ordered=True)})
    schema = {"label_bounds": (0, 1)}
    model = DPBoostRegressor(schema=schema, assume_public=assume_public, **EXACT | {"max_depth": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeclaredWarning)
        model.fit(X, codes >= 2)
    assert bool(model.ensemble_.binner.is_categorical[0]) != numeric
    if numeric:
        # One threshold tells the two halves apart, which no single category can.
        assert (model.predict(X) > 0.5).tolist() == (codes >= 2).tolist()
        assert model.booster_.predict(X).tolist() == model.predict(X).tolist()


# -- what is said ---------------------------------------------------------------------------------


def test_warnings_point_at_the_line_that_calls_fit():
    X, y = rows()
    for estimator in (DPBoostRegressor, DPBoostClassifier):
        with pytest.warns() as caught:
            estimator(epsilon=math.inf, **FAST).fit(X, y)
        # Conditions and advice are one block; a classifier also takes its labels as public.
        (block,) = caught
        kinds = [NotPrivateWarning, UndeclaredWarning, ParameterWarning]
        kinds += [AssumedPublicWarning] * (estimator is DPBoostClassifier)
        assert all(issubclass(block.category, kind) for kind in kinds)
        assert str(block.message).count("\n* ") == len(kinds)
        assert block.filename == __file__


# That of delta needs a released number and comes last.
CONDITIONS = {
    AssumedPublicWarning: "class labels is taken as public",
    PublicRowsWarning: "evaluation rows",
    UnboundedWeightsWarning: "max_weight",
    PublicSizeWarning: "neighbors='replace'",
    LargeEpsilonWarning: "epsilon=30",
    LargeDeltaWarning: "delta=0.9",
}


def fit_with_all_conditions():
    X, y = rows(300)
    model = DPBoostClassifier(
        epsilon=30.0, delta=0.9, neighbors="replace", schema=BOUNDS, n_estimators=2, verbosity=-1
    )
    return model.fit(X, y, sample_weight=np.ones(300), eval_set=[(X[:50], y[:50])])


def test_all_conditions_of_a_guarantee_are_one_warning():
    with pytest.warns(PrivacyWarning) as caught:
        fit_with_all_conditions()
    (warning,) = caught
    assert warning.category is PrivacyWarning
    assert warning.filename == __file__
    lines = str(warning.message).split("\n* ")[1:]
    assert len(lines) == len(CONDITIONS)
    for text in CONDITIONS.values():
        assert sum(text in line for line in lines) == 1


@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_condition_is_silenced_by_its_class(condition):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", condition)
        fit_with_all_conditions()
    (warning,) = caught
    for other, text in CONDITIONS.items():
        assert (text in str(warning.message)) == (other is not condition)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore", PrivacyWarning)
        warnings.filterwarnings("always", CONDITIONS[condition], condition)
        fit_with_all_conditions()
    assert len(caught) == (condition in (LargeEpsilonWarning, LargeDeltaWarning, PublicSizeWarning))


@pytest.mark.parametrize("condition", [*CONDITIONS][:-1])
def test_a_condition_that_is_an_error_ends_the_fit_before_anything_is_drawn(condition, no_release):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", condition)
        with pytest.raises(condition, match=CONDITIONS[condition]):
            fit_with_all_conditions()


def test_a_seed_is_a_condition_and_ends_talk_of_epsilon():
    X, y = rows()
    schema = {**BOUNDS, "classes": [0, 1]}
    with pytest.warns(PrivacyWarning) as caught:
        DPBoostClassifier(schema=schema, **FAST, epsilon=30.0, noise_seed=0).fit(X, y)
    lines = str(caught[0].message).split("\n* ")[1:]
    assert ["noise_seed" in line for line in lines] == [True, False]
    assert "Few rows" in lines[1]


def odd_tables():
    X, _ = rows(30)
    wide = X.astype(np.longdouble)
    wide[3, 1] = np.longdouble("1e4000") if np.finfo(np.longdouble).max > 1e308 else np.inf
    signaling = X.astype(np.float32)
    signaling.view(np.uint32)[3, 1] = 0x7F800001
    huge = X.copy()
    huge[3], huge[4], huge[5] = 1e308, -1e308, math.inf
    return {
        "signaling NaN": signaling,
        "long double": wide,
        "masked long double": np.ma.masked_array(wide),
        "huge": huge,
        "missing row": np.where(np.arange(30)[:, None] == 3, np.nan, X),
    }


@pytest.mark.parametrize("name", odd_tables())
def test_no_warning_tells_about_a_cell(name):
    X = odd_tables()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UndeclaredWarning)
        warnings.filterwarnings("ignore", "Few rows", ParameterWarning)  # a released count
        for schema in ({**BOUNDS, "label_bounds": (0, 1)}, {}):
            DPBoostRegressor(schema=schema, **FAST).fit(X, np.full(30, 0.5))


def test_facts_of_the_report_are_public():
    X, y = rows()
    with pytest.warns(UndeclaredWarning):
        model = DPBoostRegressor(
            recipe="dpboost",
            schema=Schema(label_bounds=(0, 1)),
            max_depth=1,
            n_estimators=3,
            learning_rate=0.5,
        ).fit(X, y)
    assert model.privacy_report_.facts == {
        "recipe": "dpboost",
        "n_estimators": 3,
        "learning_rate": 0.5,
        "max_depth": 1,
        "reg_lambda": 30.0,
        "max_bin": 255,
        "trees_per_ensemble": 3,
        "selection": "exponential",
        "declared public": "label_bounds",
        "learned": "bounds of 2 numeric columns",
    }


@pytest.mark.parametrize("learning_rate", [0.99, 1.0])
def test_the_largest_learning_rates_work(learning_rate):
    X, y = rows()
    schema = {**BOUNDS, "label_bounds": (0, 1)}
    options = FAST | {"n_estimators": 300, "max_depth": 1, "trees_per_ensemble": 300}
    options["recipe"] = "dpboost"
    model = DPBoostRegressor(schema=schema, learning_rate=learning_rate, **options).fit(X, y)
    assert model.privacy_report_.spent == 1
    assert np.isfinite(model.predict(X)).all()


# Things that work, beside the bundles of values.
WORKING = (Recipe, NewtonLoss, Weighting, Binner, BoostingLoop, SingleTree)
ARCHITECTURE = Path(__file__).parents[3] / "docs" / "architecture.md"


def data_classes_of(train):
    """Return the names of the data classes that a fit has held when it ends."""
    story, found = fit.__wrapped__.__code__, set()

    def look(frame, event, returned):
        if event == "return" and frame.f_code is story:
            held = [*frame.f_locals.values(), returned]
            found.update(type(one) for one in held if not isinstance(one, WORKING))

    sys.setprofile(look)
    try:
        train()
    finally:
        sys.setprofile(None)
    made = (kind for kind in found if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"))
    return {kind.__name__ for kind in made}


@pytest.mark.filterwarnings("ignore::dpboost.PrivacyWarning")
def test_a_fit_uses_the_ten_data_classes_of_the_documents():
    X, y = rows()
    schema = Schema(**BOUNDS, classes=[0, 1])
    traveled = [
        data_classes_of(lambda: DPBoostClassifier(schema=schema, **FAST).fit(X, y)),
        data_classes_of(
            lambda: DPBoostClassifier(schema=schema, class_weight={0: 1, 1: 2}, **FAST).fit(X, y)
        ),
        data_classes_of(lambda: DPTreeClassifier(schema=schema).fit(X, y)),
    ]
    told = ARCHITECTURE.read_text().split("| class | content |")[1].split("\n\n")[0]
    documented = set(re.findall(r"^\| `(\w+)` \|", told, flags=re.MULTILINE))
    assert set.union(*traveled) == documented
    assert len(documented) == 10
