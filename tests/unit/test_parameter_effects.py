"""Docstrings of estimators and functions state what each parameter does, from one table."""

from __future__ import annotations

import inspect
import re

import pytest

import dpboost
import dpboost.federated
from dpboost._utils.parameter_effects import (
    EFFECTS,
    OF_CALLS,
    OF_PARTIES,
    sentence,
    with_effects,
)

CALLS = (
    *(dpboost.train, dpboost.cv, dpboost.evaluate, dpboost.Budget),
    *(dpboost.refit_leaves, dpboost.feature_histograms),
    *(dpboost.DPBoostClassifier.fit, dpboost.DPTreeClassifier.fit),
)
ESTIMATORS = (
    *(dpboost.DPBoostClassifier, dpboost.DPBoostRegressor),
    *(dpboost.DPTreeClassifier, dpboost.DPTreeRegressor),
    dpboost.federated.FederatedBoostingClassifier,
    dpboost.federated.FederatedBoostingRegressor,
)
ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: : .+)?\n((?:(?: .*)?\n)*)", re.MULTILINE)


def entries(thing) -> dict[str, str]:
    """Return the descriptions of the parameters in a docstring, on one line."""
    section = inspect.getdoc(thing).partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\w+\n-{3,}\n", section)[0]
    return {
        names: " ".join(text.split()) for names, text in ENTRY.findall(section.rstrip() + "\n\n")
    }


def without_effects(thing, effects) -> list[str]:
    """Return parameters of a signature whose description does not state both effects.

    LightGBM's, and those that refer to the estimators for one table, are described in groups.
    """
    found = entries(thing)
    grouped = {name for names in found if ", " in names for name in names.split(", ")}
    signature = inspect.signature(thing).parameters.values()
    named = {each.name for each in signature if each.kind is not each.VAR_KEYWORD}
    return [
        name
        for name in sorted(named - (grouped if effects is not OF_CALLS else set()))
        if name not in effects or not found.get(name, "").endswith(sentence(name, {}, effects))
    ]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_each_parameter_of_an_estimator_has_its_effects(kind):
    assert without_effects(kind, {**EFFECTS, **OF_PARTIES}) == []
    assert len(entries(kind)) > 10


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__qualname__)
def test_each_parameter_of_a_function_has_its_effects(call):
    effects = {**EFFECTS, **OF_CALLS}
    found = entries(call)
    names = {name for group in found for name in group.split(", ")}
    assert names == set(inspect.signature(call).parameters) - {"self"}
    for name, text in found.items():
        assert text.endswith(sentence(name, {}, effects)), name


def test_numbers_have_a_range_that_is_checked():
    found = entries(dpboost.DPBoostRegressor)
    for name in ("learning_rate", "max_bin", "hessian_share", "epsilon", "rows_per_user"):
        assert "Range: " in found[name]
    assert "Range: whole number, 2 to 255." in found["max_bin"]
    assert "Range: (0, 0.99]." in found["hessian_share"]
    model = dpboost.DPBoostRegressor(hessian_share=1.0, schema={"label_bounds": (0, 1)})
    with pytest.raises(dpboost.InvalidParameterError, match=r"0\.99"):
        model.fit([[0.0]], [0.0])


def test_a_parameter_without_effects_is_found():
    def function(epsilon, new, other):
        """Do it.

        Parameters
        ----------
        epsilon : float
            Budget.

            Of the whole.
        new : int
            Something.
        other
            More.

        Returns
        -------
        epsilon : float
        """

    assert without_effects(function, EFFECTS) == ["epsilon", "new", "other"]
    effects = {"epsilon": ("a", '"b" c'), "other": ("no effect", "no effect")}
    function.__doc__ = with_effects(function, {"epsilon": "[0, 1]"}, effects)
    assert without_effects(function, effects) == ["new"]
    assert function.__doc__ == (
        "Do it.\n\nParameters\n----------\nepsilon : float\n    Budget.\n\n    Of the whole.\n"
        '    Range: [0, 1]. Privacy: a. Accuracy: ``"b"`` c.\nnew : int\n    Something.\n'
        "other\n    More.\n    It changes neither privacy nor accuracy.\n\n"
        "Returns\n-------\nepsilon : float"
    )
