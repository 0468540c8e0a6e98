"""Estimators of one private decision tree, for interpretable models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpboost._utils.parameter_effects import OF_CALLS, with_effects
from dpboost._utils.validation import check_integer, keep_arguments
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.budget import Budget, DisjointTable
from dpboost.budgeting.claim import claim
from dpboost.budgeting.windows import Window
from dpboost.data.batches import Batches
from dpboost.estimators import docs
from dpboost.estimators.fit_arguments import FitOptions
from dpboost.estimators.intake import (
    Asked,
    asked_privacy,
    asked_reading,
    declared_fit,
    open_rows,
    public_seed,
)
from dpboost.estimators.tree_base import TreeClassifier, TreeEstimator, TreeRegressor
from dpboost.privacy.recording import public_value
from dpboost.recipes.dpboost import pure_accountant
from dpboost.recipes.recipe import DIRECTIONS, Registry, given
from dpboost.recipes.single_tree import NUMBER_TREE_ALGORITHMS, TREE_ALGORITHMS
from dpboost.training.fitted_model import FittedModel
from dpboost.training.inputs import GivenRows
from dpboost.training.local_fit import fit_local
from dpboost.training.public_schema import ASSUMED_BY_DEFAULT
from dpboost.training.request import FitRequest
from dpboost.transcripts.recorded import keep_transcript, recorded

__all__ = ["DPTreeClassifier", "DPTreeRegressor"]


class TrainedTree(TreeEstimator):
    """A tree that is trained on rows of this process, or on those of a subclass."""

    _task: str
    _recipes: Registry

    @declared_fit
    @recorded(keep_transcript)
    @one_warning
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        user_ids: Any = None,
        budget: Budget | DisjointTable | Window | None = None,
        fraction: Any = None,
        holdout: Any = None,
    ) -> Any:
        """Train privately.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features), or batches of rows
            Rows. Missing, infinite and out-of-bounds values are accepted. :class:`dpboost.Dataset`
            describes batches. If ``schema`` is a data dictionary, a DataFrame may have all columns
            of the table. The fit uses those with the role ``feature``, with their declared types;
            the column with the role ``user`` sets ``user_ids``. Columns that the dictionary does
            not list are left out, with one line in a warning.
        y : array-like of shape (n_rows,), or None
            Labels: finite numbers, clipped to the label bounds, or classes. Rows whose label is
            not a declared class are left out. None if batches contain labels, or if a column of X
            has the role ``target``.
        sample_weight : array-like of shape (n_rows,), optional
            Private weights, not negative and clipped to [0, max_weight]. Each is an attribute of
            its row.
        feature_name : list of str or "auto"
            Names of the columns; "auto" takes those of a DataFrame.
        categorical_feature : list of str or int, or "auto"
            Columns that hold categories, beyond those of a categorical type. The categories
            are declared by the schema, or else learned.
        user_ids : array-like of shape (n_rows,), optional
            User of each row; needed with ``rows_per_user``.
        budget : Budget, optional
            Budget whose ledger records the fit; it replaces ``epsilon`` and ``delta``. Inside
            ``with Budget(...)`` that budget by default.
        fraction : float or Fraction, optional
            Fraction of the budget that the fit takes, in (0, 1], in the accountant's unit. Unspent
            budget is not returned.
        holdout : float or Fraction, optional
            Expected share of rows, or of users where these are protected, that a secret random
            assignment holds out, in (0, 1). ``dpboost.evaluate(model, budget=..., fraction=...)``
            uses them. They enter no other release.

        Returns
        -------
        DPTreeClassifier or DPTreeRegressor
            This estimator.

        Raises
        ------
        InvalidParameterError
            For invalid parameters or shapes, before anything is drawn or charged.
        BudgetExceededError
            If too little of the budget remains; nothing is drawn or charged.

        Warns
        -----
        BudgetWarning
            If a fit without a budget uses a table or an estimator that belongs to a budget.
        PrivacyWarning
            Once, after the fit, with a line and a cure for each condition of the guarantee.
        ParameterWarning
            If the schema declares what the task does not use, or if released numbers show that a
            declared class has no rows.

        Privacy
        -------
        Spends ``epsilon`` once, or its fraction of the budget; see ``privacy_report_``.
        """
        what = type(self).__name__
        rows = GivenRows(X=X, y=y, sample_weight=sample_weight, user_ids=user_ids, example=X)
        taken = claim(
            budget,
            fraction,
            what=what,
            rows=X,
            belongs=(X, self),
            holdout=holdout,
            carrier=self,
        )
        options = FitOptions(
            feature_name=feature_name, categorical_feature=categorical_feature, claim=taken
        )
        self._fit(rows, options)
        if taken is not None:
            taken.keep(self)
        return self

    def _fit(self, rows: GivenRows, options: FitOptions) -> None:
        """Train, and store what was released."""
        asked = self._asked(options)
        if isinstance(rows.X, Batches):
            rows = open_rows(rows, asked)
        fitted = self._train(rows, self._request(rows, asked))
        names = asked.reading.feature_names or getattr(rows.example, "columns", None)
        self._store(fitted, names=names)

    def _asked(self, options: FitOptions) -> Asked:
        """Check the parameters; reads no rows."""
        owner = type(self).__name__
        own: Any = self
        if own.n_jobs is not None:
            check_integer("n_jobs", owner, own.n_jobs)
        recipe = self._recipes.find(own.recipe, owner)
        if options.claim is not None and own.delta == 0:
            # A tree that asks for pure epsilon takes from the pure account of a budget.
            recipe = replace(recipe, accountant=pure_accountant)
        privacy = asked_privacy(owner, vars(self), options.claim)
        names = (*self._decided, *sorted(DIRECTIONS))
        return Asked(
            owner=owner,
            parameters={"n_jobs": own.n_jobs, "max_weight": own.max_weight},
            fit={},
            recipe=recipe,
            given=given({name: getattr(self, name) for name in names}),
            privacy=privacy,
            reading=asked_reading(options.reading({}), privacy),
        )

    def _request(self, rows: GivenRows, asked: Asked) -> FitRequest:
        """Check what is to be learned."""
        owner, seed = asked.owner, asked.privacy.noise_seed
        objective, weights = asked.learned(self._task, weighted=rows.sample_weight is not None)
        return FitRequest(
            task=self._task,
            recipe=asked.recipe,
            given=asked.given,
            privacy=asked.privacy,
            objective=objective,
            weights=weights,
            public_seed=public_value("public seed", lambda: public_seed(None, seed, owner)),
            owner=owner,
            reading=asked.reading,
            n_jobs=asked.parameters["n_jobs"],
        )

    def _train(self, rows: GivenRows, request: FitRequest) -> FittedModel:
        """Train on rows of this process."""
        return fit_local(rows, request)


class DPTreeClassifier(TreeClassifier, TrainedTree):
    """Differentially private decision tree for classification.

    The model is a LightGBM model with one tree, or one tree per class for more than two classes.
    :meth:`export_text` prints it. Tables, weights, users and budgets are as in boosting.
    ``DPBoostClassifier(n_estimators=1)`` fits a tree to gradients instead of class counts.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one ``fit``. A model with ``float("inf")`` is not private; its report and
        its text state this.
    delta : float, default=0.0
        Probability with which the guarantee may fail. With ``recipe="best"`` a positive delta
        allows Gaussian noise under zCDP. The papers' trees stay pure; only stability histograms
        spend delta (see ``assume_public``).
    recipe : {"best", "dp_topdown", "sulq_id3", "diffp_id3", "diffp_c45", "noisy_counts", \
"local_rnm", "histograms", "histograms_saving"}, default="best"
        Algorithm: the default, DP-TopDown of Wang, Dick and Balcan, one of the three
        of Friedman and Schuster, or one of the four for rows at several parties
        (``dpboost.federated.FederatedTreeClassifier``). A custom
        ``dpboost.recipes.recipe.Recipe`` is accepted as well: see
        ``examples/12_own_recipe.py``.
    preset : {"paper"}, default=None
        ``"paper"`` takes the values of the paper's experiments for parameters below that are
        not given (``dp_topdown``, ``diffp_c45``; the other papers' trees have no other values).
    max_depth : int, default=None
        Levels of splits. None, here and below, means the rule of the recipe; ``fit`` stores the
        value used under the name with an underscore.
    criterion : {"gini", "entropy", "max", "root_gini"}, default=None
        Impurity that splits reduce. ``"max"`` counts the rows outside the largest class. Not
        every recipe supports each of them. The gain ratio is refused, because its sensitivity has
        no bound.
    schema : Schema, dict, DataDictionary or path of a file, default=None
        Public metadata: bounds, categories, classes.
    neighbors : {"add_remove", "replace"}, default="add_remove"
        Neighboring relation: one table has one more row, or one row differs.
    assume_public : tuple of {"column_types", "classes", "categories"}, default=the first two
        Metadata that are assumed to be public without a declaration: column types, class labels,
        and, with ``"categories"``, the categories of categorical columns. These come from the rows;
        without ``"categories"`` they are estimated privately, which needs delta > 0.
    max_bin : int, default=None
        Bins of a numeric feature, equally wide over its bounds.
    selection : {"exponential", "permute_and_flip"}, default=None
        Mechanism that chooses a split (all but ``sulq_id3``).
    leaf_share : float, default=None
        Share of the budget for the class counts of the leaves (``best``, ``dp_topdown``).
    n_splits : int, default=None
        Total number of splits (``dp_topdown``).
    depth_budget : {"decay", "uniform"}, default=None
        Budget of a level: half of the budget of the level above it, or the same
        (``dp_topdown``).
    target_error : float, default=None
        A node stays a leaf if its share of the rows is less than ``target_error / n_splits``
        (``dp_topdown``).
    min_gain : float, default=None
        A split needs a released gain per row above this value (``dp_topdown``).
    threshold_draws : {"joint", "per_feature"}, default=None
        One choice among all splits, or the n + 1 choices of the paper (``diffp_c45``).
    prune : bool, default=None
        Whether subtrees are pruned by their released counts (the three of Friedman and
        Schuster).
    min_rows : int, default=None
        A node whose released histogram has fewer rows stays a leaf (``histograms``,
        ``histograms_saving``).
    bounds_share : float, default=None
        Share of a node's budget for bounds that show which features need no histogram
        (``histograms_saving``).
    monotone_constraints : list of int, str like "1,0,-1", or dict of name to int, default=None
        Direction of each feature: 1 for never falling, -1 for never rising, 0 for none. Leaves are
        projected after their release. The raw score of the second of two classes, or of each of
        several, satisfies the constraint on the whole domain, except for missing values.
    max_weight : float, default=None
        Public bound to which the weights of rows are clipped; None means 1.
    rows_per_user : int, default=None
        Protects users instead of rows. At most so many rows of each user take part, chosen by
        secret random assignment. ``fit`` then needs ``user_ids``.
    n_jobs : int, default=None
        Threads, as in LightGBM. The model does not depend on it.
    noise_seed : int, default=None
        Makes the noise reproducible, for tests and benchmarks. The model is then *not
        private*: a warning, the report and the model text state this.

    Attributes
    ----------
    classes_ : ndarray
        The declared, assumed or estimated labels.
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
        The public metadata used: declared, assumed and estimated.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has names.
    preset_, max_depth_, criterion_, max_bin_, selection_, leaf_share_, n_splits_, depth_budget_, \
target_error_, min_gain_, threshold_draws_, prune_, min_rows_, bounds_share_
        The values used; None if they have no meaning for the recipe.

    Privacy
    -------
    ``fit`` satisfies the guarantee that ``privacy_report_`` states, for one row or, with
    ``rows_per_user``, for all rows of a user. Everything a
    fitted estimator holds is public, declared, assumed public or released: probabilities and the
    printed counts are functions of noisy class counts. Each ``fit`` uses a separate budget; so
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

    _task = "classification"
    _recipes = TREE_ALGORITHMS

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        recipe: str = "best",
        preset: str | None = None,
        max_depth: int | None = None,
        criterion: str | None = None,
        schema: Any = None,
        neighbors: str = "add_remove",
        assume_public: tuple[str, ...] = ASSUMED_BY_DEFAULT,
        max_bin: int | None = None,
        selection: str | None = None,
        leaf_share: float | None = None,
        n_splits: int | None = None,
        depth_budget: str | None = None,
        target_error: float | None = None,
        min_gain: float | None = None,
        threshold_draws: str | None = None,
        prune: bool | None = None,
        min_rows: int | None = None,
        bounds_share: float | None = None,
        monotone_constraints: Any = None,
        max_weight: float | None = None,
        rows_per_user: int | None = None,
        n_jobs: int | None = None,
        noise_seed: int | None = None,
    ) -> None:
        keep_arguments(self, locals())


