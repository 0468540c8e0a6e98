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
from dpboost.reporting.loss_distribution import loss_distribution
from dpboost.reporting.plain_words import document
from dpboost.reporting.terms import ReportTerms

#: Releases that fail with a part of delta, each with ``DELTA_SHARE`` of it at the most.
LEARNED_LISTS = ("categories", "class labels")


@dataclass(frozen=True, kw_only=True)
class PrivacyReport(ReportTerms):
    """The guarantee of a fit, made of released and public values only.

    Its parameters are the terms that `ReportTerms` lists.

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
        """Return the report as a page that loads nothing from elsewhere, or write it to a file.

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
            If the file cannot be written; an old one is then as it was.
        """
        return document(self).page(path)

    def to_markdown(self) -> str:
        """Return the report in Markdown."""
        return document(self).markdown()

    def to_frame(self) -> Any:
        """Return what was released as a data frame: a line for each kind of release.

        Returns
        -------
        DataFrame
            With ``release``, ``times``, ``mechanism`` and ``share`` of the budget, which is NaN
            without privacy.

        Raises
        ------
        ImportError
            Where pandas is not installed.
        """
        lines = [
            (line.label, line.releases, line.mechanism, math.nan if share is None else float(share))
            for line in self.releases
            for share in [line.share]
        ]
        return data_frame("PrivacyReport", ("release", "times", "mechanism", "share"), lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw what part of the budget each kind of release took.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InvalidParameterError
            For a fit without privacy.
        ImportError
            Where matplotlib is not installed.
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
        """Return the record to file with the model.

        Parameters
        ----------
        model : str, Booster or estimator, optional
            The model text, or an object that contains it: the record gets the SHA-256 of the file
            that ``save_model`` writes.
        stated : mapping of str to str, optional
            Statements of the user: ``public_rows``, ``earlier_models``, ``disjoint_tables``,
            ``preprocessing``, ``hyper_parameters``, ``published_scores``, ``refits``,
            ``contact``, ``legal_basis``, ``data_controller``; ``data_name``, ``data_period``,
            ``data_schema`` (the file of what was declared, and its hash); ``approved_by``,
            ``approved_on``, ``why_this_epsilon``.
        budget : Budget, optional
            The budget of the fit: the certificate then lists all of its lines. By default it lists
            those of the fit alone.
        scores : sequence of Evaluation, or of paths, optional
            Released scores of the model for the certificate: results of `dpboost.evaluate`, or
            files that the option ``--scores`` has written.

        Returns
        -------
        dict
            For ``json.dumps``; ``dpboost/reporting/certificate.schema.json`` is its schema. A
            missing statement is "not stated by the user".

        Raises
        ------
        InvalidParameterError
            For a model without text, unknown names or values that are no text, and scores of
            another model.
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
        """Return the certificate as a page to print and sign, or write it to a file.

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
            If the file cannot be written; an old one is then as it was.
        """
        record = self.certificate(model=model, stated=stated, budget=budget, scores=scores)
        return certificate_document(self, record).page(path)

    def to_pld(self) -> Any:
        """Return the guarantee as a privacy loss distribution of Google's dp-accounting.

        Others' code can add it to that of other mechanisms, and convert it.

        Returns
        -------
        dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
            Where all noise is Gaussian and the fit stands alone, that of the whole curve of mu;
            otherwise of the pair (epsilon, delta). Losses are rounded up to multiples of 1e-4.

        Raises
        ------
        ImportError
            Without ``dp-accounting``.
        InvalidParameterError
            For a report of no guarantee.

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
                "This report states no guarantee, so that its loss has no bound: "
                f"{'; '.join(self.reasons)}."
            )
        epsilon, delta = self.total
        # What the fits of a cross-validation spend of delta is not in the report of all of them.
        alone = "cross-validation" not in self.facts
        lists = sum(line.releases for line in self.releases if line.label in LEARNED_LISTS)
        return loss_distribution(
            epsilon=epsilon,
            delta=delta,
            mu=self.mu if alone else None,
            failure=float(lists * DELTA_SHARE * self.delta),
        )
