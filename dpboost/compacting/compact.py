"""A small LightGBM model that says what a released one says."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from dpboost._utils.json_text import parse_json
from dpboost._utils.threads import effective_n_threads
from dpboost._utils.validation import InvalidParameterError, check_integer, check_real, refuse
from dpboost.compacting.drawn_rows import cells_of, draw_rows
from dpboost.compacting.released_function import ReleasedFunction
from dpboost.compacting.small_trees import SmallTrees
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.constraint_check import check_constraints
from dpboost.lightgbm.model_text.syntax import text_of_parts, text_parts
from dpboost.lightgbm.model_text.writer import (
    PARAMETER_LINE,
    REPORT_KEY,
    find_report,
    insert_report,
    report_line,
)
from dpboost.reporting.terms import AFTER_THE_FIT, COMPACT_SETTINGS
from dpboost.trees.constraints import Constraints
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.tree import Tree

#: Where the rows came from that a small model was fitted to.
RELEASED, COUNTED, PUBLIC = (
    "rows drawn from released shares",
    "rows drawn from shares that counts of leaves tell",
    "declared public rows",
)
_OWNER = "compact"
# Rows that trees are fitted to, and fresh ones on which the error is measured.
_N_ROWS, _N_FRESH = 25_000, 5_000
# Fresh rows on which the known noise is averaged.
_N_NOISE = 500
# The seed is public: the same model has the same small model.
_SEED = 0
# Times that the trees are doubled at the most to keep to an error.
_DOUBLINGS = 2
_ONE_LEAF = (
    "Tree=0\nnum_leaves=1\nnum_cat=0\nsplit_feature=\nsplit_gain=\nthreshold=\ndecision_type=\n"
    "left_child=\nright_child=\nleaf_value=0\nleaf_weight=\nleaf_count=\ninternal_value=\n"
    "internal_weight=\ninternal_count=\nis_linear=0\nshrinkage=1\n\n\n"
)


def compact(
    model: Any,
    *,
    n_trees: int = 300,
    num_leaves: int = 31,
    max_error: float | None = None,
    public_rows: Any = None,
) -> Booster:
    """Return a small LightGBM model that says what a released model says.

    LightGBM fits its trees to the raw scores of rows that are drawn from the released shares of
    the bins. The small model splits only at edges and categories of the full one.

    Parameters
    ----------
    model : estimator, Booster or str
        A fitted estimator, a Booster, or the text of a model.
    n_trees : int, default=300
        Trees for each raw score.
    num_leaves : int, default=31
        Leaves of a tree at the most.
    max_error : float, optional
        Largest error on fresh drawn rows, as a share of the standard deviation of raw scores. More
        trees are grown until it is kept, four times ``n_trees`` at the most.
    public_rows : DataFrame or array of shape (n_rows, n_features), optional
        Rows that anyone may see, without labels: the small model is fitted to scores of such
        rows in place of drawn ones.

    Returns
    -------
    Booster
        The facts ``"after the fit"`` and ``"settings of compact"`` of its ``privacy_report`` name
        this step and its error.

    Raises
    ------
    InvalidParameterError
        For a model that is small already, for one that tells nothing of where rows are, and for
        an error that cannot be kept.

    Notes
    -----
    An estimator knows more than its text: the released masses of its bins, and how far the known
    noise has moved raw scores. Of a text, shares are estimated from the counts of leaves. Monotone
    and interaction constraints of the fit are kept, and checked in every tree. Several quantiles
    may cross, as those of ``booster_`` may; ``np.sort(small.predict(X), axis=1)`` puts them in
    order and is no further from the quantiles.

    Privacy
    -------
    Post-processing: reads the released model, released shares, a public seed and rows that are
    declared public. No private row is read and nothing is charged.

    Examples
    --------
    >>> import numpy as np
    >>> import dpboost
    >>> X = np.random.default_rng(0).uniform(size=(2000, 2))
    >>> schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (0, 2)}
    >>> model = dpboost.DPBoostRegressor(epsilon=2.0, delta=1e-6, schema=schema)
    >>> small = dpboost.compact(model.fit(X, X.sum(axis=1)), n_trees=20, num_leaves=7)
    >>> small.num_trees()
    20
    """
    check_integer("n_trees", _OWNER, n_trees, low=1)
    check_integer("num_leaves", _OWNER, num_leaves, low=2, high=1024)
    if max_error is not None:
        check_real("max_error", _OWNER, max_error, low=0, low_open=True)
    source = _Source.of(model)
    source.check(n_trees * num_leaves)
    function = source.function()
    public = None
    if public_rows is not None:
        lists = source.booster.pandas_categorical or []
        public = cells_of(function, public_rows, lists, _OWNER)
    elif function.shares is None:
        raise InvalidParameterError(
            "compact draws rows from released shares of bins or counts of leaves, and this model "
            "has released neither. Pass public rows, public_rows=..."
        )
    fitting = _Fitting.of(function, public, source)
    rounds = [n_trees * 2**doubling for doubling in range(_DOUBLINGS + 1)]
    for n_rounds in rounds:
        small = fitting.trees(n_rounds, num_leaves)
        error = fitting.error(small)
        if max_error is None or error <= max_error:
            break
    else:
        raise InvalidParameterError(
            f"The 'max_error' parameter of compact is {max_error:g}, and {n_rounds} trees of "
            f"{num_leaves} leaves come as near as {error:.3g}. Allow that error, more n_trees or "
            "num_leaves, or keep the full model."
        )
    asked = {"n_trees": n_trees, "num_leaves": num_leaves, "max_error": max_error}
    found = Booster.of_written_text(_text(source, fitting, small, error, asked))
    if any(source.written) and not check_constraints(found, *source.written):
        raise InvalidParameterError(
            "compact could not keep the constraints of this model. Keep the full model."
        )
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Source:
    """The full model."""

    booster: Booster
    text: str
    #: What one fit has released, where this is the whole model.
    ensemble: Ensemble | None
    n_threads: int

    @classmethod
    def of(cls, model: Any) -> _Source:
        booster = getattr(model, "booster_", model)
        if isinstance(booster, str):
            booster = Booster(model_str=booster)
        if not isinstance(booster, lightgbm.Booster):
            must = "a fitted estimator, a Booster or a model text"
            raise refuse("model", _OWNER, must, type(model).__name__)
        text = booster.model_to_string()
        if not isinstance(booster, Booster):
            booster = Booster(model_str=text)
        ensemble = getattr(model, "ensemble_", None)
        if ensemble is not None and text.count("\nTree=") != len(ensemble.trees):
            ensemble = None  # it continues another model
        n_threads = effective_n_threads(getattr(model, "n_jobs", None))
        return cls(booster=booster, text=text, ensemble=ensemble, n_threads=n_threads)

    def check(self, n_leaves: int) -> None:
        """Refuse what is no sum of many trees."""
        blocks = self.parts[1]
        full = sum(int(n) for n in re.findall(r"^num_leaves=(\d+)$", self.text, re.MULTILINE))
        outputs = self.booster.num_model_per_iteration()
        if full <= n_leaves * outputs:
            raise InvalidParameterError(
                f"This model has {len(blocks)} trees of {full} leaves in all, no more than the "
                f"{n_leaves * outputs} that compact may make of it: it is as small already. Use "
                "it as it is, or ask for fewer n_trees or num_leaves."
            )

    def function(self) -> ReleasedFunction:
        """Return what the model says."""
        if self.ensemble is not None:
            return ReleasedFunction.of_ensemble(self.ensemble)
        return ReleasedFunction.of_text(self.text)

    @cached_property
    def parts(self) -> tuple[str, list[str], str]:
        """Header, trees and footer of the text."""
        return text_parts(self.text)

    @property
    def written(self) -> tuple[str | None, str | None]:
        """Directions and groups as the text has them."""
        lines = dict(PARAMETER_LINE.findall(self.parts[2]))
        return lines.get("monotone_constraints"), lines.get("interaction_constraints")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fitting:
    """What small trees are fitted to."""

    function: ReleasedFunction
    #: Of shape (n_features, n_rows). Rows of cells to fit to, and those on which the error is
    #: measured.
    rows: NDArray[np.uint8]
    fresh: NDArray[np.uint8]
    #: Features that may meet, with the trees over them.
    parts: list[tuple[NDArray[np.intp], list[list[Tree]]]]
    directions: Sequence[int]
    from_public: bool
    n_threads: int

    @classmethod
    def of(
        cls, function: ReleasedFunction, public: NDArray[np.uint8] | None, source: _Source
    ) -> _Fitting:
        rng = np.random.default_rng(_SEED)
        names = source.booster.feature_name()
        found = Constraints.of(*source.written, names, _OWNER)
        return cls(
            function=function,
            rows=draw_rows(function, _N_ROWS, rng, public),
            fresh=draw_rows(function, _N_FRESH, rng, public),
            parts=_parts(function, found.groups),
            directions=found.monotone or (0,) * len(names),
            from_public=public is not None,
            n_threads=source.n_threads,
        )

    def trees(self, n_trees: int, num_leaves: int) -> list[list[SmallTrees]]:
        """Fit so many trees for each output, divided among the groups of features."""
        sizes = [sum(map(len, trees)) for _, trees in self.parts]
        found = []
        for output in range(self.function.n_outputs):
            fitted, left, rest = [], n_trees, sum(sizes)
            for (features, trees), size in zip(self.parts, sizes, strict=True):
                own = max(1, round(left * size / rest))
                left, rest = left - own, rest - size
                fitted.append(
                    SmallTrees.fitted(
                        self.function,
                        self.rows,
                        self.function.scores(self.rows, trees[output], self.n_threads),
                        features,
                        self.directions,
                        n_trees=own,
                        num_leaves=num_leaves,
                        n_threads=self.n_threads,
                    )
                )
            found.append(fitted)
        return found

    @cached_property
    def full(self) -> NDArray[np.float64]:
        """What the full model says of fresh rows, but for where its scores begin."""
        return np.stack(
            [
                np.sum(
                    [
                        self.function.scores(self.fresh, trees[output], self.n_threads)
                        for _, trees in self.parts
                    ],
                    axis=0,
                )
                for output in range(self.function.n_outputs)
            ]
        )

    @property
    def spread(self) -> float:
        """Standard deviation of raw scores over fresh rows."""
        return float(np.sqrt(self.full.var(axis=1).sum())) or 1.0

    def error(self, small: list[list[SmallTrees]]) -> float:
        """Return the error on fresh rows, as a share of the standard deviation of raw scores."""
        found = np.stack(
            [
                np.sum([trees.scores(self.function, self.fresh) for trees in own], axis=0)
                for own in small
            ]
        )
        return float(np.sqrt(np.square(found - self.full).mean(axis=1).sum())) / self.spread

    def noise(self) -> float | None:
        """Return the known noise of raw scores, in the unit of the error.

        It is that of the leaves together; later trees take back a part of it. None where a recipe
        releases no sums of leaves, and of a text.
        """
        total = 0.0
        for tree in self.function.trees:
            if tree.noise is None or tree.leaf_count is None:
                return None
            leaf = leaf_index(tree, self.fresh[:, :_N_NOISE])
            total += float(np.square(tree.noise.stddev(tree.leaf_count)[leaf]).mean())
        return self.function.unit * math.sqrt(total) / self.spread


def _parts(
    function: ReleasedFunction, groups: Sequence[Sequence[int]] | None
) -> list[tuple[NDArray[np.intp], list[list[Tree]]]]:
    """Assign the trees of each output to groups of features that may meet."""
    outputs, used = function.n_outputs, function.used
    sets = [set(used.tolist())] if groups is None else [set(group) for group in groups]
    dealt: list[list[list[Tree]]] = [[[] for _ in range(outputs)] for _ in sets]
    for number, tree in enumerate(function.trees):
        features = set(tree.feature.tolist())
        fits = [place for place, group in enumerate(sets) if features <= group]
        if not fits:
            raise InvalidParameterError(
                "compact found a tree with features that the interaction constraints of this "
                "model keep apart. Keep the full model."
            )
        dealt[fits[0]][number % outputs].append(tree)
    return [
        (np.array(sorted(group & set(used.tolist())), dtype=np.intp), trees)
        for group, trees in zip(sets, dealt, strict=True)
        if any(tree.n_nodes for own in trees for tree in own)
    ]


def _text(
    source: _Source,
    fitting: _Fitting,
    small: list[list[SmallTrees]],
    error: float,
    asked: dict[str, Any],
) -> str:
    """Return the text of the small model: that of the full one with other trees."""
    head, blocks, tail = source.parts
    function = fitting.function
    starts = np.asarray(function.start)
    outputs = [[b for t in own for b in t.blocks(function)] for own in small]
    most = max(map(len, outputs))
    for output, own in enumerate(outputs):
        own += [_ONE_LEAF] * (most - len(own))
        own[0] = _raised(own[0], float(starts[output]))
    trees = [block for own in zip(*outputs, strict=True) for block in own]
    tail = re.sub(r"^\[num_iterations: \d+\]$", f"[num_iterations: {most}]", tail, flags=re.M)
    names = source.booster.feature_name()
    splits = np.zeros(len(names), dtype=np.int64)
    for block in trees:
        for listed in re.findall(r"^split_feature=(.*)$", block, re.MULTILINE):
            splits += np.bincount(np.array(listed.split(), np.intp), minlength=len(names))
    order = np.argsort(-splits, kind="stable")
    counted = "".join(f"{names[f]}={splits[f]}\n" for f in order.tolist() if splits[f])
    importances = f"feature_importances:\n{counted}\nparameters:"
    tail = re.sub(
        r"^feature_importances:\n.*?^parameters:", lambda _: importances, tail, flags=re.M | re.S
    )
    line = find_report(source.text)
    if line is not None:
        tail = "".join(
            own for own in tail.splitlines(keepends=True) if not own.startswith(REPORT_KEY)
        )
        line = _with_step(line, source, fitting, len(blocks), error, asked, most)
    return insert_report(text_of_parts(head, trees, tail), line)


def _raised(block: str, by: float) -> str:
    """Return a tree whose leaves are higher: a model begins at its start value."""
    if not by:
        return block

    def raised(match: re.Match[str]) -> str:
        return match[1] + " ".join(repr(float(value) + by) for value in match[2].split())

    return re.sub(r"^((?:leaf|internal)_value=)(.*)$", raised, block, flags=re.MULTILINE)


def _with_step(
    line: str,
    source: _Source,
    fitting: _Fitting,
    n_full: int,
    error: float,
    asked: dict[str, Any],
    n_rounds: int,
) -> str:
    """Return the line of the report with this step among its facts."""
    report = parse_json(line[len(REPORT_KEY) :])
    noise = fitting.noise()
    rows = RELEASED if source.ensemble is not None else COUNTED
    rows = PUBLIC if fitting.from_public else rows
    near = f"it differs by {100 * error:.2g} % of the standard deviation of raw scores"
    if noise is not None:
        near += f", the known noise of its leaves alone by {100 * noise:.2g} %"
    number = f"{n_rounds} trees" + (" a raw score" if fitting.function.n_outputs > 1 else "")
    report["facts"][AFTER_THE_FIT] = (
        f"compact: {number} of at most {asked['num_leaves']} leaves, fitted to the {n_full} "
        f"trees of the fit on {rows}; {near}; no private row was read and nothing charged"
    )
    kept = {
        **asked,
        "error": error,
        "rows": rows,
        "full_sha256": hashlib.sha256(source.text.encode()).hexdigest(),
    }
    report["facts"][COMPACT_SETTINGS] = json.dumps(kept)
    return report_line(report)
