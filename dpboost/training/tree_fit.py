"""From a raw table to one released tree: the steps of a fit, in their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.threads import effective_n_threads
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.data.column_types import ColumnFacts
from dpboost.data.labels import check_same_length, encode_classes, read_class_labels
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import Table, read_table
from dpboost.data.users import take_rows
from dpboost.growing.class_leaves import (
    SCORE_UNIT,
    GrownTree,
    class_probabilities,
    leaf_scores,
    score_precision,
)
from dpboost.growing.grower import binary_nodes
from dpboost.growing.monotone_leaves import MonotoneLeaves, Nodes
from dpboost.growing.shrunken_leaves import ShrunkenLeaf
from dpboost.growing.split_gains import split_gains
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.budget import divide
from dpboost.privacy.exact_arithmetic import PrivacyCost, pure_epsilon
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.queries import LocalRows
from dpboost.privacy.report import PrivacyReport
from dpboost.recipes.single_tree import TREE_ALGORITHMS
from dpboost.recipes.tree_recipe import (
    TreeFacts,
    TreeHyperparameters,
    TreeRecipe,
    find_tree_recipe,
)
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.class_statistics import ClassRowStore, ClassStatistics
from dpboost.rows.raw_rows import RawRows
from dpboost.schema import ResolvedSchema
from dpboost.training.label_warnings import warn_of_empty
from dpboost.training.privacy_params import PrivacyRequest, warn_of_delta, warn_of_request
from dpboost.training.public_schema import CompletedSchema, complete_schema
from dpboost.training.start_value import SURE
from dpboost.trees.constraints import Constraints
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.exported_tree import ReleasedTree
from dpboost.trees.split_candidates import Candidates
from dpboost.trees.tree import Tree

#: Shares of classes differ by at most 1 between the sides of a split, each taken for a row larger.
_SHARES = ShrunkenLeaf(reg_lambda=1.0, prior=1.0)

#: The kernels number classes in a byte.
MOST_CLASSES = 255


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedTree:
    """The public outcome of a fit.

    Parameters
    ----------
    ensemble : Ensemble
        The tree for LightGBM: one for each output, of one structure.
    tree : ReleasedTree
        The tree for people.
    hyperparameters : TreeHyperparameters
        The values used.
    completed : CompletedSchema
        The completed schema and where it comes from.
    report : PrivacyReport
        Every release and its charge.
    """

    ensemble: Ensemble
    tree: ReleasedTree
    hyperparameters: TreeHyperparameters
    completed: CompletedSchema
    report: PrivacyReport


# A numpy warning about an odd cell (an overflow, a signalling NaN) would tell that there is one.
@np.errstate(all="ignore")
def fit_tree(
    X: Any,
    y: Any,
    *,
    recipe: Any,
    hyperparameters: TreeHyperparameters,
    privacy: PrivacyRequest,
    n_jobs: int | None,
    owner: str,
) -> FittedTree:
    """Train one private tree.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        Anything that ``read_table`` understands.
    y : array-like of shape (n_rows,)
        Class labels.
    recipe : str
        Name of the algorithm.
    hyperparameters : TreeHyperparameters
        What the user has set.
    privacy : PrivacyRequest
        The guarantee asked for.
    n_jobs : int or None
        Threads, as LightGBM counts them.
    owner : str
        Name of the caller in error messages.

    Returns
    -------
    FittedTree

    Raises
    ------
    InvalidParameterError
        For bad parameters or input, before anything is drawn or charged.

    Privacy
    -------
    Everything in the result is public, declared, assumed public or released by one ledger, in
    pure epsilon.
    """
    algorithm = find_tree_recipe(dict(TREE_ALGORITHMS), recipe, owner)
    hyperparameters.validate(owner)
    algorithm.check(hyperparameters, owner)
    privacy = privacy.settled(lambda _epsilon, _delta: PureAccountant())
    n_threads = effective_n_threads(n_jobs)
    table = read_table(X, schema=privacy.schema)
    labels = _read_labels(y, table, privacy)
    nominal = np.isin(np.arange(table.n_features), list(_nominal(table, privacy)))
    hyperparameters = hyperparameters.on_columns(table.feature_names, nominal, owner)
    check_least_epsilon(algorithm, hyperparameters, table.n_features, privacy, owner)
    warn_of_request(privacy, "classification")
    ledger = privacy.ledger(privacy.granted or PureAccountant())
    n_bins = hyperparameters.max_bin or algorithm.max_bin
    assumed = tuple(np.unique(labels).tolist()) if "classes" in privacy.assume_public else ()
    if privacy.claim is not None and privacy.claim.holdout is not None:
        # Before anything looks at the rows: those that are set aside enter no release.
        trained = privacy.claim.set_aside(X, labels, None, ledger.row_coins())
        X, labels = take_rows(X, trained), labels[trained]
        table = read_table(X, schema=privacy.schema, may_be_empty=True)
    lists_assumed = "categories" in privacy.assume_public
    completed = complete_schema(
        privacy.schema.resolve(table.feature_names),
        ColumnFacts.of(table),
        LocalRows(RawRows(table=table, labels=labels)),
        task="classification",
        assume_public=privacy.assume_public,
        n_bins=n_bins,
        ledger=ledger,
        assumed_classes=assumed,
        assumed_categories=table.categorical if lists_assumed else {},
    )
    # Categories have an order where the list of their type is used, and nowhere else.
    ordered = table.ordered if lists_assumed else frozenset()
    if "categories" in completed.learned:
        table = read_table(X, schema=completed.schema, may_be_empty=True)
    binner = Binner.from_schema(
        completed.schema, n_bins=n_bins, categorical=table.categorical, ordered=ordered
    )
    classes = public_classes(completed.schema)
    candidates = algorithm.candidates(binner)
    place = rows_of_tree(table, labels, binner, classes, candidates, n_threads)
    return release_tree(
        LocalRows(place),
        recipe=algorithm,
        hyperparameters=hyperparameters,
        binner=binner,
        completed=completed,
        privacy=privacy,
        ledger=ledger,
        n_threads=n_threads,
    )


def _nominal(table: Table, privacy: PrivacyRequest) -> set[int]:
    """Return the columns whose values have no order that splits know."""
    known = privacy.schema.resolve(table.feature_names).categories
    ordered = table.ordered if "categories" in privacy.assume_public else frozenset()
    return set(table.categorical) - ordered | set(known)


def check_least_epsilon(
    recipe: TreeRecipe,
    hyperparameters: TreeHyperparameters,
    n_features: int,
    privacy: PrivacyRequest,
    owner: str,
) -> None:
    """Raise where a release would get too little to be drawn exactly."""
    least = recipe.least_epsilon(hyperparameters, n_features, privacy.neighbours)
    if privacy.row_epsilon < least:
        raise privacy.refuse_epsilon(owner, least, "recipe and depth")


def rows_of_tree(
    table: Table,
    labels: NDArray[Any],
    binner: Binner,
    classes: Sequence[Any],
    candidates: Candidates,
    n_threads: int,
) -> ClassRows:
    """Return the private rows of one place as a tree looks at them.

    Parameters
    ----------
    table : Table
    labels : ndarray of shape (n_rows,)
        From `read_class_labels`.
    binner : Binner
        Public bins, of columns that are read as those of this table.
    classes : sequence
        Public. Rows of other classes take no part.
    candidates : Candidates
    n_threads : int

    Returns
    -------
    ClassRows
    """
    indices, present = encode_classes(labels, classes)
    # A tree looks at all features of its rows, so that a sparse table is spread out: a byte a cell.
    return ClassRows(
        dense_matrix(binner.transform(table, n_threads)),
        indices.astype(np.uint8),
        present,
        n_classes=len(classes),
        candidates=candidates,
        n_threads=n_threads,
    )


def release_tree(
    source: ClassRowStore,
    *,
    recipe: TreeRecipe,
    hyperparameters: TreeHyperparameters,
    binner: Binner,
    completed: CompletedSchema,
    privacy: PrivacyRequest,
    ledger: Ledger,
    n_threads: int,
    facts: Callable[[], Mapping[str, bool | int | float | str]] = dict,
) -> FittedTree:
    """Release one tree from rows wherever they are.

    Parameters
    ----------
    source : ClassRowStore
        Of ``ClassRows``.
    recipe : TreeRecipe
    hyperparameters : TreeHyperparameters
        What the user has set.
    binner : Binner
        Public bins.
    completed : CompletedSchema
        The completed schema.
    privacy : PrivacyRequest
    ledger : Ledger
    n_threads : int
    facts : callable, optional
        Returns public facts for the report, beyond those of the recipe, once all is released.

    Returns
    -------
    FittedTree

    Warns
    -----
    ParameterWarning
        Where the released counts show no row of a declared class. Rows of other labels are in no
        count of a tree: nothing tells of them alone.
    """
    rows = ClassStatistics(
        source,
        n_classes=len(public_classes(completed.schema)),
        candidates=recipe.candidates(binner),
        neighbours=privacy.neighbours,
        n_threads=n_threads,
    )
    grown, hyper = _grow(recipe, hyperparameters, rows, completed, privacy, ledger)
    _warn_of_classes(grown, privacy, public_classes(completed.schema), ledger)
    report = PrivacyReport.from_ledger(
        ledger,
        assumed_public=completed.assumed,
        facts={**_facts(recipe, hyper, completed, privacy), **facts()},
    )
    probability = recipe.probability.of(grown)
    nodes = binary_nodes(grown.growing, binner.is_categorical)
    scores = leaf_scores(probability)
    constraints = Constraints.of(hyper.monotone_constraints, None, binner.feature_names, "fit")
    monotone = MonotoneLeaves.of(constraints.monotone, binner)
    if monotone is not None:
        weights = score_precision(probability, grown)
        scores = np.rint(monotone.project(nodes, scores.astype(np.float64), weights))
        scores = scores.astype(np.int64)
        probability = class_probabilities(scores)
    return FittedTree(
        ensemble=_ensemble(nodes, scores, grown, binner, report),
        tree=_readable(grown, probability, rows),
        hyperparameters=hyper,
        completed=completed,
        report=report,
    )


def _grow(
    recipe: TreeRecipe,
    hyperparameters: TreeHyperparameters,
    rows: ClassStatistics,
    completed: CompletedSchema,
    privacy: PrivacyRequest,
    ledger: Ledger,
) -> tuple[GrownTree, TreeHyperparameters]:
    """Release the number of rows where the recipe's rules ask for it, then the tree."""
    share = recipe.rows_share
    for_rows, budget = divide(completed.budget, (share, 1 - share))
    with ledger.sequential("training"):
        facts = TreeFacts(
            epsilon=privacy.row_epsilon,
            neighbours=privacy.neighbours,
            n_rows=_n_rows(rows, for_rows, ledger) if share else None,
            max_rows=completed.schema.max_rows,
            n_classes=rows.n_classes,
            candidates=rows.candidates,
        )
        hyper = hyperparameters.filled(recipe.defaults(facts))
        return recipe.build(hyper, facts).learn(rows, budget=budget, ledger=ledger), hyper


