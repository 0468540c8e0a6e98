"""Figures 3 to 8 of Friedman and Schuster, "Data Mining with Differential Privacy", KDD 2010."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from benchmarks.harness.results import Result
from benchmarks.problems import PROBLEMS
from benchmarks.reproductions.fits import Paper, Piece, measured
from benchmarks.reproductions.friedman_schuster.claims import (
    DRAWS,
    PAPER,
    TREES,
    UNPRUNED,
    claims,
    derived,
)
from benchmarks.reproductions.friedman_schuster.synthetic import (
    Concept,
    Domain,
    random_concept,
    sample,
    single_split,
)
from benchmarks.reproductions.read_once import Divided
from dpboost.growing.class_selectors import SplitSelector
from dpboost.growing.single_tree_growth import SingleTree
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.recipes.recipe import Recipe, Setting
from dpboost.recipes.single_tree import friedman_schuster as ours
from dpboost.rows.class_statistics import ClassStatistics

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

INFINITE = float("inf")
N_TEST = 10_000
SCORES = {"InfoGain": "entropy", "Gini": "gini", "Max": "max"}
#: Methods that stand beside both kinds of constants.
REFERENCES = ("ID3", "SuLQ", "CART", "C4.5 without noise", "our best tree, depth 4")

# x-axis of each figure, for the panels.
AXES = {
    "figure 3": "training rows",
    "figure 4": "training rows",
    "figure 5": "training rows",
    "figure 6": "training rows",
    "figure 7": "training rows",
    "figure 8": "epsilon",
}


@dataclass(frozen=True, kw_only=True)
class PaperChoice:
    """A choice with the constants of the paper: twice the sensitivity, one bound on all rows.

    The exponent epsilon q / (2 S) is that of our choice at half of the budget, and less of it is
    used than is paid.
    """

    inner: SplitSelector
    n_rows: int

    def choose(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        offered: NDArray[np.bool_],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> NDArray[np.int32]:
        """Release a candidate for each node."""
        return self.inner.choose(
            rows,
            nodes,
            np.full_like(limits, self.n_rows),
            offered,
            budget=budget / 2,
            ledger=ledger,
        )


def with_the_papers_constants(recipe: Recipe, n_rows: int) -> Recipe:
    """Return DiffPID3 or DiffPC4.5 with the noise of the paper, for a bound on the rows."""

    def build(setting: Setting) -> SingleTree:
        tree = recipe.build(setting)
        assert isinstance(tree, SingleTree)
        selector = PaperChoice(inner=tree.learner.selector, n_rows=n_rows)
        return replace(tree, learner=replace(tree.learner, selector=selector))

    return replace(recipe, name=f"{recipe.name} with the paper's constants", build=build)


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is run.

    Attributes
    ----------
    runs : int
        Training sets for a point of figures 3 to 5.
    trees, runs_of_a_tree : int
        Of figures 6 and 7.
    rows : tuple of int
        Training rows of figures 3 to 5.
    many_rows : tuple of int
        Training rows of figures 6 and 7.
    shape_runs : int
        Training sets of a tree of another shape.
    shape_rows : tuple of int
    shapes : tuple of (int, int)
        Depths, and values of attributes and class, beside those of figure 6.
    repeats, folds : int
        Cross-validations of figure 8, and their folds; of the folds of a repeat the first
        ``used_folds`` are run.
    budgets : tuple of float
        Of figure 8.
    """

    runs: int
    trees: int
    runs_of_a_tree: int
    rows: tuple[int, ...]
    many_rows: tuple[int, ...]
    shape_runs: int
    shape_rows: tuple[int, ...]
    shapes: tuple[tuple[int, int], ...]
    repeats: int
    folds: int
    used_folds: int
    budgets: tuple[float, ...]


# As many as in the paper; of the shapes that its text alone tells of, a quarter.
FULL = Size(
    runs=200,
    trees=10,
    runs_of_a_tree=20,
    rows=(100, 300, 600, 1000, 1500, 2000, 3000, 4000, 5000),
    many_rows=(1000, 2000, 5000, 20_000, 50_000),
    shape_runs=5,
    shape_rows=(1000, 5000, 50_000),
    shapes=tuple((d, v) for d in (3, 5, 10) for v in (2, 3, 5) if (d, v) != (5, 2)),
    repeats=10,
    folds=10,
    used_folds=10,
    budgets=(0.75, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0),
)
# Figures 3 to 5, on which the paper's choice of a criterion rests: under a minute.
QUICK = Size(
    runs=12,
    trees=0,
    runs_of_a_tree=0,
    rows=(300, 1000, 3000),
    many_rows=(),
    shape_runs=0,
    shape_rows=(),
    shapes=(),
    repeats=0,
    folds=10,
    used_folds=0,
    budgets=(),
)

Methods = dict[str, dict[str, Any]]


