"""LightGBM's model text (v4) of an ensemble, from released and public values only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.lightgbm.model_text.footer import pandas_line, parameter_lines, report_line
from dpboost.lightgbm.model_text.splits import check_code
from dpboost.lightgbm.model_text.trees import tree_blocks

if TYPE_CHECKING:
    from dpboost.data.binner import Binner
    from dpboost.trees.ensemble import Ensemble
    from dpboost.trees.tree import Tree

_JSON_CHARACTERS = frozenset('",:[]{}\\')
_OBJECTIVE = re.compile(r"[a-z0-9_:. +-]*")


def model_text(ensemble: Ensemble, *, parameters: Mapping[str, Any] | None = None) -> str:
    """Return the ensemble as a model text that every LightGBM 4 loads.

    The start values are folded into the leaves of the first round, as LightGBM itself does, so
    the text has as many trees as the ensemble (one for each output, if the ensemble has none).
    All leaf values are multiples of one power of two, hence exact doubles, and so is every
    partial sum of them.

    Parameters
    ----------
    ensemble : Ensemble
        What training has released.
    parameters : mapping of str to str, int, float or bool, optional
        Public training parameters by LightGBM's canonical names, for the file's footer. Paths
        and seeds are refused.

    Returns
    -------
    str
        The text, ASCII but for feature names and the objective.

    Raises
    ------
    InvalidParameterError
        If a feature name, a parameter, a category or a value cannot be written in the format, or
        the children of a tree do not reach each of its leaves once.

    Privacy
    -------
    Post-processing: every number of the text is released, public, or computed from such.
    Counts add up to the released number of rows, or are shares of the public bin grid where
    none was released; gains are released ones less their noise; feature_infos hold declared
    ranges and categories.
    """
    binner = ensemble.binner
    names = feature_names(binner.feature_names)
    blocks = tree_blocks(ensemble)
    header = _header(ensemble, names, [len(block) for block in blocks])
    base = {"boosting": "gbdt", "objective": (ensemble.objective.split() or ["custom"])[0]}
    footer = (
        f"end of trees\n\nfeature_importances:\n{_importances(ensemble.trees, names)}\n"
        f"parameters:\n{parameter_lines({**base, **(parameters or {})})}\nend of parameters\n\n"
        f"{report_line(ensemble.report)}\n\n{pandas_line(binner.pandas_categories())}\n"
    )
    return "".join([header, "\n", *blocks, footer])  # the blocks are copied only once


def check_writable(
    binner: Binner, *, objective: str = "", parameters: Mapping[str, Any] | None = None
) -> None:
    """Raise unless models over these bins can be written: to be called before a budget is spent.

    Parameters
    ----------
    binner : Binner
        The public bins.
    objective : str
        LightGBM's objective string.
    parameters : mapping, optional
        As in `model_text`.

    Raises
    ------
    InvalidParameterError
        As `model_text` would.
    """
    feature_names(binner.feature_names)
    for f in np.flatnonzero(binner.is_categorical).tolist():
        for code in binner.category_codes(f).tolist():
            check_code(code, binner.feature_names[f])
    _check_objective(objective)
    parameter_lines(parameters or {})
    pandas_line(binner.pandas_categories())


def feature_names(names: Sequence[str]) -> list[str]:
    """Return the names as the format can hold them: blanks become ``_``, as in LightGBM.

    Raises
    ------
    InvalidParameterError
        For characters that break the format or LightGBM's JSON dump, and for names that are
        empty or the same.
    """
    written = [str(name).replace(" ", "_") for name in names]
    together = "".join(written)  # one look at all of them: a table may have very many
    bad = not together.isprintable() or any(c in together for c in _JSON_CHARACTERS)
    if bad or not all(written):
        _refuse_first_bad(names, written)
    if len(set(written)) < len(written):
        twice = [name for name, times in Counter(written).items() if times > 1]
        raise InvalidParameterError(
            f"The feature name {twice[0]!r} appears more than once (LightGBM writes blanks as "
            "'_'). Rename the features."
        )
    return written


def _refuse_first_bad(names: Sequence[str], written: Sequence[str]) -> None:
    """Raise for the first name that is empty or holds what breaks the format."""
    for name, safe in zip(names, written, strict=True):
        bad = sorted(c for c in set(safe) if c in _JSON_CHARACTERS or not c.isprintable())
        if bad or not safe:
            raise InvalidParameterError(
                f"The feature name {name!r} cannot be written to a LightGBM model. Rename the "
                "feature without " + (", ".join(map(repr, bad)) if bad else "an empty name") + "."
            )


def _check_objective(objective: str) -> str:
    if not _OBJECTIVE.fullmatch(objective):
        raise refuse("objective", "the model text", "a LightGBM objective string", objective)
    return objective


def _header(ensemble: Ensemble, names: Sequence[str], tree_sizes: Sequence[int]) -> str:
    binner = ensemble.binner
    objective = _check_objective(ensemble.objective)
    infos = " ".join(binner.feature_infos())
    return (
        f"tree\nversion=v4\nnum_class={len(ensemble.start)}\n"
        f"num_tree_per_iteration={len(ensemble.start)}\nlabel_index=0\n"
        f"max_feature_idx={len(names) - 1}\n"
        + (f"objective={objective}\n" if objective else "")
        + f"feature_names={' '.join(names)}\nfeature_infos={infos}\n"
        f"tree_sizes={' '.join(map(str, tree_sizes))}\n"
    )


def _importances(trees: Sequence[Tree], names: Sequence[str]) -> str:
    """Count the splits on each feature, most used first: informative, LightGBM never reads it."""
    features = [tree.feature for tree in trees] or [np.empty(0, dtype=np.int32)]
    n_splits = np.bincount(np.concatenate(features))
    used = np.flatnonzero(n_splits)
    order = used[np.argsort(-n_splits[used], kind="stable")]
    counted = zip(order.tolist(), n_splits[order].tolist(), strict=True)
    return "".join(f"{names[feature]}={n}\n" for feature, n in counted)
