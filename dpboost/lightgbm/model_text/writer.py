"""LightGBM's model text (v4) of an ensemble, from released and public values only."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.lightgbm.model_text.trees import check_code, tree_blocks

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


def check_writable(binner: Binner, *, objective: str = "") -> None:
    """Raise unless models over these bins can be written: to be called before a budget is spent.

    Parameters
    ----------
    objective : str
        LightGBM's objective string.
    """
    feature_names(binner.feature_names)
    for f in np.flatnonzero(binner.is_categorical).tolist():
        for code in binner.category_codes(f).tolist():
            check_code(code, binner.feature_names[f])
    _check_objective(objective)
    pandas_line(binner.pandas_categories())


def feature_names(names: Sequence[str]) -> list[str]:
    """Return the names as the format can hold them: blanks become ``_``, as in LightGBM.

    InvalidParameterError for characters that break the format or LightGBM's JSON dump, and for
    names that are empty or the same.
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


REPORT_KEY = "dpboost:"
PANDAS_KEY = "pandas_categorical:"
# LightGBM keeps the lines of the parameters block when it loads a text, and writes them when it
# saves one. What it reads of this line is a parameter without a value, which it passes over.
KEPT_KEY = "[dpboost: ]:"
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_.,-]+")
# Signs or factors of features, or lists of their positions.
_NUMBER = r"-?\d+(\.\d+)?(e[+-]?\d+)?"
_NUMBERS = re.compile(rf"{_NUMBER}(,{_NUMBER})*|\[\d+(,\d+)*\](,\[\d+(,\d+)*\])*")
# LightGBM turns the values into JSON without escaping anything.
PARAMETER_LINE = re.compile(r'\[([a-z][a-z0-9_]*): ([^"\\\x00-\x1f\x7f]*)\]')

# LightGBM reads a value by the type it knows for the name, and prints a line for a name that it
# does not know. Paths, machines and seeds are left out: they do not belong in a released file.
PARAMETER_TYPES: dict[str, type] = {
    "boosting": str,
    "objective": str,
    "data_sample_strategy": str,
    "num_iterations": int,
    "learning_rate": float,
    "num_leaves": int,
    "max_depth": int,
    "max_bin": int,
    "min_data_in_leaf": int,
    "min_data_in_bin": int,
    "min_sum_hessian_in_leaf": float,
    "min_gain_to_split": float,
    "bagging_fraction": float,
    "pos_bagging_fraction": float,
    "neg_bagging_fraction": float,
    "bagging_freq": int,
    "feature_fraction": float,
    "feature_fraction_bynode": float,
    "feature_contri": list,
    "extra_trees": bool,
    "early_stopping_round": int,
    "max_delta_step": float,
    "lambda_l1": float,
    "lambda_l2": float,
    "path_smooth": float,
    "drop_rate": float,
    "max_drop": int,
    "skip_drop": float,
    "uniform_drop": bool,
    "max_cat_to_onehot": int,
    "use_missing": bool,
    "zero_as_missing": bool,
    "boost_from_average": bool,
    "reg_sqrt": bool,
    "sigmoid": float,
    "alpha": float,
    "fair_c": float,
    "poisson_max_delta_step": float,
    "tweedie_variance_power": float,
    "is_unbalance": bool,
    "monotone_constraints": list,
    "interaction_constraints": list,
    "scale_pos_weight": float,
    "num_class": int,
    "num_threads": int,
    "verbosity": int,
    "deterministic": bool,
}


def parameter_lines(parameters: Mapping[str, Any]) -> str:
    """Return the ``[key: value]`` lines of the parameters block.

    Names are LightGBM's canonical ones, values are public. InvalidParameterError for a name that
    does not belong in the file or a value that LightGBM would misread.
    """
    return "".join(
        f"[{name}: {_parameter_value(name, value)}]\n" for name, value in parameters.items()
    )


def _parameter_value(name: str, value: Any) -> str:
    if name not in PARAMETER_TYPES:
        raise InvalidParameterError(
            f"The parameter {name!r} cannot be written to a model text: it is not one of the "
            f"model parameters of LightGBM by its canonical name."
        )
    kind = PARAMETER_TYPES[name]
    if kind is bool and isinstance(value, (bool, numbers.Integral)) and value in (0, 1):
        return str(int(value))
    if kind is int and isinstance(value, numbers.Integral) and abs(int(value)) < 2**31:
        return str(int(value))
    if kind is float and isinstance(value, numbers.Real) and math.isfinite(value):
        return repr(float(value))
    if kind is list and isinstance(value, str) and _NUMBERS.fullmatch(value):
        return value
    if kind is str and isinstance(value, str) and _PLAIN_TEXT.fullmatch(value):
        return value
    raise refuse(name, "the model text", f"a {kind.__name__} that LightGBM can read", value)


def report_line(report: Mapping[str, Any]) -> str:
    """Return the privacy report as one ASCII line without its line end."""
    return REPORT_KEY + json.dumps(report, ensure_ascii=True, separators=(",", ":"))


def pandas_line(categories: Sequence[Sequence[Any]] | None) -> str:
    """Return the last line of a model text, spelled as LightGBM spells it."""
    return PANDAS_KEY + json.dumps(categories, default=_plain)


def _plain(value: Any) -> Any:
    """Turn numpy's scalars and arrays into what JSON has."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise InvalidParameterError(
        f"A category of type {type(value).__name__} cannot be written to a model text. "
        "Use categories that are strings, numbers or booleans."
    )


def find_report(text: str) -> str | None:
    """Return the report line of a model text, without its line end, or None."""
    first, last = text.rfind("\nparameters:"), text.rfind("\nend of parameters")
    if 0 <= first < last:
        for line in text[first:last].split("\n"):
            if line.startswith(KEPT_KEY):
                return REPORT_KEY + line[len(KEPT_KEY) :].rstrip("\r")
    for end in ("\nend of parameters", "\nend of trees"):
        position = text.rfind(end)
        if position >= 0:
            lines = text[position:].split("\n")
            found = [line.rstrip("\r") for line in lines if line.startswith(REPORT_KEY)]
            return found[0] if found else None
    return None


def without_kept(text: str) -> str:
    """Return the text without the report among its parameters."""
    start = text.find("\n" + KEPT_KEY)
    if start < 0:
        return text
    return text[:start] + text[text.index("\n", start + 1) :]


def keep_report(text: str, line: str | None) -> str:
    """Put the report line among the parameters, where LightGBM itself keeps it.

    The text is as LightGBM writes it, without the report; the line is from `report_line`.
    """
    if line is None:
        return text
    head, key, tail = without_kept(text).rpartition("\nend of parameters")
    return f"{head}\n{KEPT_KEY}{line[len(REPORT_KEY) :]}{key}{tail}"


def insert_report(text: str, line: str | None) -> str:
    """Put the report line back into a text that LightGBM has written."""
    if line is None:
        return text
    head, key, tail = text.rpartition("\n" + PANDAS_KEY)
    return f"{head}\n{line}\n{key}{tail}"