def _id3_methods(n_rows: int, **more: Any) -> Methods:
    """ID3 without noise, SuLQ-ID3, and DiffPID3 with our constants and with those of the paper."""
    paper = with_the_papers_constants(ours.DIFFP_ID3, n_rows)
    methods: Methods = {
        "ID3": {"recipe": "diffp_id3", "criterion": "entropy", "epsilon": INFINITE},
        "SuLQ": {"recipe": "sulq_id3", "criterion": "entropy"},
    }
    for name, criterion in SCORES.items():
        methods[name] = {"recipe": "diffp_id3", "criterion": criterion}
        methods[f"{name}{PAPER}"] = {"recipe": paper, "criterion": criterion}
    return {name: {**more, **settings} for name, settings in methods.items()}


def _c45_methods(n_rows: int, **more: Any) -> Methods:
    """DiffPC4.5 with one draw, with n + 1 draws, and with the constants of the paper as well.

    Its trees are pruned, as in the paper; those with the paper's constants also are not.
    """
    paper = with_the_papers_constants(ours.DIFFP_C45, n_rows)
    methods: Methods = {}
    for name, criterion in SCORES.items():
        own = {"preset": "paper", "criterion": criterion, "prune": True}
        draws = {**own, "threshold_draws": "per_feature"}
        methods[name] = {"recipe": "diffp_c45", **own}
        methods[f"{name}{DRAWS}"] = {"recipe": "diffp_c45", **draws}
        methods[f"{name}{PAPER}"] = {"recipe": paper, **draws}
        methods[f"{name}{UNPRUNED}"] = {"recipe": paper, **draws, "prune": False}
    return {name: {**more, **settings} for name, settings in methods.items()}


def _points(
    figure: str,
    data: str,
    concept: Concept,
    domain: Domain,
    n_rows: int,
    repeat: int,
    methods: Methods,
    *,
    p_noise: float,
    baseline_depth: int | None = None,
) -> Iterator[Result]:
    """Fit all methods on one training set."""
    random = np.random.default_rng([n_rows, repeat])
    train = sample(concept, domain, n_rows, random, p_noise=p_noise)
    test = sample(concept, domain, N_TEST, random)
    rows = Divided(train, test, schema=domain.schema())
    for method, settings in methods.items():
        found = rows.measured(**settings)
        yield measured(
            figure=figure, data=data, x=n_rows, method=method, repeat=repeat, accuracy=found
        )
    if baseline_depth is not None:
        cart = DecisionTreeClassifier(max_depth=baseline_depth, random_state=0).fit(*train)
        found = float(np.mean(cart.predict(test[0]) == test[1]))
        yield measured(
            figure=figure, data=data, x=n_rows, method="CART", repeat=repeat, accuracy=found
        )


def single_nodes(n_rows: int, run: int) -> Iterator[Result]:
    """Figures 3, 4 and 5: one split is to be found."""
    nominal = Domain()
    mixed = Domain(n_nominal=7, n_numeric=3)
    split, numeric = single_split(nominal, 4), single_split(mixed, 8)
    ids = _id3_methods(5000, max_depth=1, epsilon=0.1)
    # Without privacy the paper's ID3 goes on and overfits; by the budget of a query, .00125, its
    # private trees have one level.
    ids["ID3"]["max_depth"] = nominal.n_attributes
    c45s = _c45_methods(5000, max_depth=1, epsilon=0.1)
    both: Methods = {}
    papers = [with_the_papers_constants(r, 5000) for r in (ours.DIFFP_C45, ours.DIFFP_ID3)]
    for name, criterion in SCORES.items():
        common = {"criterion": criterion, "max_depth": 1, "epsilon": 0.2}
        c45 = {**common, "preset": "paper"}
        draws = {**c45, "threshold_draws": "per_feature"}
        both[f"{name}, numeric"] = {"recipe": "diffp_c45", **c45}
        both[f"{name}, 10 bins"] = {"recipe": "diffp_id3", **common}
        both[f"{name}, numeric{PAPER}"] = {"recipe": papers[0], **draws}
        both[f"{name}, 10 bins{PAPER}"] = {"recipe": papers[1], **common}
    yield from _points("figure 3", "nominal split", split, nominal, n_rows, run, ids, p_noise=0.1)
    yield from _points(
        "figure 4",
        "numeric split",
        numeric,
        mixed,
        n_rows,
        run,
        c45s,
        p_noise=0.1,
        baseline_depth=1,
    )
    yield from _points("figure 5", "numeric split", numeric, mixed, n_rows, run, both, p_noise=0.0)


def _whole(figure: str) -> tuple[Domain, Methods, int | None]:
    """Return attributes, methods and depth of the tree without privacy of figures 6 and 7."""
    if figure == "figure 6":
        return Domain(), _id3_methods(50_000, max_depth=5, epsilon=1.0), None
    return Domain(n_nominal=7, n_numeric=3), _c45_methods(50_000, max_depth=5, epsilon=1.0), 5


