"""The privacy report of a fit: its terms, shown as text, page, certificate and distribution."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpboost._utils.displays import data_frame
from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.exact_arithmetic import DELTA_SHARE
from dpboost.reporting.budget_bars import draw_bars, report_bars
from dpboost.reporting.certificate import certificate
from dpboost.reporting.certificate_page import certificate_document
from dpboost.reporting.plain_words import document
from dpboost.reporting.terms import ReportTerms

#: Releases that may fail with probability at most ``DELTA_SHARE`` times delta each.
LEARNED_LISTS = ("categories", "class labels")

#: Losses are rounded up to multiples of this.
INTERVAL = 1e-4

#: Lattice error in epsilon and delta of Gaussian noise (docs/proofs/accountants.md).
LATTICE = (1e-6, 1e-20)


@dataclass(frozen=True, kw_only=True)
class PrivacyReport(ReportTerms):
    """The privacy guarantee of a fit, from released and public values only.

    The parameters are those of `ReportTerms`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)

    >>> import dpboost
    >>> schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
    >>> model = dpboost.DPBoostClassifier(epsilon=2.0, delta=1e-6, schema=schema).fit(X, y)
    >>> report = model.privacy_report_
    >>> report.kind, report.private
    ('approximate', True)
    >>> page = report.to_markdown()
    """

    def __str__(self) -> str:
        return document(self).text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        return document(self).fragment()

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Return the report as a self-contained HTML page, or write it to a file.

        Parameters
        ----------
        path : path, optional
            The file, in UTF-8.

        Returns
        -------
        str or None
            The page where no path is given.

        Raises
        ------
        OSError
            If the file cannot be written; an existing file is then unchanged.
        """
        return document(self).page(path)

    def to_markdown(self) -> str:
        """Return the report in Markdown."""
        return document(self).markdown()

    def to_frame(self) -> Any:
        """Return the releases as a data frame with one row for each kind.

        Returns
        -------
        DataFrame
            Columns ``release``, ``times``, ``mechanism`` and ``share`` of the budget, which is
            NaN without privacy.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        lines = [
            (line.label, line.releases, line.mechanism, math.nan if share is None else float(share))
            for line in self.releases
            for share in [line.share]
        ]
        return data_frame("PrivacyReport", ("release", "times", "mechanism", "share"), lines)

    def plot(self, ax: Any = None) -> Any:
        """Plot the fraction of the budget that each kind of release used.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of the plot; new axes by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InvalidParameterError
            If the fit is not private.
        ImportError
            If matplotlib is not installed.
        """
        owner = "PrivacyReport.plot"
        return draw_bars(owner, *report_bars(self, owner), ax)

    def certificate(
        self,
        *,
        model: Any = None,
        stated: Mapping[str, str] | None = None,
        budget: Any = None,
        scores: Sequence[Any] = (),
    ) -> dict[str, Any]:
        """Return the privacy certificate of the model.

        Parameters
        ----------
        model : str, Booster or estimator, optional
            Model text, or an object that contains it. The certificate contains the SHA-256 of the
            file that ``save_model`` writes.
        stated : mapping of str to str, optional
            Statements of the user: ``public_rows``, ``earlier_models``, ``disjoint_tables``,
            ``preprocessing``, ``hyper_parameters``, ``published_scores``, ``refits``,
            ``contact``, ``legal_basis``, ``data_controller``; ``data_name``, ``data_period``,
            ``data_schema`` (the file of the declarations, and its hash); ``approved_by``,
            ``approved_on``, ``why_this_epsilon``.
        budget : Budget, optional
            Budget of the fit; the certificate then lists all of its lines. By default it lists
            only the lines of the fit.
        scores : sequence of Evaluation, or of paths, optional
            Released scores of the model: results of `dpboost.evaluate`, or files written by the
            option ``--scores``.

        Returns
        -------
        dict
            For ``json.dumps``; ``dpboost/reporting/certificate.schema.json`` is its schema. A
            missing statement is "not stated by the user".

        Raises
        ------
        InvalidParameterError
            If the model has no text, a statement has an unknown name or is not text, or scores
            are of another model.
        """
        record = None if budget is None else budget.record()
        return certificate(self, model=model, stated=stated, budget=record, scores=scores)

    def certificate_to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        model: Any = None,
        stated: Mapping[str, str] | None = None,
        budget: Any = None,
        scores: Sequence[Any] = (),
    ) -> str | None:
        """Return the certificate as an HTML page to print and sign, or write it to a file.

        Parameters
        ----------
        path : path, optional
            The file, in UTF-8.
        model, stated, budget, scores
            As in :meth:`certificate`.

        Returns
        -------
        str or None
            The page where no path is given.

        Raises
        ------
        InvalidParameterError
            As in :meth:`certificate`.
        OSError
            If the file cannot be written; an existing file is then unchanged.
        """
        record = self.certificate(model=model, stated=stated, budget=budget, scores=scores)
        return certificate_document(self, record).page(path)

    def to_pld(self) -> Any:
        """Return the guarantee as a privacy loss distribution of Google's dp-accounting.

        It composes with the distributions of other mechanisms.

        Returns
        -------
        dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
            Of the whole curve of mu if all noise is Gaussian and the fit continues no model;
            otherwise of the pair (epsilon, delta). Losses are rounded up to multiples of 1e-4.

        Raises
        ------
        ImportError
            If ``dp-accounting`` is not installed.
        InvalidParameterError
            If the report states no guarantee.

        Examples
        --------
        >>> from dpboost import DPBoostRegressor
        >>> schema = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
        >>> model = DPBoostRegressor(epsilon=1.0, delta=1e-5, n_estimators=2, schema=schema)
        >>> report = model.fit([[0.2], [0.8]] * 50, [0, 1] * 50).privacy_report_
        >>> two = report.to_pld().self_compose(2)  # two such fits
        >>> 1.4 < two.get_epsilon_for_delta(1e-5) < 1.6
        True
        """
        if not self.private:
            raise InvalidParameterError(
                "This report states no guarantee, so the privacy loss is unbounded: "
                f"{'; '.join(self.reasons)}."
            )
        epsilon, delta = self.total
        # The report of a cross-validation does not contain the delta of its single fits.
        alone = "cross-validation" not in self.facts
        lists = sum(line.releases for line in self.releases if line.label in LEARNED_LISTS)
        return _loss_distribution(
            epsilon=epsilon,
            delta=delta,
            mu=self.mu if alone else None,
            failure=float(lists * DELTA_SHARE * self.delta),
        )


def _loss_distribution(*, epsilon: float, delta: float, mu: float | None, failure: float) -> Any:
    """Return a privacy loss distribution that dominates a guarantee.

    ``mu`` is that of Gaussian differential privacy, which is tighter than one pair; ``failure`` is
    the failure probability of estimated categories, in addition to it.
    """
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise ImportError(
            "to_pld() needs dp-accounting: python -m pip install dp-accounting."
        ) from error

    def pair(epsilon: float, delta: float) -> Any:
        return privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, delta),
            value_discretization_interval=INTERVAL,
        )

    if not mu:
        return pair(epsilon, delta)
    gaussian = privacy_loss_distribution.from_gaussian_mechanism(
        1 / mu, value_discretization_interval=INTERVAL
    )
    return gaussian.compose(pair(LATTICE[0], LATTICE[1] + failure))
