"""Effects of each parameter on privacy and accuracy, for docstrings and the reference page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import Any

_NO = "no effect"
_NONE = "no effect on the guarantee"
_POST = "no effect, since it changes released numbers only"
_SPLIT = "no effect, since it divides the same budget"

#: Effects on privacy and on accuracy of the parameters of estimators, and of LightGBM's that
#: have a meaning here.
EFFECTS = {
    "epsilon": ("a smaller value gives a stronger guarantee", "a smaller value adds more noise"),
    "delta": (
        "a smaller value gives a stronger guarantee",
        "0 is pure epsilon, which adds more noise to boosting",
    ),
    "schema": (
        "what it declares is public",
        "what it omits is learned with a tenth of the budget",
    ),
    "neighbors": (
        '"add_remove" protects presence and content of a row, "replace" its content',
        '"replace" adds more noise',
    ),
    "assume_public": (
        "what it names is not protected",
        "what it omits is learned with part of the budget",
    ),
    "rows_per_user": (
        "None protects single rows; a number protects all rows of a user",
        "a larger number uses more rows, and adds more noise",
    ),
    "recipe": ("no effect, since each recipe keeps to the budget", '"best" is the most accurate'),
    "preset": (_NONE, "the settings of the paper replace the recipe's rule"),
    "objective": (
        "a function for several classes must treat each row independently",
        "it sets the loss that is learned",
    ),
    "gradient_bound": (_NONE, "a larger bound clips less and adds more noise"),
    "hessian_bound": (_NONE, "a larger bound clips less and adds more noise"),
    "score_bounds": (_NONE, "bounds that are too narrow clip predictions"),
    "max_weight": (_NONE, "a larger bound clips less and adds more noise"),
    "class_weight": (
        '"balanced" releases class sizes within the budget',
        "it changes the class balance; weights below the largest one lose signal to noise",
    ),
    "is_unbalance": ('as class_weight="balanced"', 'as class_weight="balanced"'),
    "alpha": (_NONE, "it sets the quantile, or the scale of huber"),
    "fair_c": (_NONE, "it sets the scale of the loss"),
    "tweedie_variance_power": (_NONE, "it sets the loss"),
    "poisson_max_delta_step": (_NONE, "a larger value takes smaller steps"),
    "n_estimators": (_SPLIT, "more rounds have more noise each"),
    "learning_rate": (
        _POST,
        "a smaller rate underfits under noise; a larger one sums more noise",
    ),
    "max_depth": (_SPLIT, "deeper trees have fewer rows and more noise in each leaf"),
    "reg_lambda": (_POST, "a larger value takes smaller steps with less noise"),
    "max_bin": (_SPLIT, "more bins give finer splits, and more candidates to choose from"),
    "trees_per_ensemble": (
        _SPLIT,
        "with more trees, each has fewer rows and a larger fraction of the budget",
    ),
    "selection": (_NONE, '"permute_and_flip" never has the larger expected error'),
    "features_per_tree": (_SPLIT, "more features learn interactions with fewer rows in a leaf"),
    "gradient_clip": (_NONE, "a smaller clip has less noise and more bias"),
    "step_prior": (_POST, "a smaller value shrinks noisy steps more"),
    "hessian_share": (_SPLIT, "a larger share has better hessian sums, noisier gradient sums"),
    "leaf_share": (_SPLIT, "a larger share has better leaves, noisier splits"),
    "n_splits": (_SPLIT, "more splits make larger trees, and each split noisier"),
    "depth_budget": (_SPLIT, '"decay" improves the splits near the root'),
    "target_error": (_POST, "a larger value makes smaller trees"),
    "min_gain": (_POST, "a larger value makes smaller trees"),
    "threshold_draws": (_SPLIT, '"joint" adds less noise'),
    "prune": (_POST, "True makes smaller trees where counts are noisy"),
    "min_rows": (_POST, "a larger number makes smaller trees with less noise in leaves"),
    "bounds_share": (_SPLIT, "a larger share has better bounds, noisier histograms"),
    "criterion": (_NONE, "it sets the impurity, whose sensitivity sets the noise of splits"),
    "max_interaction": (_NONE, "a smaller order gives a simpler model with more rows in a leaf"),
    "monotone_constraints": (_POST, "a true constraint helps, a false one adds bias"),
    "interaction_constraints": (_NONE, "excluded interactions are not learned"),
    "max_delta_step": (_POST, "a smaller bound takes smaller steps"),
    "path_smooth": (_POST, "a larger value keeps leaves closer to their parents"),
    "min_sum_hessian_in_leaf": (_POST, "a larger sum makes fewer small leaves"),
    "feature_fraction": (_NONE, "a smaller fraction gives each tree fewer features"),
    "feature_contri": (_POST, "it weights the released gains of features"),
    "bagging_fraction": (
        "no effect, since the guarantee does not use the sampling",
        "a smaller fraction uses fewer rows at the same noise",
    ),
    "n_jobs": (_NONE, _NO),
    "random_state": ("no effect, since it seeds public randomness only", "no effect on average"),
    "noise_seed": ("the model is not private if it is set", "no effect on average"),
    "importance_type": (_POST, _NO),
    "verbosity": ("no effect, since no condition of the guarantee is hidden", _NO),
}

#: Effects of the arguments of functions.
OF_CALLS = {
    "params": ("each parameter has its own effect", "each parameter has its own effect"),
    "train_set": ("its rows are protected", "more rows reduce the effect of the noise"),
    "num_boost_round": EFFECTS["n_estimators"],
    "valid_sets": ("their rows are public and not protected", "they allow early stopping"),
    "valid_names": (_NO, _NO),
    "feval": ("its metrics are of public rows, or charged within the budget", _NO),
    "init_model": (
        "its own charge counts in addition",
        "a good model leaves smaller errors to learn",
    ),
    "keep_training_booster": ("no effect, since training rows are never kept", _NO),
    "callbacks": ("no effect, since they read public numbers", "they can stop training"),
    "budget": ("the budget sets what is protected and how much remains", "as of the fraction"),
    "fraction": (
        "the fraction is recorded once and never refunded",
        "a larger fraction adds less noise",
    ),
    "folds": ("as of nfold", "as of nfold; which rows are in a fold is not used"),
    "nfold": (_SPLIT, "more folds train on more rows each, with a smaller part of the budget"),
    "stratified, shuffle, seed": (_NO, _NO),
    "metrics": (_SPLIT, "fewer metrics have less noise"),
    "fpreproc": ("refused, since no bound covers it", _NO),
    "eval_train_metric": ("no effect, since nothing is released", _NO),
    "return_cvbooster": ("no effect, since the models are charged in any case", _NO),
    "public_sets": ("their rows are public and not protected", "their metrics have no noise"),
    "metric_rounds": (_SPLIT, "fewer rounds have less noise in each metric"),
    "X": ("its rows are protected", "more rows reduce the effect of the noise"),
    "y": ("protected with its row", "as of X"),
    "sample_weight": ("protected with its row", "weights below max_weight lose signal to noise"),
    "init_score": ("protected with its row", "good scores leave smaller errors to learn"),
    "eval_set": ("its rows are public and not protected", "it allows early stopping"),
    "eval_names": (_NO, _NO),
    "eval_sample_weight, eval_class_weight, eval_init_score": ("as of eval_set", "as of eval_set"),
    "eval_metric": ("as of eval_set", "it sets when early stopping stops"),
    "eval_X, eval_y": ("as of eval_set", "as of eval_set"),
    "feature_name": ("names are public", _NO),
    "categorical_feature": (
        "the choice of columns is public",
        "categories that are not declared are learned with part of the budget",
    ),
    "holdout": (
        "held-out rows have the same guarantee",
        "a larger share leaves fewer rows for training and gives narrower intervals of scores",
    ),
    "conformal": (
        "held-out rows have the same guarantee",
        "training uses seven tenths of the rows",
    ),
    "model": ("its own charge counts in addition", "the result builds on it"),
    "groups": ("the names of the groups are public", "smaller groups have wider intervals"),
    "user_ids": ("all rows of one user are protected together", "as of rows_per_user"),
    "num_iteration": (_NO, "it sets which rounds are evaluated"),
    "pure_epsilon": (_SPLIT, "a larger part helps pure recipes and adds noise to the others"),
    "periods": (
        "the declared number must be true of every individual",
        "a larger number leaves less budget for each period",
    ),
    "table": ("the name is public", _NO),
}

#: Effects of the parameters of estimators over parties.
OF_PARTIES = {
    "parties_per_user": (
        "the declared number must be true of every individual",
        "a larger number adds more noise",
    ),
    "colluding": (
        "a larger number is a guarantee against more parties that collude",
        "a larger number adds more noise",
    ),
}

_ENTRY = re.compile(r"(\w+(?:, \w+)*)(?: : .*)?$", re.MULTILINE)


def sentence(name: str, ranges: Mapping[str, str], effects: Mapping[str, tuple[str, str]]) -> str:
    """Return what a docstring says of the range and the effects of a parameter."""
    privacy, accuracy = effects[name]
    if privacy == accuracy == _NO:
        return "It changes neither privacy nor accuracy."
    limits = f"Range: {ranges[name]}. " if name in ranges else ""
    # Quoted values are literals.
    values = re.sub(r'((?:\w+=)?"\w+")', r"``\1``", f"Privacy: {privacy}. Accuracy: {accuracy}.")
    return limits + values


def with_effects(
    thing: Any,
    ranges: Mapping[str, str] | None = None,
    effects: Mapping[str, tuple[str, str]] = EFFECTS,
) -> str:
    """Return a numpydoc text whose parameters end with their range and effects.

    The docstring of ``thing``, a class, function or text, is left alone where it lists no
    parameters. ``ranges`` are those that the text itself does not state, ``effects`` those on
    privacy and on accuracy; parameters that are not in it are left alone.
    """
    text = cleandoc(thing if isinstance(thing, str) else thing.__doc__ or "")
    before, mark, rest = text.partition("Parameters\n----------\n")
    section, title, after = rest, "", ""
    found = re.search(r"\n\n(?=[A-Z]\w+\n-{3,}\n)", rest)
    if found:
        section, title, after = rest[: found.start()], found.group(), rest[found.end() :]
    entries = [
        "\n".join([entry, *_lines(entry, ranges or {}, effects)]) for entry in _entries(section)
    ]
    return before + mark + "\n".join(entries) + title + after


def _entries(section: str) -> Iterator[str]:
    """Yield each parameter with its description."""
    entry: list[str] = []
    for line in section.splitlines():
        if entry and line and not line.startswith(" "):
            yield "\n".join(entry).rstrip()
            entry = []
        entry.append(line)
    if entry:
        yield "\n".join(entry).rstrip()


def _lines(
    entry: str, ranges: Mapping[str, str], effects: Mapping[str, tuple[str, str]]
) -> list[str]:
    found = _ENTRY.match(entry)
    if not found or found.group(1) not in effects:
        return []
    text = sentence(found.group(1), ranges, effects)
    return textwrap.wrap(
        text,
        96,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
