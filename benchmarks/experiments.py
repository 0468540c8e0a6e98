"""The experiments, as data: a new one is one more entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Method:
    """A library with settings, under the name that tables show.

    Attributes
    ----------
    name : str
        Name in tables.
    library : str
        Module of `benchmarks.libraries`.
    private : bool
        Whether ``epsilon`` has a meaning; without it the method runs once per split.
    settings : mapping of str to object
        Keyword arguments of the library; they must be writable as JSON.
    """

    name: str
    library: str
    private: bool = True
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is run: every method on every split of every problem, at every epsilon.

    Attributes
    ----------
    name : str
        Name on the command line and of the result files.
    problems : tuple of str
        Names in `benchmarks.problems.PROBLEMS`.
    methods : tuple of Method
        In the order of the tables.
    epsilons : tuple of float
        Budgets of the private methods.
    splits : tuple of int
        Public seeds of the divisions into training and held-out rows; the first alone is the
        quick version.
    description : str
        What the experiment is to show, in one sentence.
    """

    name: str
    problems: tuple[str, ...]
    methods: tuple[Method, ...]
    epsilons: tuple[float, ...]
    splits: tuple[int, ...]
    description: str


def _recipe(name: str) -> Method:
    # The recipes of the paper spend a pure epsilon.
    return Method(name=name, library="dpboost_recipes", settings={"recipe": name, "delta": 0})


CONSTANT = Method(name="constant", library="constant", private=False)
LIGHTGBM = Method(name="LightGBM", library="lightgbm_np", private=False)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            name="smoke",
            problems=("adult", "abalone"),
            methods=(
                CONSTANT,
                _recipe("dpboost"),
                _recipe("para"),
                _recipe("seq"),
                LIGHTGBM,
            ),
            epsilons=(1.0, 8.0),
            splits=(0, 1, 2, 3, 4),
            description="The recipes of the paper with their defaults beside LightGBM, which "
            "keeps no privacy.",
        ),
    )
}
