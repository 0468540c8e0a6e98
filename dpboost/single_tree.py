"""One private decision tree, for when a model is to be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpboost._validation import InvalidParameterError, check_integer, refuse
from dpboost.data.arrays import as_array
from dpboost.data.conform import conform
from dpboost.data.learning import ASSUMPTIONS
from dpboost.lightgbm.booster import Booster
from dpboost.privacy.report import PrivacyReport
from dpboost.privacy_request import PrivacyRequest
from dpboost.schema import ResolvedSchema
from dpboost.tree.released_tree import ReleasedTree
from dpboost.tree_fitting import FittedTree, fit_tree
from dpboost.tree_recipe import TreeHyperparameters

__all__ = ["DPTreeClassifier"]

# Hyper-parameters that a recipe decides when they are None; the value used is stored under the
# same name with an underscore after ``fit``.
DECIDED_BY_RECIPE = (
    "max_depth",
    "criterion",
    "max_bin",
    "selection",
    "leaf_share",
    "n_splits",
    "depth_budget",
    "target_error",
    "least_gain",
    "threshold_draws",
    "prune",
    "least_rows",
    "bounds_share",
)


class DPTreeClassifier(ClassifierMixin, BaseEstimator):
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
        (``dpboost.federated.FederatedTreeClassifier``). A ``dpboost.tree_recipe.TreeRecipe`` of your own is taken as well.
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
    assume_public : tuple of {"column_types", "classes"}, default=both
        What is taken as public without being declared.
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

    feature_names_in_: NDArray[np.object_]

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
        assume_public: tuple[str, ...] = ASSUMPTIONS,
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
        self.n_jobs = n_jobs
        self.noise_seed = noise_seed

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that noise is drawn, which its tiny test tables cannot bear."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.noise_seed is None
        tags.classifier_tags.poor_score = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any) -> DPTreeClassifier:
        """Train privately.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
            Rows. Missing, infinite and out-of-bounds values are no errors.
        y : array-like of shape (n_rows,)
            Labels. Rows whose label is not among the declared classes take no part.

        Returns
        -------
        DPTreeClassifier
            This estimator.

        Raises
        ------
        InvalidParameterError
            For bad parameters or shapes, before anything is drawn or charged.

        Privacy
        -------
        Spends ``epsilon`` once; see ``privacy_report_``.
        """
        owner = type(self).__name__
        if self.n_jobs is not None:
            check_integer("n_jobs", owner, self.n_jobs)
        privacy = PrivacyRequest.validated(
            owner,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            schema=self.schema,
            assume_public=self.assume_public,
            noise_seed=self.noise_seed,
        )
        fitted = fit_tree(
            X,
            y,
            recipe=self.recipe,
            hyperparameters=TreeHyperparameters(
                **{name: getattr(self, name) for name in DECIDED_BY_RECIPE}
            ),
            privacy=privacy,
            n_jobs=self.n_jobs,
            owner=owner,
        )
        self._store(fitted, names=getattr(X, "columns", None))
        return self

    def _store(self, fitted: FittedTree, *, names: Any) -> None:
        for name in DECIDED_BY_RECIPE:
            setattr(self, f"{name}_", getattr(fitted.hyperparameters, name))
        parameters = _text_parameters(fitted)
        self.booster_ = Booster.of_ensemble(fitted.ensemble, parameters=parameters)
        self.ensemble_ = fitted.ensemble
        self.tree_: ReleasedTree = fitted.tree
        self.schema_: ResolvedSchema = fitted.knowledge.schema
        self.privacy_report_: PrivacyReport = fitted.report
        self.classes_ = np.asarray(sorted(fitted.knowledge.schema.classes or ()))
        self.n_features_in_ = fitted.ensemble.binner.n_features
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities with the LightGBM model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Functions of released counts only.
        """
        raw = self._raw(X)
        if len(self.classes_) == 1:
            return np.ones((len(raw), 1))
        if raw.ndim == 1:
            second = 1 / (1 + np.exp(-raw))
            return np.column_stack((1 - second, second))
        weights = np.exp(raw - raw.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the likeliest class; among equals the first one.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        raw = self._raw(X)
        best = (raw > 0).astype(np.intp) if raw.ndim == 1 else raw.argmax(axis=1)
        return self.classes_[best]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return raw scores: log-odds of the second class, or a logarithm for each class.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        return self._raw(X)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that each row falls into, as LightGBM numbers leaves.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), int32
        """
        rows = self._conformed(X)
        leaves = np.asarray(self.booster_.predict(rows, pred_leaf=True))
        return leaves.reshape(len(leaves), -1)[:, 0].astype(np.int32)

    def export_text(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        max_depth: int | None = None,
        decimals: int = 2,
        show_counts: bool = True,
    ) -> str:
        """Return the tree as text, in the manner of ``sklearn.tree.export_text``.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Those of the table by default.
        max_depth : int, optional
            Deeper nodes are left out.
        decimals : int, default=2
            Digits of thresholds.
        show_counts : bool, default=True
            Whether leaves show their released class counts; these are noisy, and may be negative.

        Returns
        -------
        str
        """
        check_is_fitted(self, "tree_")
        owner = f"{type(self).__name__}.export_text"
        if feature_names is not None and len(feature_names) != self.n_features_in_:
            raise refuse("feature_names", owner, f"{self.n_features_in_} names", len(feature_names))
        if max_depth is not None:
            check_integer("max_depth", owner, max_depth, low=0)
        return self.tree_.text(
            self.ensemble_.binner,
            self.classes_.tolist(),
            feature_names=feature_names,
            max_depth=max_depth,
            decimals=check_integer("decimals", owner, decimals, low=0, high=17),
            show_counts=show_counts,
        )

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the splits on each feature; a function of the released tree."""
        check_is_fitted(self, "tree_")
        used = np.bincount(self.tree_.splits.feature, minlength=self.n_features_in_)
        return used / max(used.sum(), 1)

    def get_depth(self) -> int:
        """Return the most splits above a leaf; a split into many branches counts once."""
        check_is_fitted(self, "tree_")
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    def _raw(self, X: Any) -> NDArray[np.float64]:
        rows = self._conformed(X)
        return np.asarray(self.booster_.predict(rows, raw_score=True))

    def _conformed(self, X: Any) -> Any:
        """Rows as the model text expects them, with the columns of training."""
        check_is_fitted(self, "tree_")
        names = getattr(X, "columns", None)
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            raise InvalidParameterError(
                "The feature names should match those that were passed during fit: the same "
                "columns in the same order."
            )
        shape = X.shape if hasattr(X, "shape") else as_array(X).shape
        if len(shape) == 2 and shape[1] != self.n_features_in_:
            raise InvalidParameterError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return conform(X, self.ensemble_.binner)


def _text_parameters(fitted: FittedTree) -> dict[str, Any]:
    """LightGBM's own parameters that say how the model was made; all public."""
    hyper = fitted.hyperparameters
    parameters = {
        "boosting": "gbdt",
        "objective": fitted.ensemble.objective.split(" ")[0],
        "num_iterations": 1,
        "learning_rate": 1.0,
        "max_depth": hyper.max_depth,
        "max_bin": hyper.max_bin,
    }
    if len(fitted.ensemble.trees) > 1:
        parameters["num_class"] = len(fitted.ensemble.trees)
    return parameters
