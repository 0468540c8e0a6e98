import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Agreement
from tests.unit.federated.channels import FEATURES, agreement

LABELS = {"bounds": dict.fromkeys(FEATURES, (0, 1)), "label_bounds": (0, 9)}


SAME = {"nonce": "one", "public_seed": 1}


def regression(**objective):
    return agreement(task="regression", schema=LABELS, objective=objective, **SAME)


@pytest.mark.parametrize(
    "terms",
    [
        regression(objective="poisson", poisson_max_delta_step=np.float32(0.5)),
        regression(objective="quantile", alpha=np.array([0.1, 0.9])),
        agreement(objective={"class_weight": {0: 1, 1: np.float64(2.5), 2: 0.0}}),
        agreement(objective={"class_weight": "balanced"}),
        agreement(objective={"max_weight": 3}, weighted=True),
    ],
)
def test_what_is_learned_is_a_part_of_the_terms(terms):
    again = Agreement.from_json(terms.to_json())
    assert again == terms
    assert again.digest == terms.digest
    assert again.learns.facts() == terms.learns.facts()


def test_equal_objectives_make_equal_digests():
    one = regression(objective="quantile", alpha=[0.1, 0.9], fair_c=None)
    assert one.digest == regression(alpha=(0.1, 0.9), objective="quantile").digest
    assert one.digest != regression(objective="quantile", alpha=(0.1, 0.8)).digest
    weights = ({0: 1, 1: 2}, {1: 2.0, 0: 1})
    factors = [agreement(objective={"class_weight": own}, **SAME) for own in weights]
    assert factors[0].digest == factors[1].digest
    plain = [agreement(objective=own, **SAME).digest for own in ({}, {"objective": None})]
    assert plain[0] == plain[1]


def test_labels_of_shares_lie_between_0_and_1():
    assert regression(objective="cross_entropy").declared.label_bounds == (0.0, 1.0)
    assert regression(objective="huber").declared.label_bounds == (0.0, 9.0)


@pytest.mark.parametrize(
    ("task", "given", "named"),
    [
        ("regression", {"objective": "lambdarank"}, "lambdarank"),
        ("regression", {"objective": lambda y, p: (y, p)}, "run no code of others"),
        ("regression", {"objective": "binary", "alphas": 1}, "objective"),
        ("regression", ["poisson"], "objective"),
        ("regression", {"alpha": -1.0}, "alpha"),
        ("regression", {"class_weight": {0: 1.0}}, "class_weight"),
        ("classification", {"alpha": 0.5}, "alpha"),
        ("classification", {"class_weight": {0.5: 1.0}}, "class_weight"),
        ("classification", {"class_weight": {2**40: 1.0}}, "class_weight"),
        ("classification", {"class_weight": {0: "x"}}, "class_weight"),
        ("classification", {"max_weight": 0.0}, "max_weight"),
    ],
)
def test_what_cannot_be_agreed_upon_is_refused(task, given, named):
    with pytest.raises(InvalidParameterError, match=named):
        agreement(
            task=task, objective=given, **({"schema": LABELS} if task == "regression" else {})
        )


def test_weights_have_a_bound_that_is_agreed_upon():
    with pytest.raises(InvalidParameterError, match="max_weight"):
        agreement(weighted=True)
    with pytest.raises(InvalidParameterError, match="weighted"):
        agreement(weighted=1, objective={"max_weight": 2.0})
    asked = agreement(
        task="regression", schema=LABELS, objective={"max_weight": 2.0}, weighted=True
    ).weights
    assert asked.max_weight == 2.0
    assert asked.of_rows
