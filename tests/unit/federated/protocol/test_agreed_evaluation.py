from dataclasses import replace

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.evaluating.evaluate import quantile_level
from dpboost.federated import Agreement
from dpboost.federated.party.party import read_rows
from dpboost.federated.protocol.agreed_evaluation import AgreedEvaluation
from dpboost.lightgbm.model_text.syntax import ModelTextError
from tests.unit.federated.evaluated import model_of, terms_of

pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_terms_are_text_that_parties_can_keep():
    terms = terms_of("quantile", groups=("age", (1, 2.5)))
    again = Agreement.from_json(terms.to_json())
    assert again.digest == terms.digest
    agreed = AgreedEvaluation.of(again)
    assert quantile_level(agreed.model) == 0.9
    assert (agreed.column, agreed.names, agreed.groups.n_groups) == (0, (1, 2.5), 3)
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert np.array_equal(agreed.model.predict(X), model_of("quantile").predict(X))


def test_classes_are_scored_as_the_estimator_scores_them():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for kind in ("two classes", "three classes"):
        agreed = AgreedEvaluation.of(terms_of(kind))
        assert np.array_equal(agreed.model.predict_proba(X), model_of(kind).predict_proba(X))


def test_rows_are_in_the_groups_of_their_values():
    terms = terms_of("numbers", groups=("dose", (2, 7)))
    X = np.array([[0.0, 7.0], [0.0, 2.0], [2.0, np.nan], [2.0, 3.0]])
    agreed = AgreedEvaluation.of(terms)
    assert agreed.group_codes(read_rows(X, terms), terms.listed).tolist() == [1, 0, 2, 2]
    without = AgreedEvaluation.of(terms_of("numbers"))
    assert without.group_codes(read_rows(X, terms), {}).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipe": "best", "hyper": {}}, "recipe"),
        ({"hyper": {}}, "hyper"),
        ({"weighted": True, "objective": {"max_weight": 2.0}}, "'weighted', 'objective' and"),
        ({"init_model": model_of("two classes").booster_.model_to_string()}, "'init_model'"),
        ({"features": ("dose", "age")}, "'features'"),
        ({"features": ("age",)}, "'features'"),
        ({"schema": {"classes": [0, 1, 2]}}, "classes of its model"),
        ({"schema": {"classes": [0, 1], "categories": {"age": ["a", "b"]}}}, "categories"),
        ({"schema": {"label_bounds": (0, 1)}}, "classes of its model"),
        ({"task": "regression"}, "label bounds"),
        ({"text": 1}, "'model'"),
        ({"text": "tree"}, "model text"),
        ({"metrics": ("rmse",)}, "metrics"),
        ({"groups": ("weight", (1,))}, "groups"),
        ({"groups": ("age", ((1, 2),))}, "different numbers or texts"),
        ({"groups": 7}, "groups"),
    ],
)
def test_terms_that_do_not_fit_are_refused(change, message):
    terms = terms_of("two classes")
    hyper = dict(terms.hyper)
    for name, own in (("model", "text"), ("metrics", "metrics"), ("groups", "groups")):
        if own in change:
            hyper[name] = change[own]
    whole = {name: value for name, value in change.items() if name in Agreement.__annotations__}
    with pytest.raises((InvalidParameterError, ModelTextError), match=message):
        AgreedEvaluation.of(replace(terms, **({"hyper": hyper} | whole)))


def test_a_model_of_numbers_gives_no_probabilities():
    terms = terms_of("numbers")
    other = replace(terms, task="classification", schema={"classes": [0, 1]})
    with pytest.raises(InvalidParameterError, match="probabilities"):
        AgreedEvaluation.of(other)
