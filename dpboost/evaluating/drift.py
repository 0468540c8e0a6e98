"""Drift of features, from noisy histograms of the bins of a model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from dpboost._utils.parameter_effects import OF_CALLS, with_effects
from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.budgeting.budget import Budget, DisjointTable
from dpboost.budgeting.claim import claim
from dpboost.budgeting.windows import Window
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import read_table
from dpboost.data.users import read_users, sample_rows
from dpboost.evaluating.evaluate import keep_evaluation
from dpboost.evaluating.evaluated_rows import read_rows
from dpboost.evaluating.gate import Gate, accountant_of, request_of
from dpboost.privacy.queries import handle_of
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.rows.evaluation_queries import BinCounts
from dpboost.transcripts.recorded import recorded

Array = NDArray[np.float64]

# A share of fewer rows than this is pulled towards zero.
LEAST_ROWS = 10.0


@dataclass(frozen=True, kw_only=True)
class FeatureDrift:
    """The difference of two tables in one feature.

    Parameters
    ----------
    distance : float
        Square root of the sum of squared differences of the bin frequencies, minus the expected
        contribution of noise and sampling; 0 if these explain the whole sum.
    p_value : float
        Approximate probability of a sum at least this large from noise and sampling alone.
    """

    distance: float
    p_value: float


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureHistograms:
    """Released numbers of rows by bin of each feature; created by `feature_histograms`.

    Parameters
    ----------
    counts : dict of str to ndarray
        Noisy counts by feature name; missing values last.
    variance : float
        Of the noise of each count.
    report : PrivacyReport
        Report of these histograms alone.
    alike : int
        Maximum number of identical rows of one user.
    transcript : Transcript or None
        Of the call, for `dpboost.replay`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost import Budget, DPBoostRegressor, feature_histograms
    >>> X = np.random.default_rng(0).uniform(size=(2000, 1))
    >>> schema = dict(bounds={0: (0, 1)}, label_bounds=(0, 1))
    >>> model = DPBoostRegressor(schema=schema, n_estimators=30).fit(X, X[:, 0])
    >>> found = feature_histograms(model, X, budget=Budget(epsilon=1, delta=1e-6), fraction=1)
    >>> bool(1000 < found.counts["Column_0"].sum() < 3000)
    True
    """

    counts: Mapping[str, Array]
    variance: float
    report: PrivacyReport
    alike: int = 1
    transcript: Any = None

    def drift(self, since: FeatureHistograms) -> dict[str, FeatureDrift]:
        """Compare with earlier histograms of the same bins, without charge.

        Parameters
        ----------
        since : FeatureHistograms
            Histograms of other rows by the same model.

        Returns
        -------
        dict of str to FeatureDrift
            Features with the largest differences first.

        Raises
        ------
        InvalidParameterError
            If the bins differ.

        Notes
        -----
        Under no drift the differences of shares have expectation zero and the variance of the
        noise and of two samples. The sum of their squares is compared with a multiple of a chi
        squared variable that has the same mean and variance (Satterthwaite 1946).
        """
        same = isinstance(since, FeatureHistograms) and {
            name: counts.shape for name, counts in since.counts.items()
        } == {name: counts.shape for name, counts in self.counts.items()}
        if not same:
            raise refuse("since", "drift", "histograms of the same bins", type(since).__name__)
        found = {name: _feature_drift(self, since, name) for name in self.counts}
        return dict(sorted(found.items(), key=lambda pair: pair[1].p_value))

    def shares(self, name: str) -> tuple[Array, Array]:
        """Return the shares of the bins of a feature, and the variances of each."""
        counts = self.counts[name]
        n_rows = max(float(counts.sum()), LEAST_ROWS)
        shares = counts / n_rows
        kept = np.clip(shares, 0.0, 1.0)
        own = self.alike * kept * (1 - kept) / n_rows
        # The sum of all bins is noisy as well.
        noise = self.variance * ((1 - kept) ** 2 + (len(counts) - 1) * kept**2) / n_rows**2
        return shares, own + noise


def _feature_drift(now: FeatureHistograms, before: FeatureHistograms, name: str) -> FeatureDrift:
    (shares, variance), (earlier, earlier_variance) = now.shares(name), before.shares(name)
    both = variance + earlier_variance
    seen = float(((shares - earlier) ** 2).sum())
    expected, spread = float(both.sum()), float((both**2).sum())
    if spread <= 0:
        return FeatureDrift(distance=math.sqrt(seen), p_value=float(seen == 0))
    scale, freedom = spread / expected, expected**2 / spread
    return FeatureDrift(
        distance=math.sqrt(max(seen - expected, 0.0)), p_value=float(chi2.sf(seen / scale, freedom))
    )


@recorded(keep_evaluation)
def feature_histograms(
    model: Any,
    X: Any,
    *,
    budget: Budget | DisjointTable | Window | None = None,
    fraction: Any = None,
    user_ids: Any = None,
) -> FeatureHistograms:
    """Release the number of rows in each bin of each feature of a model, to measure drift.

    Parameters
    ----------
    model : estimator
        Fitted estimator of this library. Its bins are public.
    X : table of shape (n_rows, n_features)
        Private rows in memory, with the columns of the model.
    budget : Budget, optional
        Budget whose ledger records it. Inside ``with Budget(...)`` that budget by default.
    fraction : float or Fraction
        Fraction of the budget, in (0, 1].
    user_ids : array-like of shape (n_rows,), optional
        User of each row; needed if the budget protects users.

    Returns
    -------
    FeatureHistograms
        ``april.drift(march)`` compares two of them.

    Raises
    ------
    InvalidParameterError
        For invalid arguments, before anything is drawn or charged, and without a budget.
    BudgetExceededError
        If too little of the budget remains; nothing is drawn or charged.

    Privacy
    -------
    One release of the histograms of all features together: a row is in one bin of each.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost import Budget, DPBoostRegressor, feature_histograms
    >>> X = np.random.default_rng(0).uniform(size=(2000, 1))
    >>> schema = dict(bounds={0: (0, 1)}, label_bounds=(0, 1))
    >>> model = DPBoostRegressor(schema=schema, verbosity=-1).fit(X, X[:, 0])
    >>> months = [Budget(epsilon=1, delta=1e-6, table=name) for name in ("march", "april")]
    >>> march = feature_histograms(model, X, budget=months[0], fraction=1)
    >>> april = feature_histograms(model, X**3, budget=months[1], fraction=1)
    >>> april.drift(march)["Column_0"].p_value < 0.01
    True
    """
    owner = "feature_histograms"
    if not hasattr(model, "ensemble_") or not hasattr(model, "schema_"):
        raise refuse("model", owner, "a fitted estimator of dpboost", type(model).__name__)
    taken = claim(budget, fraction, what=owner, rows=X, call=owner, carrier=model)
    if taken is None:
        raise InvalidParameterError(
            f"{owner} needs a budget: pass budget=dpboost.Budget(...) and fraction=..."
        )
    X, n_rows = read_rows(X, owner)
    binner, most = model.ensemble_.binner, taken.budget.rows_per_user
    table = read_table(
        X, schema=model.schema_, zero_as_missing=binner.zero_as_missing, may_be_empty=True
    )
    if tuple(table.feature_names) != tuple(model.schema_.feature_names):
        raise InvalidParameterError(
            "The columns of X must be those of the model, by name and order."
        )
    if (user_ids is None) != (most is None):
        raise InvalidParameterError(
            f"{owner} needs a budget with rows_per_user and user_ids=... together to protect "
            "users: pass both or neither."
        )
    users = None if user_ids is None else read_users(user_ids, n_rows)
    with np.errstate(all="ignore"):
        bins = dense_matrix(table.bins(binner, 1))
    request = request_of(taken)
    ledger = request.ledger(accountant_of(request))
    if users is not None and most is not None:
        bins = bins[:, sample_rows(users, most, ledger.row_coins().words(0, n_rows))]
    gate = Gate(handle_of(bins), ledger)
    # The bin after those of values is that of missing ones.
    sizes = tuple(int(size) + 1 for size in binner.n_bins)
    query = BinCounts(sizes=sizes, units=gate.units(ledger.capacity))
    with ledger.sequential("drift"):
        answer, variance = gate.release(query, ledger.capacity, "rows by bin")
    report = PrivacyReport.from_ledger(
        ledger,
        facts={"bins of": type(model).__name__, **request.facts},
        rows_per_user=most,
        budget=request.budget_record,
    )
    return FeatureHistograms(
        counts=dict(zip(table.feature_names, query.split(answer), strict=True)),
        variance=variance,
        report=report,
        alike=most or 1,
    )


feature_histograms.__doc__ = with_effects(feature_histograms, effects=OF_CALLS)
