import inspect
from pathlib import Path

import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import FederatedBoostingClassifier, FederatedBoostingRegressor
from dpboost.federated.estimators import UNSUPPORTED, refuse_unsupported

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "parties.md"
PAIRS = [
    (DPBoostClassifier, FederatedBoostingClassifier),
    (DPBoostRegressor, FederatedBoostingRegressor),
]


def names(function):
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {
        name
        for name, each in inspect.signature(function).parameters.items()
        if each.kind not in kinds
    } - {"self", "X", "y", "parties"}


@pytest.mark.parametrize(("local", "over_parties"), PAIRS)
def test_whatever_one_table_takes_is_taken_or_refused_with_a_reason(local, over_parties):
    there = names(over_parties.__init__) | names(over_parties.fit)
    asked = names(local.__init__) | names(local.fit)
    missing = asked - there
    assert missing <= set(UNSUPPORTED)
    assert not set(UNSUPPORTED) & there


def test_the_page_says_why():
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    assert [name for name in UNSUPPORTED if not any(f"`{name}" in row for row in rows)] == []


def test_none_asks_for_nothing():
    refuse_unsupported({"conformal": None, "feature_name": "auto"}, "Model")
    with pytest.raises(InvalidParameterError, match=r"'conformal' parameter of Model .* random"):
        refuse_unsupported({"conformal": 0.9}, "Model")
    with pytest.raises(InvalidParameterError, match="'color' parameter of Model"):
        refuse_unsupported({"color": None}, "Model")


@pytest.mark.parametrize("kind", [pair[1] for pair in PAIRS])
def test_estimators_refuse_before_anything_else(kind):
    with pytest.raises(InvalidParameterError, match=r"'conformal' parameter of .*\.fit"):
        kind().fit(None, conformal=0.9)
    model = kind(schema={"label_bounds": (0, 1), "classes": [0, 1]}, gradient_bound=2.0)
    with pytest.raises(
        InvalidParameterError, match="'gradient_bound' parameter .* run no code of others"
    ):
        model.agreement(2, ["a"])
    assert model.get_params()["gradient_bound"] == 2.0