def whole_trees(figure: str, tree: int, repeat: int, size: Size) -> Iterator[Result]:
    """Figures 6 and 7: a tree of depth 5 is to be found."""
    domain, methods, baseline = _whole(figure)
    concept = random_concept(domain, 5, np.random.default_rng([6, tree]))
    for n_rows in size.many_rows:
        yield from _points(
            figure,
            TREES,
            concept,
            domain,
            n_rows,
            repeat,
            methods,
            p_noise=0.1,
            baseline_depth=baseline,
        )


def other_shapes(depth: int, n_values: int, tree: int, repeat: int, size: Size) -> Iterator[Result]:
    """Trees of other depths, and attributes and classes of more values, as in the text."""
    domain = Domain(n_values=n_values, n_classes=n_values)
    methods = {
        name: settings
        for name, settings in _id3_methods(50_000, max_depth=depth, epsilon=1.0).items()
        if name == "ID3" or name.endswith(PAPER)
    }
    concept = random_concept(domain, depth, np.random.default_rng([6, tree]))
    data = f"depth {depth}, {n_values} values"
    for n_rows in size.shape_rows:
        yield from _points("figure 6", data, concept, domain, n_rows, repeat, methods, p_noise=0.1)


@lru_cache(maxsize=1)
def _complete_adult() -> tuple[pd.DataFrame, NDArray[np.int64], Any]:
    """Return Adult without rows of missing values, and what is declared of it."""
    problem = PROBLEMS["adult"]
    X, y = problem.load()
    complete = X.notna().all(axis=1).to_numpy()
    return X[complete].reset_index(drop=True), y[complete], problem.dictionary.schema()


def adult(repeat: int, fold: int, size: Size) -> Iterator[Result]:
    """Figure 8: Adult without rows of missing values, one fold of a cross-validation."""
    X, y, schema = _complete_adult()
    methods = _c45_methods(50_000, max_depth=5)
    methods["SuLQ"] = {"recipe": "sulq_id3", "criterion": "entropy", "max_depth": 5}
    methods["our best tree, depth 4"] = {"recipe": "best", "max_depth": 4}
    folds = KFold(size.folds, shuffle=True, random_state=repeat)
    train, test = list(folds.split(X))[fold]
    rows = Divided((X.iloc[train], y[train]), (X.iloc[test], y[test]), schema=schema)
    bare = rows.measured(
        recipe="diffp_c45", preset="paper", criterion="entropy", max_depth=5, epsilon=INFINITE
    )
    for epsilon in size.budgets:
        found = {
            name: rows.measured(epsilon=epsilon, **settings) for name, settings in methods.items()
        }
        for name, value in {**found, "C4.5 without noise": bare}.items():
            yield measured(
                figure="figure 8",
                data="Adult, 45,222 rows",
                x=epsilon,
                method=name,
                repeat=repeat * size.folds + fold,
                accuracy=value,
            )


def pieces(quick: bool, repeats: int | None) -> Iterator[Piece]:
    """Yield what is measured; ``repeats`` limits the runs and cross-validations of a point."""
    size = QUICK if quick else FULL
    least = repeats or max(size.runs, size.repeats)
    for n_rows in size.rows:
        for run in range(min(size.runs, least)):
            yield Piece(
                name=f"figures 3 to 5, {n_rows} rows, {run}",
                measure=single_nodes,
                arguments=(n_rows, run),
            )
    for tree in range(size.trees):
        for figure in ("figure 6", "figure 7"):
            for run in range(min(size.runs_of_a_tree, least)):
                repeat = tree * size.runs_of_a_tree + run
                yield Piece(
                    name=f"{figure}, tree {tree}, {run}",
                    measure=whole_trees,
                    arguments=(figure, tree, repeat, size),
                )
        for depth, n_values in size.shapes:
            for run in range(min(size.shape_runs, least)):
                repeat = tree * size.shape_runs + run
                yield Piece(
                    name=f"depth {depth}, {n_values} values, tree {tree}, {run}",
                    measure=other_shapes,
                    arguments=(depth, n_values, tree, repeat, size),
                )
    for repeat in range(min(size.repeats, least)):
        for fold in range(size.used_folds):
            yield Piece(
                name=f"figure 8, {repeat}, fold {fold}",
                measure=adult,
                arguments=(repeat, fold, size),
            )


PAPERS = (
    Paper(
        name="friedman-schuster",
        title="Friedman and Schuster's paper, figures 3 to 8: split criteria and private trees",
        description="Friedman and Schuster 2010: accuracy of splits and of trees by criterion, "
        "number of rows and epsilon, with our constants and with the paper's.",
        axes=AXES,
        pieces=pieces,
        claims=claims,
        derived=derived,
        logarithmic=("figure 6", "figure 7"),
        kinds={
            "our constants": lambda method: PAPER not in method,
            "the paper's": lambda method: PAPER in method or method in REFERENCES,
        },
    ),
)