class DPTreeRegressor(TreeRegressor, TrainedTree):
    """Differentially private decision tree for regression.

    The model is a LightGBM model with one tree; :meth:`export_text` prints it. Labels are clipped
    to their bounds. Splits are chosen by variance reduction, as in boosting. Leaves release the sum
    of their labels and the number of their rows.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one ``fit``. A model with ``float("inf")`` is not private; its report and
        its text state this.
    delta : float, default=0.0
        Probability with which the guarantee may fail. A positive delta allows Gaussian noise
        under zCDP.
    recipe : {"best"}, default="best"
        Algorithm. A custom ``dpboost.recipes.recipe.Recipe`` is accepted as well.
    max_depth : int, default=None
        Levels of splits. None, here and below, means the rule of the recipe; ``fit`` stores the
        value used under the name with an underscore.
    schema : Schema, dict, DataDictionary or path of a file, default=None
        Public metadata: bounds, categories, label bounds.
    neighbors : {"add_remove", "replace"}, default="add_remove"
        Neighboring relation: one table has one more row, or one row differs.
    assume_public : tuple of {"column_types", "classes", "categories"}, default=the first two
        Metadata that are assumed to be public; see :class:`DPTreeClassifier`.
    reg_lambda : float, default=None
        Number of rows added to the denominators of gains.
    max_bin : int, default=None
        Bins of a numeric feature, equally wide over its bounds.
    selection : {"exponential", "permute_and_flip"}, default=None
        Mechanism that chooses a split.
    leaf_share : float, default=None
        Share of the budget for the sums of the leaves.
    hessian_share : float, default=None
        Fraction of that budget for the numbers of rows.
    step_prior : float, default=None
        Typical difference of a mean between a node and its child, in half-widths of the label
        bounds. It sets how much noisy means are shrunk.
    monotone_constraints : list of int, str like "1,0,-1", or dict of name to int, default=None
        Direction of each feature: 1 for never falling, -1 for never rising, 0 for none. Leaves are
        projected after their release. Predictions satisfy the constraint on the whole domain,
        except for missing values.
    max_weight : float, default=None
        Public bound to which the weights of rows are clipped; None means 1.
    rows_per_user : int, default=None
        Protects users instead of rows. At most so many rows of each user take part, chosen by
        secret random assignment. ``fit`` then needs ``user_ids``.
    n_jobs : int, default=None
        Threads, as in LightGBM. The model does not depend on it.
    noise_seed : int, default=None
        Makes the noise reproducible, for tests and benchmarks. The model is then *not
        private*: a warning, the report and the model text state this.

    Attributes
    ----------
    booster_ : dpboost.Booster
        A ``lightgbm.Booster`` that keeps the privacy report when it is saved.
    tree_ : ReleasedTree
        The tree with its released counts and means; see also :meth:`export_text`.
    privacy_report_ : PrivacyReport
        Every release and its charge; print it.
    ensemble_ : Ensemble
        The released tree, for prediction without LightGBM.
    schema_ : ResolvedSchema
        The public metadata used: declared, assumed and estimated.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has names.
    max_depth_, reg_lambda_, max_bin_, selection_, leaf_share_, hessian_share_, step_prior_
        The values used.

    Privacy
    -------
    ``fit`` satisfies the guarantee that ``privacy_report_`` states, for one row or, with
    ``rows_per_user``, for all rows of a user. Everything a fitted estimator holds is public,
    declared, assumed public or released: means and the printed counts are functions of noisy
    sums.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> schema = dict(bounds={i: (-0.2, 0.2) for i in range(10)}, label_bounds=(25, 346))
    >>> model = DPTreeRegressor(epsilon=5.0, schema=schema).fit(X, y)
    >>> model.predict(X).shape
    (442,)
    """

    _task = "regression"
    _recipes = NUMBER_TREE_ALGORITHMS

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        recipe: str = "best",
        max_depth: int | None = None,
        schema: Any = None,
        neighbors: str = "add_remove",
        assume_public: tuple[str, ...] = ASSUMED_BY_DEFAULT,
        reg_lambda: float | None = None,
        max_bin: int | None = None,
        selection: str | None = None,
        leaf_share: float | None = None,
        hessian_share: float | None = None,
        step_prior: float | None = None,
        monotone_constraints: Any = None,
        max_weight: float | None = None,
        rows_per_user: int | None = None,
        n_jobs: int | None = None,
        noise_seed: int | None = None,
    ) -> None:
        keep_arguments(self, locals())


DPTreeClassifier.__doc__ = with_effects(DPTreeClassifier, docs.ranges_of())
DPTreeRegressor.__doc__ = with_effects(
    DPTreeRegressor, docs.ranges_of(max_depth="whole number, 0 to 12")
)
TrainedTree.fit.__doc__ = with_effects(TrainedTree.fit, effects=OF_CALLS)
