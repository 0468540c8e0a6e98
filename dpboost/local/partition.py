"""The public partition that the server sends to every device before a collection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.json_text import parse_json
from dpboost._utils.validation import InvalidParameterError, check_choice, check_integer, refuse
from dpboost.data.binner import Binner
from dpboost.data.containers import is_frame
from dpboost.data.labels import check_same_length
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import Table, read_table
from dpboost.lightgbm.model_text.writer import check_writable
from dpboost.local.collection import ReportPlan
from dpboost.local.default_sizes import Collection, choose_size
from dpboost.local.exact_probability import check_epsilon
from dpboost.local.label_levels import (
    ClassLabels,
    Labels,
    NumericLabels,
    labels_from_dict,
    score_grid,
)
from dpboost.local.public_rows import PublicRows, public_bins, public_labels, read_public
from dpboost.local.public_tree import RULES, grow_public, public_tree
from dpboost.local.registry import MECHANISMS
from dpboost.schema import ResolvedSchema, Schema
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.tree import Tree, pack_sets

FORMAT = 1

_DEEPEST = 12


@dataclass(frozen=True, kw_only=True, eq=False)
class LPDTPartition:
    """A tree over public bins, grown on public rows alone, and the scale of the labels.

    Created by `from_public`; devices receive it as JSON text.

    Parameters
    ----------
    binner : Binner
        Public bins.
    tree : Tree
        Its leaves are the cells; leaf values are zero.
    labels : NumericLabels or ClassLabels
        Bounds and levels of the labels, or the classes.
    categories : dict of int to tuple
        Categories of the columns that hold any.

    Attributes
    ----------
    n_cells : int

    Privacy
    -------
    Public. Reports are epsilon-locally private for any partition, so a device need not trust it:
    a bad partition costs accuracy only.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 1))
    >>> y = (X[:, 0] > 0.5).astype(int)

    >>> partition = LPDTPartition.from_public(X, y, epsilon=2.0, n_reports=1000)
    >>> device = LPDTPartition.from_json(partition.to_json())
    >>> report = device.encode([0.3], 0, epsilon=2.0)  # on the device, once
    """

    binner: Binner
    tree: Tree
    labels: Labels
    categories: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse partitions without a valid model text, before any device reports."""
        check_writable(self.binner, objective=score_grid(self.labels)[0])

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.tree.n_leaves

    @classmethod
    def from_public(
        cls,
        X: Any,
        y: Any,
        *,
        rule: str = "variance",
        epsilon: Any = None,
        n_reports: int | None = None,
        mechanism: str = "signed_cell",
        max_depth: int | None = None,
        min_samples_leaf: int | None = None,
        n_levels: int | None = None,
        label_bounds: tuple[float, float] | None = None,
        classes: Any = None,
        schema: Any = None,
    ) -> LPDTPartition:
        """Grow a partition on public rows.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_public, n_features)
            Public rows.
        y : array-like of shape (n_public,)
            Public labels.
        rule : {"max_edge", "variance"}, default="variance"
            Halve a longest edge of a cell (LPDT-M of the paper), or take the split that lowers
            the variance of the labels most (LPDT-V).
        epsilon : float, optional
            Planned budget of a report; needed for what is left to the default.
        n_reports : int, optional
            Expected number of reports; needed for what is left to the default.
        mechanism : str, default="signed_cell"
            Planned mechanism.
        max_depth : int, optional
            Maximum number of splits between root and cell, 0 to 12.
        min_samples_leaf : int, optional
            Minimum number of public rows in a cell.
        n_levels : int, optional
            Levels that reports round a numeric label to, 2 to 64; 2 is a sign.
        label_bounds : (float, float), optional
            Range of the labels. Default: that of the schema, else of the public labels.
        classes : sequence, optional
            All classes; makes a partition for a classification.
        schema : Schema, dict or path, optional
            Public knowledge. What it does not declare is taken from the public rows: bounds and
            categories.

        Returns
        -------
        LPDTPartition

        Raises
        ------
        InvalidParameterError
            For invalid parameters or input.

        Privacy
        -------
        Everything here is published: ``X`` and ``y`` must hold public rows only.
        """
        owner = cls.__name__
        rule = check_choice("rule", owner, rule, RULES)
        check_choice("mechanism", owner, mechanism, MECHANISMS)
        known = Schema.coerce(schema)
        labels = public_labels(y, known, label_bounds, classes, n_levels)
        public = labels.read(y)
        table, resolved = read_public(X, known)
        check_same_length(table.n_rows, public)
        binner = public_bins(table, resolved, rule)
        bins = dense_matrix(table.bins(binner))
        targets = labels.targets(public)
        if max_depth is not None:
            max_depth = check_integer("max_depth", owner, max_depth, low=0, high=_DEEPEST)
        if min_samples_leaf is not None:
            check_integer("min_samples_leaf", owner, min_samples_leaf, low=1)
        plan_levels = labels.n_levels if isinstance(labels, ClassLabels) else n_levels
        if mechanism == "paper" and plan_levels is None:
            plan_levels = labels.n_levels
        if max_depth is None or min_samples_leaf is None or plan_levels is None:
            size = choose_size(
                bins=bins,
                targets=targets,
                binner=binner,
                labels=labels,
                rule=rule,  # type: ignore[arg-type]
                collection=_collection(epsilon, n_reports, mechanism, owner),
                max_depth=max_depth,
                min_samples_leaf=min_samples_leaf,
                n_levels=plan_levels,
                owner=owner,
            )
            max_depth, min_samples_leaf = size.max_depth, size.min_samples_leaf
            if isinstance(labels, NumericLabels):
                labels = replace(labels, n_levels=size.n_levels)
        growing = grow_public(
            PublicRows(bins, targets, binner, np.ones(len(targets), dtype=bool)),
            rule,  # type: ignore[arg-type]
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
        )
        tree = public_tree(growing, binner)
        return cls(binner=binner, tree=tree, labels=labels, categories=resolved.categories)

    def read(self, X: Any) -> Table:
        """Return rows as a table with the columns of the partition.

        Raises
        ------
        InvalidParameterError
            For what is no such table, and for a DataFrame whose columns are named otherwise.
        """
        table = read_table(X, schema=self._schema if _width(X) == self.binner.n_features else None)
        names = self.binner.feature_names
        has_names = names != tuple(f"Column_{position}" for position in range(len(names)))
        comparable = is_frame(X) and has_names and table.n_features == len(names)
        if comparable and table.feature_names != names:
            raise InvalidParameterError(
                f"X has the columns {list(table.feature_names)}, the public rows had "
                f"{list(names)}: give the same columns in the same order."
            )
        return table

    @property
    def _schema(self) -> ResolvedSchema:
        return ResolvedSchema(
            feature_names=self.binner.feature_names, categories=dict(self.categories)
        )

    def cells(self, table: Table) -> NDArray[np.int64]:
        """Return the cell of every row, a function of that row and of the partition.

        Parameters
        ----------
        table : Table
            Private or public rows.

        Returns
        -------
        ndarray of shape (n_rows,), int64

        Privacy
        -------
        The cells are as private as the rows.
        """
        leaves = leaf_index(self.tree, dense_matrix(table.bins(self.binner)))
        return leaves.astype(np.int64, casting="safe")

    def encode(self, x: Any, y: Any, epsilon: Any, *, mechanism: str = "signed_cell") -> bytes:
        """Return the report of one record, on the device.

        Parameters
        ----------
        x : array-like of shape (n_features,), or table of shape (1, n_features)
            The private features.
        y : float, int or str
            The private label; a number outside the bounds is clipped.
        epsilon : float
            Budget of the report, 1e-6 to 40.
        mechanism : {"signed_cell", "unary", "response", "paper"}
            What the server collects.

        Returns
        -------
        bytes
            To be kept, and sent again whenever the same record is asked for again.

        Raises
        ------
        InvalidParameterError
            For a bad parameter, an infinite epsilon, a missing label, or another number of
            features.

        Privacy
        -------
        epsilon-locally private: the probability of any report changes by at most the factor
        e^epsilon with the record. **Every call costs epsilon.** Two reports of
        one record tell twice as much: use `MemoizedReports`, which draws once.
        """
        plan = ReportPlan.of_device(self, epsilon, mechanism, "LPDTPartition.encode")
        return plan.encode_one(x, y)

    def to_dict(self) -> dict[str, Any]:
        """Return the partition as plain lists, dicts, text and numbers, fit for JSON."""
        tree = self.tree
        return {
            "format": FORMAT,
            "binner": self.binner.to_dict(),
            "categories": [
                [position, list(values)] for position, values in self.categories.items()
            ],
            "labels": self.labels.to_dict(),
            "feature": tree.feature.tolist(),
            "left_bins": [f"{bins:064x}" for bins in tree.sets()],
            "left": tree.left.tolist(),
            "right": tree.right.tolist(),
        }

    def to_json(self) -> str:
        """Return the partition as one line of JSON, the same for equal partitions."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> LPDTPartition:
        """Return the partition that `to_dict` wrote.

        Raises
        ------
        InvalidParameterError
            If it is damaged.
        """
        try:
            if mapping["format"] != FORMAT:
                raise refuse("format", cls.__name__, f"{FORMAT}", mapping["format"])
            binner = Binner.from_dict(mapping["binner"])
            return cls(
                binner=binner,
                tree=_tree_from_dict(mapping, binner),
                labels=labels_from_dict(mapping["labels"]),
                categories=_categories_from_list(mapping["categories"], binner.n_features),
            )
        except InvalidParameterError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            got = type(mapping).__name__
            raise refuse("partition", cls.__name__, "what to_dict has written", got) from error

    @classmethod
    def from_json(cls, text: str) -> LPDTPartition:
        """Return the partition that `to_json` wrote."""
        try:
            mapping = parse_json(text)
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(
                f"The text of a partition must be JSON: {error}."
            ) from error
        return cls.from_dict(mapping)

    def __reduce__(self) -> tuple[Any, ...]:
        return LPDTPartition.from_dict, (self.to_dict(),)


def _categories_from_list(pairs: Any, n_features: int) -> dict[int, tuple[Any, ...]]:
    """Return the declared categories of columns by their positions."""
    found = {position: tuple(values) for position, values in pairs}
    for position in found:
        if type(position) is not int or not 0 <= position < n_features:
            raise ValueError("Categories are those of a column.")
    return found


def _width(X: Any) -> int:
    try:
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
    except ValueError:
        return -1  # ragged, which is refused when it is read
    return int(shape[1]) if len(shape) == 2 else -1


def _collection(epsilon: Any, n_reports: Any, mechanism: str, owner: str) -> Collection:
    if epsilon is None or n_reports is None:
        raise InvalidParameterError(
            f"The 'epsilon' and 'n_reports' parameters of {owner} are needed to choose a size: "
            "give both, or give max_depth, min_samples_leaf and n_levels."
        )
    return Collection(
        n_reports=check_integer("n_reports", owner, n_reports, low=1),
        epsilon=check_epsilon(owner, epsilon),
        mechanism=mechanism,
    )


def _tree_from_dict(mapping: Mapping[str, Any], binner: Binner) -> Tree:
    """Return the validated tree."""
    feature = np.array(mapping["feature"], dtype=np.int32).reshape(-1)
    left = np.array(mapping["left"], dtype=np.int32).reshape(-1)
    right = np.array(mapping["right"], dtype=np.int32).reshape(-1)
    sets = [int(text, 16) for text in mapping["left_bins"]]
    n_nodes = len(feature)
    children = sorted(left.tolist() + right.tolist())
    whole = [*range(-n_nodes - 1, 0), *range(1, n_nodes)] if n_nodes else []
    falling = (left < 0) | (left > np.arange(n_nodes))
    falling &= (right < 0) | (right > np.arange(n_nodes))
    sound = len(left) == len(right) == len(sets) == n_nodes and children == whole
    sound = sound and bool(falling.all()) and n_nodes < 1 << _DEEPEST
    if sound and n_nodes:
        sound = int(feature.min()) >= 0 and int(feature.max()) < binner.n_features
        sound = sound and all(0 < bins < 1 << 256 for bins in sets)
    if not sound:
        raise refuse("tree", "LPDTPartition", "one whole tree over the features", "a damaged one")
    inside = np.array(
        [[bins >> position & 1 for position in range(256)] for bins in sets], dtype=bool
    )
    return Tree(
        feature=feature,
        left_bins=pack_sets(inside.reshape(-1, 256)),
        left=left,
        right=right,
        leaf_value=np.zeros(n_nodes + 1, dtype=np.int64),
    )
