"""One private decision tree, for when a model is to be read."""

from __future__ import annotations

from typing import Any

from dpboost._utils.validation import check_integer
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.budget import Budget, DisjointTable, claim
from dpboost.estimators.base import public_context
from dpboost.estimators.tree_base import DECIDED_BY_RECIPE, TreeClassifier
from dpboost.privacy.noise_key import NoiseKey
from dpboost.recipes.tree_recipe import TreeHyperparameters
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.public_schema import ASSUMED_BY_DEFAULT
from dpboost.training.tree_fit import fit_tree

__all__ = ["DPTreeClassifier"]


class DPTreeClassifier(TreeClassifier):
    """Differentially private decision tree for two or more classes.

    The guarantee is a pure epsilon. The model is a LightGBM model of one tree (of one tree for
    each class where there are more than two), and a text that people can read.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one ``fit``. ``float("inf")`` switches every noise off; the model is
        then not private and says so.
    delta : float, default=0.0
        Probability with which the guarantee may fail; only stability histograms spend it (see
        ``assume_public``).
    recipe : {"best", "dp_topdown", "sulq_id3", "diffp_id3", "diffp_c45", "noisy_counts", \
"local_rnm", "histograms", "histograms_saving"}, default="best"
        Algorithm: our own, DP-TopDown of Wang, Dick and Balcan, one of the three of Friedman
        and Schuster, or one of the four that are made for rows at several parties
        (``dpboost.federated.FederatedTreeClassifier``). A
        ``dpboost.recipes.tree_recipe.TreeRecipe`` of your own is taken as well.
    max_depth : int, default=None
        Levels of splits, 0 to 12. None, here and below, means the rule of the recipe; the value
        used is stored with an underscore after ``fit``.
    criterion : {"gini", "entropy", "max", "root_gini"}, default=None
        Impurity that splits lower; ``"max"`` counts the rows outside the largest class. Not
        every recipe knows each of them. The gain ratio is refused: nothing bounds what one row
        changes in it.
    schema : Schema, dict, JSON text or path, default=None
        Public knowledge: bounds, categories, classes. What is not declared is assumed public or
        learned with a tenth of the budget.
    neighbours : {"add_remove", "replace"}, default="add_remove"
        Two tables are neighbours when one has one row more, or when one row differs.
    assume_public : tuple of {"column_types", "classes", "categories"}, default=the first two
        What is taken as public without being declared: column types, the set of labels, and,
        where ``"categories"`` is named, the lists of categories that columns of a categorical type
        bring along. Those are made of rows; without it they are learned, which needs delta > 0.
    max_bin : int, default=None
        Bins of a numeric feature, 2 to 255, equally wide over its bounds.
    selection : {"exponential", "permute_and_flip"}, default=None
        Mechanism that chooses a split (all but ``sulq_id3``).
    leaf_share : float, default=None
        Part of the budget for the class counts of the leaves (``best``, ``dp_topdown``).
    n_splits : int, default=None
        Splits in all (``dp_topdown``).
    depth_budget : {"decay", "uniform"}, default=None
        Whether a level gets half of what the one above it gets, or as much (``dp_topdown``).
    target_error : float, default=None
        Nodes of fewer than this part of the rows, divided by ``n_splits``, stay leaves
        (``dp_topdown``).
    least_gain : float, default=None
        Splits of no larger released gain a row are not made (``dp_topdown``).
    threshold_draws : {"joint", "per_feature"}, default=None
        One choice among all splits, or the n + 1 choices of the paper (``diffp_c45``).
    prune : bool, default=None
        Whether subtrees are cut by their released counts (the three of Friedman and Schuster).
    least_rows : int, default=None
        Nodes of fewer rows by their released histograms stay leaves (``histograms``,
        ``histograms_saving``).
    bounds_share : float, default=None
        Part of a node's budget for bounds that tell which features need no histogram
        (``histograms_saving``).
    monotone_constraints : list of int, str like "1,0,-1", or dict of name to int, default=None
        Direction of each feature: 1 for never falling, -1 for never rising, 0 for none. Leaves are
        projected after their release, which costs no budget: the raw score of the second of two
        classes, or of each of several, keeps to it on the whole domain, missing values aside.
    n_jobs : int, default=None
        Threads, as in LightGBM. The model does not depend on it.
    noise_seed : int, default=None
        Makes the noise reproducible, for tests and benchmarks. The model is then *not
        private*: a warning, the report and the model text say so.

    Attributes
    ----------
    classes_ : ndarray
        The declared, assumed or learned labels.
    booster_ : dpboost.Booster
        A ``lightgbm.Booster`` that keeps the privacy report when it is saved; LightGBM's
        ``plot_tree`` and ``create_tree_digraph`` take it.
    tree_ : ReleasedTree
        The tree with its released counts; see also :meth:`export_text`.
    privacy_report_ : PrivacyReport
        Every release and its charge; print it.
    ensemble_ : Ensemble
        The released tree, for prediction without LightGBM.
    schema_ : ResolvedSchema
        The public knowledge used: declared, assumed and learned.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has names.
    max_depth_, criterion_, max_bin_, selection_, leaf_share_, n_splits_, depth_budget_, \
target_error_, least_gain_, threshold_draws_, prune_, least_rows_, bounds_share_
        The values used; None where they have no meaning for the recipe.

    Privacy
    -------
    ``fit`` satisfies the guarantee that ``privacy_report_`` states, for one row. Everything a
    fitted estimator holds is public, declared, assumed public or released: probabilities and the
    printed counts are functions of noisy class counts. Each ``fit`` spends its own budget; so
    does each score that you compute on private rows and publish.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> schema = dict(bounds={i: (0, 8) for i in range(4)}, classes=[0, 1, 2])
    >>> model = DPTreeClassifier(epsilon=5.0, schema=schema).fit(X, y)
    >>> model.predict(X).shape
    (150,)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        recipe: str = "best",
        max_depth: int | None = None,
        criterion: str | None = None,
        schema: Any = None,
        neighbours: str = "add_remove",
        assume_public: tuple[str, ...] = ASSUMED_BY_DEFAULT,
        max_bin: int | None = None,
        selection: str | None = None,
        leaf_share: float | None = None,
        n_splits: int | None = None,
        depth_budget: str | None = None,
        target_error: float | None = None,
        least_gain: float | None = None,
        threshold_draws: str | None = None,
        prune: bool | None = None,
        least_rows: int | None = None,
        bounds_share: float | None = None,
        monotone_constraints: Any = None,
        n_jobs: int | None = None,
        noise_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.recipe = recipe
        self.max_depth = max_depth
        self.criterion = criterion
        self.schema = schema
        self.neighbours = neighbours
        self.assume_public = assume_public
        self.max_bin = max_bin
        self.selection = selection
        self.leaf_share = leaf_share
        self.n_splits = n_splits
        self.depth_budget = depth_budget
        self.target_error = target_error
        self.least_gain = least_gain
        self.threshold_draws = threshold_draws
        self.prune = prune
        self.least_rows = least_rows
        self.bounds_share = bounds_share
        self.monotone_constraints = monotone_constraints
        self.n_jobs = n_jobs
        self.noise_seed = noise_seed

    @one_warning
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        budget: Budget | DisjointTable | None = None,
        fraction: Any = None,
        holdout: Any = None,
        noise_key: bytes | None = None,
    ) -> DPTreeClassifier:
        """Train privately.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
            Rows. Missing, infinite and out-of-bounds values are no errors.
        y : array-like of shape (n_rows,)
            Labels. Rows whose label is not among the declared classes take no part.
        budget : Budget, optional
            Whose books the fit is in: it takes the place of ``epsilon`` and ``delta``. Inside
            ``with Budget(...)`` that budget by default.
        fraction : float or Fraction, optional
            Part of the budget that the fit takes, in (0, 1], in the accountant's unit. What it
            does not spend is not given back.
        holdout : float or Fraction, optional
            Expected part of the rows to be set aside by secret coins, in (0, 1), for
            ``dpboost.evaluate(model, budget=..., fraction=...)``. They enter no other release.
        noise_key : bytes of length 32, optional
            Secret bits, from ``secrets.token_bytes(32)``, that all noise and coins are drawn from:
            with them the same fit of the same rows gives the same model. They must stay secret, and
            serve nothing but this very fit. The report has a commitment to them.

        Returns
        -------
        DPTreeClassifier
            This estimator.

        Raises
        ------
        InvalidParameterError
            For bad parameters or shapes, before anything is drawn or charged.
        BudgetExceededError
            If less is left of the budget; nothing is drawn or charged.

        Warns
        -----
        BudgetWarning
            Where a fit without a budget has a table or estimator that belongs to one.

        Privacy
        -------
        Spends ``epsilon`` once, or its fraction of the budget; see ``privacy_report_``.
        """
        owner = type(self).__name__
        if self.n_jobs is not None:
            check_integer("n_jobs", owner, self.n_jobs)
        names = ("epsilon", "delta", "neighbours", "schema", "assume_public", "noise_seed")
        asked = {name: getattr(self, name) for name in names}
        taken = claim(budget, fraction, what=owner, belongs=(X, self), holdout=holdout)
        if taken is not None:
            asked |= taken.terms(asked)
        key = None if noise_key is None else NoiseKey(noise_key)
        context = public_context(owner, self.get_params() | asked, taken)
        privacy = PrivacyRequest.validated(
            owner, claim=taken, noise_key=key, noise_context=context, **asked
        )
        fitted = fit_tree(
            X,
            y,
            recipe=self.recipe,
            hyperparameters=TreeHyperparameters(
                **{name: getattr(self, name) for name in DECIDED_BY_RECIPE},
                monotone_constraints=self.monotone_constraints,
            ),
            privacy=privacy,
            n_jobs=self.n_jobs,
            owner=owner,
        )
        self._store(fitted, names=getattr(X, "columns", None))
        if taken is not None:
            taken.keep(self)
        return self
