"""Parts of the docstrings that the estimators of boosting share."""

from __future__ import annotations

from inspect import cleandoc


def docstring_of(kind: type) -> str:
    """Return a docstring without indentation, which Python takes off by itself from 3.13 on."""
    return cleandoc(kind.__doc__ or "")


PARAMETERS = """    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one ``fit``: the larger, the more accurate and the less private.
        ``float("inf")`` switches every noise off; the model is then not private and says so.
    delta : float, default=1e-6
        Probability with which the guarantee may fail. The recipes ``dpboost``, ``para`` and
        ``seq`` spend none of it on training; stability histograms (see ``assume_public``) do.
    recipe : {"best", "dpboost", "para", "seq"}, default="best"
        Algorithm: the most accurate one, DPBoost, or one of the two baselines of its paper.
    preset : {"paper"}, default=None
        ``"paper"`` takes the values of the paper's experiments for parameters that are
        not given, instead of the recipe's rule (``dpboost``; the two baselines have no other
        values).
    schema : Schema, dict, DataDictionary or path of a file, default=None
        Public knowledge: bounds, categories, classes, label bounds. What is not declared is
        assumed public or learned with a tenth of the budget.
    neighbors : {"add_remove", "replace"}, default="add_remove"
        Two tables are neighbors when one has one row more, or when one row differs.
    assume_public : tuple of {"column_types", "classes", "categories", "init_model"}, \
default=the first two
        What is taken as public without being declared: column types (numbers, whole numbers,
        booleans or categories; a condition of the guarantee, since ``pandas.read_csv`` without
        ``dtype`` guesses them from the cells), and the set of labels of a classifier.
        ``"categories"`` adds the lists of categories that columns of a categorical type bring
        along: they are made of rows, become part of the model, and are learned without it, which
        needs delta > 0. ``"init_model"`` states that a model without a private report, which is
        continued, was trained on public rows alone.
    boosting_type, num_leaves, subsample_for_bin, min_split_gain, min_child_weight, \
min_child_samples, subsample, subsample_freq, colsample_bytree, reg_alpha : optional
        LightGBM's, with its defaults in ``get_params``; ``python -m dpboost parity`` says what
        each does here. Here and below, LightGBM's default stands for the rule of the recipe, and
        differs from the same value given: ``n_estimators=100`` trains 100 rounds. A clone keeps
        the difference. What is outside of our range is capped, with one warning.
    max_depth : int, default=-1
        Levels of splits, 1 to 12. There is no unlimited depth: each level costs budget. 0 and less
        stand for the rule of the recipe.
    learning_rate : float, default=0.1
        Shrinkage of released leaf values, in (0, 1]; by default the rule of the recipe.
    n_estimators : int, default=100
        Number of rounds; by default the rule of the recipe. The value used, here and below, is
        stored with an underscore after ``fit``. Where a default is None, None is the recipe's rule.
    reg_lambda : float, default=0.0
        L2 regularization, greater than 0; by default the rule of the recipe. That of ``"best"`` is
        the standard deviation of the noise of a leaf's hessian sum, 5 to 100, where ``delta > 0``.
    max_bin : int, default=None
        Bins of a numeric feature, 2 to 255, equally wide over its bounds.
    trees_per_ensemble : int, default=None
        Trees that divide the rows among them; the next ensemble uses all rows again.
    selection : {"exponential", "permute_and_flip"}, default=None
        Mechanism that chooses a split (``dpboost``, ``para``, ``seq``).
    features_per_tree : int, default=None
        Features of a random partition, 1 to 3 (``best``).
    gradient_clip : float, default=None
        Public clip of a row's gradient, 0.001 to 1, of scaled labels or probabilities (``best``).
    step_prior : float, default=None
        Typical size of a leaf's step; noisy steps are shrunk by it (``best``).
    hessian_share : float, default=None
        Part of a tree's budget for the hessian sums of its leaves (``best``).
    max_interaction : int, default=None
        Most features that meet in a tree, 1 to 3: 1 makes the model a sum of shapes of single
        features. Costs no budget.
    monotone_constraints : list of int, str like "1,0,-1", or dict of name to int, default=None
        Direction of each feature: 1 for never falling, -1 for never rising, 0 for none. Every tree
        keeps to them on its whole domain, missing values aside: for raw scores, and so for means
        and for probabilities of two classes. Leaves are projected after their release, which costs
        no budget. With recipe ``best`` such a feature meets one other at most in a tree.
    interaction_constraints : list of lists of int or str, or str like "[0,1],[2]", default=None
        Groups of features: those of a tree come from one group. Features of no group take no part,
        as in LightGBM. Costs no budget.
    n_jobs : int, default=None
        Threads, as in LightGBM; a number stands. By default the physical cores that the process
        may use (affinity, quota, ``OMP_NUM_THREADS``, threadpoolctl), on Linux fewer while other
        work keeps the processors busy. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds public randomness only, never noise: the model stays private and two fits
        differ. The recipes ``dpboost``, ``para`` and ``seq`` draw public randomness only where
        ``max_interaction``, ``interaction_constraints`` or ``feature_fraction`` is given.
    noise_seed : int, default=None
        Makes the noise reproducible, for tests and benchmarks. The model is then *not
        private*: a warning, the report and the model text say so.
    importance_type : {"gain", "split"}, default="gain"
        As in LightGBM, where the default is "split": splits that are drawn at random count alike
        for every feature. Computed from the released trees. ``best`` releases sums of gradients and
        hessians, from which gains follow without the share of their noise; ``dpboost``, ``para``
        and ``seq`` release values of leaves alone, whose differences stand for gains. A feature
        that shows no more than noise has 0.
    verbosity : int, default=1
        Zero or less hides the progress of long fits.
    rows_per_user : int, default=None
        Protect users instead of rows: of each user at most so many rows take part, chosen at
        random, in secret, and the whole fit is private for that many rows. Needs ``user_ids`` in
        ``fit``.
"""

