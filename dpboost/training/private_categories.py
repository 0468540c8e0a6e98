"""Private estimation of undeclared categories."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpboost._utils.validation import InvalidParameterError, worded
from dpboost.privacy.accounting import SMALLEST_SIGMA
from dpboost.privacy.exact_arithmetic import PrivacyCost, as_fraction
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import CategoryCountQuery, RowHandle
from dpboost.privacy.stability_histogram import StabilityHistogram
from dpboost.rows.category_counts import category_counts


def release_categories(
    ledger: Ledger,
    source: RowHandle,
    query: CategoryCountQuery,
    *,
    budget: PrivacyCost,
    delta: Fraction | float,
    label: str = "categories",
) -> dict[str, list[Any]]:
    r"""Release the categories that enough rows have: a stability histogram.

    Parameters
    ----------
    ledger : Ledger
        Charged once, with ``budget`` and ``delta``.
    query : CategoryCountQuery
        Counts the values of each column, :math:`q` of them, by `count_values` or `count_codes`.
    budget : Fraction or inf
        In the unit of the ledger's accountant; shared by the columns.
    delta : Fraction or float
        Probability of failure, shared by the columns; positive.
    label : str, default="categories"
        Kind of release, for the report.

    Returns
    -------
    dict of str to list
        The categories of each column in sorted order.

    Raises
    ------
    InvalidParameterError
        If delta is 0.
    BudgetExceededError
        If budget or delta is not covered.

    Privacy
    -------
    Releases, per column, the set of categories whose noisy count reaches a threshold. Noise is
    drawn only for categories that occur, so the threshold has to hide those that occur once.
    Where the accountant converts with delta, the ledger's capacity shrinks by what ``delta`` takes
    from the conversion: plan with ``accountant.capacity(epsilon, delta of the fit - delta)``.

    Notes
    -----
    Let :math:`X` be the noise on a count, of which rows are worth one, and :math:`1 + t` the
    threshold, with :math:`P(X \ge t) \le \delta / q`.

    No category of one row comes out with a probability above :math:`\delta / q`. Proof:
    docs/proofs/categories.md.

    *Discrete Laplace.* With :math:`p = e^{-a}` per row, :math:`P(X \ge t) = p^t / (1 + p)`.

    Deviation: the usual threshold :math:`1 + \ln(1 / 2 \delta) / a` is that of the continuous
    Laplace law. On the integers its failure probability reaches :math:`2 \delta / (1 + p)`,
    which is more than :math:`\delta`; we take :math:`t = \lceil \ln(1 / (\delta (1 + p))) / a
    \rceil`.
    """
    failure = as_fraction("delta", "release_categories", delta)
    exact = ledger.epsilon == math.inf
    if failure <= 0 and not exact:
        raise InvalidParameterError(
            f"Learning categories or classes of {list(query.columns)} from private rows needs "
            "delta > 0. "
            + worded(
                "Set 'delta', or declare them: Schema(categories=...) or Schema(classes=...).",
                "Pass --delta, or declare them as values in the schema.",
            )
        )
    if not query.columns:
        return {}
    noise = ledger.accountant.noise(budget)
    units = SMALLEST_SIGMA if noise.needs == "l2" else 1
    sensitive = category_counts(source, query, ledger.neighbors, units=units)
    threshold = units
    if not exact:
        threshold += noise.tail(sensitive.bound(noise.needs), failure / len(query.columns))
    mechanism: Any = StabilityHistogram(noise=noise, threshold=threshold)
    passed = ledger.release(mechanism, sensitive, label=label, delta=0 if exact else failure)
    return {
        column: [name[-1] for name in own]
        for column, own in zip(query.columns, passed, strict=True)
    }
