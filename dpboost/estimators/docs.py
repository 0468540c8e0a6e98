"""Shared parts of the docstrings of the boosting estimators."""

from __future__ import annotations

from functools import partial
from inspect import cleandoc
from typing import Any

from dpboost.recipes.recipe import DOMAINS

#: Parameters whose range is not in the table of domains that recipes share.
RANGES = {
    "epsilon": "above 0; inf adds no noise",
    "delta": "[0, 1)",
    "schema": "Schema, dict, or path of a file",
    "neighbors": "add_remove, replace",
    "assume_public": "some of column_types, classes, categories, init_model",
    "rows_per_user": "whole number, 1 to 1000",
    "recipe": "name or Recipe",
    "preset": "paper",
    "objective": "name or function",
    "gradient_bound": "above 0",
    "hessian_bound": "above 0",
    "score_bounds": "(low, high)",
    "max_weight": "above 0",
    "class_weight": "dict, balanced",
    "is_unbalance": "True, False",
    "scale_pos_weight": "above 0",
    "alpha": "(0, 1), or a list of them",
    "fair_c": "above 0",
    "tweedie_variance_power": "(1, 2)",
    "poisson_max_delta_step": "above 0",
    "criterion": "entropy, gini, max, root_gini",
    "n_estimators": "whole number, 1 to 100000",
    "max_depth": "whole number, 0 to 12; with dp_topdown 0 to 512",
    "feature_contri": "a factor for each feature, -1e6 to 1e6",
    "monotone_constraints": "1, 0 or -1 for a column",
    "interaction_constraints": "lists of columns",
    "n_jobs": "any whole number",
    "random_state": "whole number from 0, generator",
    "noise_seed": "whole number from 0",
    "importance_type": "gain, split",
    "verbosity": "any whole number",
}
#: Of these, the line of a docstring that gives the type lists the values.
_LISTED = frozenset(
    {"schema", "neighbors", "assume_public", "recipe", "preset", "objective", "class_weight"}
    | {"is_unbalance", "criterion", "importance_type"}
    | {"monotone_constraints", "interaction_constraints"}
)


def range_of(check: Any) -> str:
    """Return the range that a check of a parameter keeps to."""
    if not isinstance(check, partial):
        return "True, False"
    terms = check.keywords
    if "choices" in terms:
        return ", ".join(map(str, terms["choices"]))
    low, high = (f"{terms[end]:g}" for end in ("low", "high"))
    if check.func.__name__ == "check_integer":
        return f"whole number, {terms['low']} to {terms['high']}"
    return f"{'(' if terms.get('low_open') else '['}{low}, {high}]"


def ranges_of(**own: str) -> dict[str, str]:
    """Return the ranges that docstrings state: of numbers, not of listed values.

    Parameters
    ----------
    **own : str
        Ranges of one estimator that differ from the common ones.
    """
    numbers = {
        name: range_of(check)
        for name, check in DOMAINS.items()
        if isinstance(check, partial) and "choices" not in check.keywords
    }
    return {
        name: limits for name, limits in {**numbers, **RANGES, **own}.items() if name not in _LISTED
    }


def docstring_of(kind: type) -> str:
    """Return a docstring without indentation, as Python 3.13 stores it."""
    return cleandoc(kind.__doc__ or "")


