"""Methods of fitted estimators that explain the model without rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpboost._utils.threads import effective_n_threads
from dpboost._utils.validation import InvalidParameterError, check_integer
from dpboost.data.declared_rows import DeclaredColumns
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import read_table
from dpboost.explain.explanation import Explanation
from dpboost.explain.noise_paths import noise_paths
from dpboost.explain.reasons import Reason, contributions
from dpboost.schema import ResolvedSchema
from dpboost.trees.calibration import Calibration
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.leaf_index import leaf_index

# Rows whose courses of the noise are held at once.
_ROWS_AT_ONCE = 8192


class ExplainedModel(DeclaredColumns):
    """Mixin that explains a boosting model; a base before LightGBM's class."""

    ensemble_: Ensemble
    booster_: Any
    schema_: ResolvedSchema

    def explain(self, *, pairs: int = 10) -> Explanation:
        """Return the effects of features and pairs with their standard errors.

        Parameters
        ----------
        pairs : int, default=10
            Maximum number of pairs; the most important ones are returned.

        Returns
        -------
        Explanation
            Plot it with :func:`dpboost.explain.plots.plot_shapes` and related functions.

        Raises
        ------
        InvalidParameterError
            For a model that continues another.
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Privacy
        -------
        Post-processing of the releases of the fit; needs no private rows.
        """
        check_integer("pairs", f"{type(self).__name__}.explain", pairs, low=0)
        return Explanation.of(self._whole_ensemble("explain"), pairs=pairs)

    def prediction_std(self, X: Any) -> NDArray[np.float64]:
        """Return the standard deviation of each prediction over refits with fresh noise.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_classes) of a classifier
            Or (n_rows, n_quantiles) for several quantiles. For the output of ``predict``, or of
            ``predict_proba`` for a classifier.

        Raises
        ------
        InvalidParameterError
            For a model that continues another, and for recipes that release no sums of leaves.
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Notes
        -----
        The noise is simulated on the trees of this model; see
        :func:`dpboost.explain.noise_paths.noise_paths` for its limitations. The standard deviation
        does not include the error of a model without noise.

        Privacy
        -------
        Post-processing: ``X`` is only looked at for its own predictions.
        """
        ensemble = self._whole_ensemble("prediction_std")
        paths = noise_paths(ensemble)
        if paths is None:
            raise self._without_sums("prediction_std")
        X = self._features(X)
        table = read_table(X, schema=self.schema_, zero_as_missing=ensemble.binner.zero_as_missing)
        raw = ensemble.predict_raw(table, self._threads)
        raw = raw.reshape(len(raw), -1)
        bins = self._bins(table)
        spreads = []
        for first in range(0, len(raw), _ROWS_AT_ONCE):
            some = slice(first, first + _ROWS_AT_ONCE)
            moved = np.zeros((ensemble.n_outputs, len(raw[some]), paths.n_paths), dtype=np.float32)
            for number, (tree, deviation) in enumerate(
                zip(paths.trees, paths.deviations, strict=True)
            ):
                moved[number % ensemble.n_outputs] += deviation[leaf_index(tree, bins[:, some])]
            scores = raw[some].T[:, :, np.newaxis] + ensemble.unit * moved.astype(np.float64)
            n_rows = scores.shape[1]
            shown = ensemble.link(np.ascontiguousarray(scores.reshape(ensemble.n_outputs, -1).T))
            spreads.append(shown.reshape(n_rows, paths.n_paths, -1).std(axis=1))
        spread = np.concatenate(spreads)
        if hasattr(self, "classes_"):
            return np.repeat(spread, 2, axis=1) if spread.shape[1] == 1 else spread
        return spread[:, 0] if spread.shape[1] == 1 else spread

    def reason_codes(self, X: Any, *, k: int = 3, output: int = 0) -> list[tuple[Reason, ...]]:
        """Return the largest contributions to each prediction, with their standard errors.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
        k : int, default=3
            Contributions per row.
        output : int, default=0
            Which raw score, where there is one for each of several classes.

        Returns
        -------
        list of tuple of Reason
            By decreasing absolute value. Contributions to raw scores: log-odds for two classes.

        Raises
        ------
        InvalidParameterError
            For a model that continues another, and for recipes that release no sums of leaves.
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Privacy
        -------
        Post-processing: ``X`` is only looked at for its own predictions.
        """
        owner = f"{type(self).__name__}.reason_codes"
        ensemble = self._whole_ensemble("reason_codes")
        check_integer("k", owner, k, low=1)
        check_integer("output", owner, output, low=0, high=ensemble.n_outputs - 1)
        X = self._features(X)
        table = read_table(X, schema=self.schema_, zero_as_missing=ensemble.binner.zero_as_missing)
        found = contributions(ensemble, self._bins(table), output)
        if found is None:
            raise self._without_sums("reason_codes")
        names = ensemble.binner.feature_names
        largest = np.argsort(-np.abs(found[0]), axis=1, kind="stable")[:, :k]
        return [
            tuple(Reason(names[f], float(own[f]), float(error[f])) for f in order.tolist())
            for own, error, order in zip(*found, largest, strict=True)
        ]

    def _calibration(self, what: str) -> Calibration:
        """Return the released calibration of a fit with ``conformal``."""
        check_is_fitted(self, "ensemble_")
        found: Calibration | None = getattr(self, "calibration_", None)
        if found is None:
            raise InvalidParameterError(
                f"{type(self).__name__}.{what} needs held-out rows: fit with conformal=0.9, or "
                "another level."
            )
        return found

    @property
    def is_explainable(self) -> bool:
        """Whether the model is of one fit, and its recipe provides the noise of leaves."""
        ensemble = self.ensemble_
        trees = ensemble.released or ensemble.trees
        whole = self.booster_.num_trees() == len(ensemble.trees)
        return whole and bool(trees) and all(tree.noise is not None for tree in trees)

    @property
    def _threads(self) -> int:
        return effective_n_threads(getattr(self, "n_jobs", None))

    def _bins(self, table: Any) -> NDArray[np.uint8]:
        return dense_matrix(table.bins(self.ensemble_.binner, self._threads))

    def _whole_ensemble(self, what: str) -> Ensemble:
        """Return the ensemble, which must be all of the model."""
        check_is_fitted(self, "ensemble_")
        if self.booster_.num_trees() != max(len(self.ensemble_.trees), self.ensemble_.n_outputs):
            raise InvalidParameterError(
                f"{type(self).__name__}.{what} knows the trees of this fit alone, and the model "
                "continues another one: fit without init_model, or use "
                "booster_.predict(X, pred_contrib=True)."
            )
        return self.ensemble_

    def _without_sums(self, what: str) -> InvalidParameterError:
        return InvalidParameterError(
            f"{type(self).__name__}.{what} needs to know how noise came into the leaves, and the "
            "recipe releases no sums of leaves, or path_smooth or min_sum_hessian_in_leaf has "
            "mixed those of several: use recipe='best' without these two."
        )