def _warn_of_classes(
    grown: GrownTree, privacy: PrivacyRequest, classes: Sequence[Any], ledger: Ledger
) -> None:
    """Warn by the released counts of the leaves, whose sums are those of all rows."""
    sizes = grown.counts.sum(axis=0)
    warn_of_delta(ledger, max(float(sizes.sum()), 1.0))
    if privacy.schema.classes is not None:
        noise = grown.noise_stddev * math.sqrt(len(grown.counts))
        warn_of_empty([classes[place] for place in np.flatnonzero(sizes <= SURE * noise).tolist()])


def _n_rows(rows: ClassStatistics, budget: PrivacyCost, ledger: Ledger) -> float:
    """Release the number of rows; under the replace relation it is public, and still paid."""
    root = np.zeros(1, dtype=np.int32)
    released = ledger.release(
        DiscreteLaplace(epsilon=pure_epsilon(budget)), rows.sizes(root), label="row count"
    )
    return float(max(released[0], 0))


def _read_labels(y: Any, table: Table, privacy: PrivacyRequest) -> NDArray[Any]:
    """Private labels of the right kind and length, refused when they are not."""
    labels = read_class_labels(y)
    check_same_length(table.n_rows, labels)
    classes = privacy.schema.classes
    if classes is None and "classes" in privacy.assume_public:
        classes = tuple(np.unique(labels).tolist())
    if classes is None:
        return labels
    if len(classes) > MOST_CLASSES:
        raise InvalidParameterError(
            f"A tree knows at most {MOST_CLASSES} classes; more are declared or in y. Unknown "
            "label type: is the target a number?"
        )
    if {isinstance(value, str) for value in classes} != {labels.dtype.kind == "U"}:
        raise InvalidParameterError(
            "The classes declared in Schema(classes=...) and the labels y must be of one kind: "
            "all text, or all numbers."
        )
    return labels