PARAMETERS = """    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one ``fit``. A model with ``float("inf")`` is not private; its report and
        its text state this.
    delta : float, default=1e-6
        Probability with which the guarantee may fail. The recipes ``dpboost``, ``para`` and
        ``seq`` do not use it for training; stability histograms (see ``assume_public``) do.
    recipe : {"best", "dpboost", "para", "seq"}, default="best"
        Algorithm: the default of this library, DPBoost, or one of the two baselines of its paper.
    preset : {"paper"}, default=None
        ``"paper"`` uses the values of the paper's experiments for parameters that are not given
        (``dpboost``; the two baselines always use them).
    schema : Schema, dict, DataDictionary or path of a file, default=None
        Public metadata: bounds, categories, classes, label bounds.
    neighbors : {"add_remove", "replace"}, default="add_remove"
        Neighboring relation: one table has one more row, or one row differs.
    assume_public : tuple of {"column_types", "classes", "categories", "init_model"}, \
default=the first two
        Metadata that are assumed to be public without a declaration. ``"column_types"``: the
        types of columns (numbers, integers, booleans or categories); ``pandas.read_csv`` without
        ``dtype`` infers them from the cells. ``"classes"``: the labels of a classifier.
        ``"categories"``: the categories of categorical columns, which come from the rows and
        become part of the model; without it they are estimated privately, which needs delta > 0.
        ``"init_model"``: a continued model without a privacy report was trained on public rows
        only.
    boosting_type, num_leaves, subsample_for_bin, min_split_gain, min_child_weight, \
min_child_samples, subsample, subsample_freq, colsample_bytree, reg_alpha : optional
        As in LightGBM, with its defaults in ``get_params``; ``python -m dpboost parity`` lists
        their effects. None of them changes the guarantee. Here and below, LightGBM's default
        means the rule of the recipe, and differs from the same value given explicitly:
        ``n_estimators=100`` trains 100 rounds. A clone keeps the difference. A value outside of
        the supported range is capped, with one warning.
    max_depth : int, default=-1
        Levels of splits. There is no unlimited depth: each level costs budget.
    learning_rate : float, default=0.1
        Shrinkage of released leaf values; by default the rule of the recipe.
    n_estimators : int, default=100
        Number of rounds; by default the rule of the recipe. Here and below, ``fit`` stores the
        value used under the name with an underscore. None means the rule of the recipe.
    reg_lambda : float, default=0.0
        L2 regularization; by default the rule of the recipe. That of ``"best"`` is the standard
        deviation of the noise of a leaf's hessian sum, 5 to 100, if ``delta > 0``.
    max_bin : int, default=None
        Bins of a numeric feature, equally wide over its bounds.
    trees_per_ensemble : int, default=None
        Trees that divide the rows among them; the next ensemble uses all rows again.
    selection : {"exponential", "permute_and_flip"}, default=None
        Mechanism that chooses a split (``dpboost``, ``para``, ``seq``).
    features_per_tree : int, default=None
        Features of a random partition (``best``).
    gradient_clip : float, default=None
        Public bound to which each row's gradient is clipped, in units of scaled labels or
        probabilities (``best``).
    step_prior : float, default=None
        Typical size of a leaf's step; noisy steps are shrunk by it (``best``).
    hessian_share : float, default=None
        Fraction of a tree's budget for the hessian sums of its leaves (``best``).
    max_interaction : int, default=None
        Largest number of features in one tree. 1 makes the model a sum of functions of single
        features.
    monotone_constraints : list of int, str like "1,0,-1", or dict of name to int, default=None
        Direction of each feature: 1 for increasing, -1 for decreasing, 0 for none. Every tree
        satisfies them on its whole domain, except for missing values. Raw scores, means and
        probabilities of two classes therefore satisfy them too. Leaves are projected after their
        release. With recipe ``best`` such a feature shares a tree with at most one other.
    interaction_constraints : list of lists of int or str, or str like "[0,1],[2]", default=None
        Groups of features: all features of a tree are in one group. As in LightGBM, features
        without a group are not used.
    n_jobs : int, default=None
        Threads, as in LightGBM. By default the physical cores that the process may use (affinity,
        quota, ``OMP_NUM_THREADS``, threadpoolctl); on Linux fewer while other programs use the
        processors. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds public randomness only, never noise: two fits differ. The recipes ``dpboost``,
        ``para`` and ``seq`` use it only with ``max_interaction``, ``interaction_constraints`` or
        ``feature_fraction``.
    noise_seed : int, default=None
        Makes the noise reproducible, for tests and benchmarks. The model is then *not
        private*: a warning, the report and the model text state this.
    importance_type : {"gain", "split"}, default="gain"
        As in LightGBM, where the default is "split". With random splits, "split" is not
        informative. Gains are computed from the released trees. ``best`` releases sums of
        gradients and hessians; the gain is computed from them, minus the part due to noise.
        ``dpboost``, ``para`` and ``seq`` release leaf values only; their differences replace the
        gains. A feature without a gain above the noise has 0.
    verbosity : int, default=1
        Zero or less hides the progress bar of long fits.
    rows_per_user : int, default=None
        Maximum rows of a user; the guarantee then protects users instead of rows. The rows of
        each user are chosen by a secret random assignment. Needs ``user_ids`` in ``fit``.
"""