KWARGS = """    **kwargs
        LightGBM's parameters under any of its names. Those that mean the same here are used,
        those without a meaning warn once, those that would change the model in a way that is
        not available are refused; ``python -m dpboost parity`` lists them all. At no cost,
        ``max_delta_step`` bounds released steps, ``feature_fraction`` draws features in public, and
        ``bagging_fraction`` with ``bagging_freq`` lets rows take part by their own coins; recipe
        ``best`` also knows ``path_smooth``, ``min_sum_hessian_in_leaf`` and ``feature_contri``,
        which read released sums alone.
"""

OBJECTIVE = """    objective : str or callable, default=None
        {objectives} LightGBM's aliases are understood. Only recipe ``best`` learns other
        objectives than the default. A callable ``objective(y_true, y_pred) -> grad, hess`` is
        called before training on a grid of public labels and raw scores, not on rows; see the
        *Privacy* section and ``gradient_bound``.{several}
    gradient_bound : float, default=None
        Public bound of a custom objective's gradient: gradients are clipped to
        [-gradient_bound, gradient_bound] row by row. Required with one, unless label bounds or
        classes are declared: it is then the largest gradient for such labels.{norm}
    hessian_bound : float, default=None
        Public bound of a custom objective's hessian, 1 unless given: hessians are clipped to
        [0, hessian_bound].
    score_bounds : (float, float), default=None
        Raw scores between which a custom objective is known; training starts in their middle.
        None means {score_bounds}.
    max_weight : float, default=None
        Public bound of weights: the product of ``sample_weight`` and class weight is clipped to
        [0, max_weight]. None means 1, or the largest of the given class weights, and weights of
        rows then come with a warning, whatever they are. They are never normalized by their sum. A
        bound far above most weights costs accuracy.
"""

REGRESSION_OBJECTIVES = """    alpha : float or list of float, default=None
        Quantile of ``quantile``, in (0, 1), or residual from which ``huber`` is linear; 0.9 unless
        given. A list of several quantiles in ascending order is learned at once, on trees of one
        structure and from one budget; predictions have a column for each, and do not cross.
    fair_c : float, default=None
        Scale of ``fair``; 1 unless given.
    tweedie_variance_power : float, default=None
        Of ``tweedie``, in (1, 2); 1.5 unless given.
    poisson_max_delta_step : float, default=None
        Of ``poisson``; 0.7 unless given.
"""

OF_CLASSES = {
    "several": """ Of three and more classes
        ``y_pred`` and what it returns have the shape (n, n_classes), and it is called with rows at
        each round, some of them one by one: the longest part of a fit where it is slow.""",
    "norm": """ Of
        three and more classes both bounds are those of the Euclidean norm of a row's numbers:
        longer ones are scaled down. Gradients of softmax have norms of at most 1.42, its hessians
        of at most 0.39.""",
}

CLASS_WEIGHTS = """    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with ``sample_weight``. ``"balanced"`` weighs classes
        inversely to their released sizes, which takes the place of the released start value and
        costs nothing more.
    is_unbalance : bool, default=False
        LightGBM's other name for ``class_weight="balanced"``.
"""

ATTRIBUTES = """    Attributes
    ----------
    booster_ : dpboost.Booster
        A ``lightgbm.Booster`` that keeps the privacy report when it is saved. The counts of its
        leaves add up to the released number of rows, in proportion to released hessian sums. The
        recipes ``dpboost``, ``para`` and ``seq`` release no number of rows: theirs are shares of
        the public bins, in parts per billion.
    privacy_report_ : PrivacyReport
        Every release and its charge; print it.
    ensemble_ : Ensemble
        The released trees, for prediction without LightGBM.
    schema_ : Schema
        The public knowledge used: declared, assumed and learned.
    preset_, n_estimators_, learning_rate_, max_depth_, reg_lambda_, max_bin_, \
trees_per_ensemble_, selection_
        The values used.

    Privacy
    -------
    ``fit`` satisfies the guarantee that ``privacy_report_`` states, for one row. Everything a
    fitted estimator holds is public, declared, assumed public or released. Each ``fit`` spends
    its own budget; so does each score that you compute on private rows and publish.

    Weights and initial scores are attributes of their rows: that each is a function of its own
    row and of public or released numbers is the user's promise. Of a custom objective nothing has
    to be promised: it is called with public numbers only and what it returns is clipped, so that
    one row's part of each sum is bounded whatever the function does. A function that mixes rows is
    refused, because its table would mean nothing. One of three and more classes has no such table
    and is called with rows: that it is a function of each row alone is then the user's promise.
    What it returns is clipped, it is tried on public rows before anything is charged, and one that
    mixes these is refused.
"""
