"""What an experiment is; the experiments themselves are data in `benchmarks.catalog`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from benchmarks.harness.groups import Group

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


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
    problems : tuple of str, optional
        Problems on which it runs; by default all of the experiment.
    n_splits : mapping of str to int
        On how many of the first splits it runs, for problems on which that is not all of them.
    """

    name: str
    library: str
    private: bool = True
    settings: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    problems: tuple[str, ...] | None = None
    n_splits: Mapping[str, int] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A figure that a method is to reach on the mean of the splits.

    Attributes
    ----------
    problem, method : str
        Names.
    epsilon : float
        Budget.
    value : float
        In the measure of the problem; reached when the mean is as good.
    of_classes : bool
        Whether it is the share of right classes instead.
    """

    problem: str
    method: str
    epsilon: float
    value: float
    of_classes: bool = False


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A method beside another one, split by split.

    Attributes
    ----------
    method, reference : str
        Names of methods.
    measure : {"metric", "seconds"}
        What is compared: the measure of the problem, or the median time of a fit.
    margin : float
        How much worse the method may be.
    two_sided : bool
        Whether it may not be better by more than the margin either: two ways to one result.
    """

    method: str
    reference: str
    measure: Literal["metric", "seconds"] = "metric"
    margin: float = 0.0
    two_sided: bool = False


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
    title : str
        What it shows, as a noun phrase.
    description : str
        What the experiment is to show.
    group : Group
        Of the index of the results.
    omitted : mapping of (str, str) to str
        Why a method is not run on a problem, by names of problem and method.
    targets : tuple of Target
        Figures to reach.
    comparisons : tuple of Comparison
        Pairs of methods to compare.
    details : bool
        Whether the page has a table for each problem besides targets and comparisons.
    figure : bool
        Whether a figure of the measure against epsilon is drawn.
    alone : bool
        Whether each fit has a process of its own, in which its memory is measured; the page then
        shows it, with the marks of the audit.
    quick_problems, quick_epsilons : tuple, optional
        What the quick version is limited to.
    """

    name: str
    problems: tuple[str, ...]
    methods: tuple[Method, ...]
    epsilons: tuple[float, ...]
    splits: tuple[int, ...]
    title: str
    description: str
    group: Group = Group.ACCURACY
    omitted: Mapping[tuple[str, str], str] = field(default_factory=lambda: _NOTHING)
    targets: tuple[Target, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    details: bool = True
    figure: bool = False
    alone: bool = False
    quick_problems: tuple[str, ...] | None = None
    quick_epsilons: tuple[float, ...] | None = None

    def methods_on(self, problem: str) -> tuple[Method, ...]:
        """Return the methods that run on a problem."""
        return tuple(
            method
            for method in self.methods
            if (method.problems is None or problem in method.problems)
            and (problem, method.name) not in self.omitted
        )

    def method(self, name: str) -> Method:
        """Return the method of that name."""
        return next(method for method in self.methods if method.name == name)