KWARGS = """    **kwargs
        LightGBM's parameters and aliases. A parameter is used, has no effect and warns once, or
        is refused; ``python -m dpboost parity`` lists all of them. Without additional charge,
        ``max_delta_step`` bounds released steps, ``feature_fraction`` samples features publicly,
        and ``bagging_fraction`` with ``bagging_freq`` samples rows independently. Recipe ``best``
        also supports ``path_smooth``, ``min_sum_hessian_in_leaf`` and ``feature_contri``, which
        use released sums only.
"""

OBJECTIVE = """    objective : str or callable, default=None
        {objectives} LightGBM's aliases are accepted. Only recipe ``best`` supports objectives
        other than the default. A callable ``objective(y_true, y_pred) -> grad, hess`` is
        called before training on a grid of public labels and raw scores, not on rows; see the
        *Privacy* section and ``gradient_bound``.{several}
    gradient_bound : float, default=None
        Public bound of a custom objective's gradient: the gradient of each row is clipped to
        [-gradient_bound, gradient_bound]. A custom objective needs it, unless label bounds or
        classes are declared: the default is then the largest gradient for such labels.{norm}
    hessian_bound : float, default=None
        Public bound of a custom objective's hessian: hessians are clipped to
        [0, hessian_bound]. None means 1.
    score_bounds : (float, float), default=None
        Range of raw scores of a custom objective; training starts at its midpoint. None means
        {score_bounds}.
    max_weight : float, default=None
        Public bound of weights: the product of ``sample_weight`` and class weight is clipped to
        [0, max_weight]. None means 1, or the largest of the given class weights; weights of
        rows then cause a warning, regardless of their values. Weights are never normalized.
"""

REGRESSION_OBJECTIVES = """    alpha : float or list of float, default=None
        Quantile of ``quantile``, or residual from which ``huber`` is linear; None means 0.9. A
        list of several quantiles in ascending order is fitted jointly, with common tree
        structures and one budget; predictions have a column for each, and do not cross.
    fair_c : float, default=None
        Scale of ``fair``; None means 1.
    tweedie_variance_power : float, default=None
        Power of ``tweedie``; None means 1.5.
    poisson_max_delta_step : float, default=None
        Safeguard for the steps of ``poisson``; None means 0.7.
"""

OF_CLASSES = {
    "several": """ With three and more classes, ``y_pred`` and the two results have the
        shape (n, n_classes). The function is then called with rows in each round, partly with
        single rows; a slow function dominates the running time.""",
    "norm": """ With three and
        more classes both bounds limit the Euclidean norm of a row's numbers: longer vectors are
        scaled down. Gradients of softmax have norms of at most 1.42, its hessians of at most
        0.39.""",
}

CLASS_WEIGHTS = """    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with ``sample_weight``. ``"balanced"`` weights classes
        inversely to their released sizes, which replace the released start value without an
        additional charge.
    is_unbalance : bool, default=False
        LightGBM's alternative to ``class_weight="balanced"``.
"""

ATTRIBUTES = """    Attributes
    ----------
    booster_ : dpboost.Booster
        A ``lightgbm.Booster`` that keeps the privacy report when it is saved. The counts of its
        leaves are proportional to released hessian sums and add up to the released number of rows.
        The recipes ``dpboost``, ``para`` and ``seq`` release no number of rows: their counts are
        fractions of the public bins, in parts per billion.
    privacy_report_ : PrivacyReport
        Every release and its charge; print it.
    ensemble_ : Ensemble
        The released trees, for prediction without LightGBM.
    schema_ : Schema
        The public metadata used: declared, assumed and estimated.
    preset_, n_estimators_, learning_rate_, max_depth_, reg_lambda_, max_bin_, \
trees_per_ensemble_, selection_
        The values used.

    Privacy
    -------
    ``fit`` satisfies the guarantee that ``privacy_report_`` states, for one row. Everything a
    fitted estimator holds is public, declared, assumed public or released. Each ``fit`` spends
    its own budget; so does each score that you compute on private rows and publish.

    Weights and initial scores are attributes of their rows. The user must ensure that each is a
    function of its own row and of public or released numbers. A custom objective is called with
    public numbers only, and its results are clipped, so the contribution of a row to each sum is
    bounded for every function. A function that mixes rows is refused, because its table would be
    meaningless. A function for three and more classes has no such table and is called with rows;
    the user must ensure that it treats each row independently. Its results are clipped. It is
    tested on public rows before anything is charged, and refused if it mixes them.
"""