def public_classes(schema: ResolvedSchema) -> list[Any]:
    """Return the public classes in the order of ``classes_``, which scikit-learn wants sorted."""
    classes = sorted(schema.classes or ())
    if not 1 <= len(classes) <= MOST_CLASSES:
        raise InvalidParameterError(
            "No class labels were released, or too many: declare them with Schema(classes=...)."
        )
    return classes


def _ensemble(
    nodes: Nodes,
    values: NDArray[np.int64],
    grown: GrownTree,
    binner: Binner,
    report: PrivacyReport,
) -> Ensemble:
    """Write the tree as LightGBM knows trees: binary, with one copy for each output."""
    feature, left_bins, left, right = nodes
    sizes = np.maximum(grown.counts, 0.0).sum(axis=1)
    first = Tree(
        feature=feature,
        left_bins=left_bins,
        left=left,
        right=right,
        leaf_value=values[0],
        leaf_count=np.rint(sizes).astype(np.int64),
    )
    n_classes = grown.counts.shape[1]
    counts = np.ascontiguousarray(grown.counts.T)
    of_class = np.repeat(sizes[np.newaxis], n_classes, axis=0)
    shown, _ = split_gains(first, counts, of_class, grown.noise_stddev, _SHARES)
    gain = shown / len(values)
    return Ensemble(
        trees=tuple(replace(first, leaf_value=own, split_gain=gain) for own in values),
        binner=binner,
        start=(0.0,) * len(values),
        unit=SCORE_UNIT,
        objective="binary sigmoid:1" if n_classes < 3 else f"multiclass num_class:{n_classes}",
        report=report.to_dict(),
        n_rows=max(float(grown.counts.sum()), 1.0),
    )


def _readable(
    grown: GrownTree, probability: NDArray[np.float64], rows: ClassStatistics
) -> ReleasedTree:
    growing = grown.growing
    of_nodes = np.full((growing.n_nodes, probability.shape[1]), np.nan)
    of_nodes[growing.leaves] = probability
    return ReleasedTree(
        splits=growing.splits,
        first_child=growing.first_child,
        kinds=rows.candidates.kinds,
        counts=grown.node_counts(),
        probability=of_nodes,
        noise_stddev=grown.noise_stddev,
        sizes=grown.sizes,
    )


def _facts(
    recipe: TreeRecipe,
    hyper: TreeHyperparameters,
    completed: CompletedSchema,
    privacy: PrivacyRequest,
) -> dict[str, bool | int | float | str]:
    """Public facts for the report: recipe, hyper-parameters, what was declared and learned."""
    return {
        "recipe": recipe.name,
        **hyper.given(),
        "declared public": privacy.declared,
        "learned": ", ".join(completed.learned) or "nothing",
        **privacy.facts,
    }
