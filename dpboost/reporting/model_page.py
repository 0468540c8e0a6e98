"""HTML page of a fitted model."""

from __future__ import annotations

import os
from html import escape
from itertools import islice
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpboost._utils.validation import is_default
from dpboost.reporting.charts import drawing, line
from dpboost.reporting.document import (
    Answers,
    Block,
    Charts,
    Document,
    Grid,
    Heading,
    Paragraph,
)
from dpboost.reporting.plain_words import document, title, who
from dpboost.reporting.released_scores import is_inside
from dpboost.reporting.terms import ReportTerms

# The page shows the most important features only.
_MOST_FEATURES = 30
_MOST_SHAPES = 6
# Parameters that do not describe the model, or must not be published.
_LEFT_OUT = ("n_jobs", "verbosity", "noise_seed", "random_state", "client")


class ModelPage:
    """Mixin for estimators with an HTML page."""

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Return an HTML page with guarantee, held-out scores, parameters and effects.

        Parameters
        ----------
        path : path, optional
            Output file, in UTF-8. The page is self-contained.

        Returns
        -------
        str or None
            The page if no path is given.

        Raises
        ------
        OSError
            If the file cannot be written; an existing file is then unchanged.
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Privacy
        -------
        Public and released values only. Seeds are left out.
        """
        check_is_fitted(self, "privacy_report_")
        return model_document(self).page(path)

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram for notebooks, with the guarantee of a fitted model."""
        return str(super()._repr_html_inner()) + self._guarantee_html()  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return the same as a MIME bundle."""
        forms: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in forms:
            forms["text/html"] += self._guarantee_html()
        return forms

    def _guarantee_html(self) -> str:
        report = getattr(self, "privacy_report_", None)
        if report is None:
            return ""
        spent = f"Spent: epsilon = {report.epsilon_spent:.4g}. {who(report)[0]}"
        return f"<p><b>{escape(title(report))}.</b> {escape(spent)}</p>"


def model_document(model: Any) -> Document:
    """Return a fitted model as a document.

    It is a boosting or single-tree estimator.
    """
    guarantee = document(model.privacy_report_)
    blocks: list[Block] = [
        Heading(guarantee.title),
        *guarantee.blocks[:-1],
        *_scores(model),
        Heading("Parameters"),
        Grid(("parameter", "value"), _parameters(model)),
        *_effects(model),
    ]
    return Document(f"{type(model).__name__}: model and privacy", tuple(blocks))


def _parameters(model: Any) -> tuple[tuple[str, str], ...]:
    """Return the parameters: given values, or those that the recipe chose."""
    report = model.privacy_report_
    # Under a budget the fraction replaces these.
    left_out = _LEFT_OUT if report.budget is None else (*_LEFT_OUT, "epsilon", "delta")
    rows = []
    for name, asked in sorted(model.get_params(deep=False).items()):
        value = report.facts.get(name) if asked is None or is_default(asked) else asked
        if callable(value):
            value = getattr(value, "__name__", "a function")
        if name not in left_out and isinstance(value, (bool, int, float, str, tuple)):
            rows.append((name, f"{value:g}" if isinstance(value, float) else str(value)))
    return tuple(rows)


def _scores(model: Any) -> list[Block]:
    """Return the scores of rows held out of the fit, where there are some."""
    found = getattr(model, "held_out_scores_", None)
    if found is None:
        return []
    blocks = {"all of them": found.metrics, **found.groups}
    rows: list[tuple[str, ...]] = []
    for group, figures in islice(blocks.items(), _MOST_FEATURES):
        if all(figure.too_few for figure in figures.values()):
            rows.append((str(group), "", "too few rows", ""))
            continue
        rows += [
            (
                str(group) if position == 0 else "",
                name.replace("_", " "),
                f"{figure.value:.3g}",
                f"{figure.low:.3g} to {figure.high:.3g}",
            )
            for position, (name, figure) in enumerate(figures.items())
        ]
    return [
        Heading("Scores of rows held out of the fit"),
        Grid(("rows", "score", "value", "95 % interval"), tuple(rows), numbers=frozenset({2, 3})),
        Paragraph(
            "Intervals count the noise, and that the rows are a sample. "
            + _what_scores_cost(found.report, model.privacy_report_)
        ),
    ]


def _what_scores_cost(of_scores: ReportTerms, of_fit: ReportTerms) -> str:
    """Say what the scores add to the guarantee: nothing where the budget of the fit has them."""
    if is_inside(of_scores, of_fit.budget):
        return f"Together with the fit, under its budget: {of_scores.guarantee}"
    return f"Released apart from the fit: {of_scores.guarantee}"


def _effects(model: Any) -> list[Block]:
    """Return features by their effect, with its error, and the shapes of the first ones."""
    heading = Heading("Features by their effect")
    if not hasattr(model, "explain") or not model.is_explainable:
        return [heading, _gains(model)]
    explanation = model.explain(pairs=0)
    if not explanation.shapes:
        return [heading, _no_splits()]
    ranked = explanation.shapes[:_MOST_FEATURES]
    sizes = [(shape, int(np.argmax(shape.importance))) for shape in ranked]
    largest = float(max(shape.importance[output] for shape, output in sizes)) or 1.0
    blocks: list[Block] = [
        heading,
        Paragraph(
            "Mean absolute effect on the raw score over the released shares of the bins, and its "
            "standard error from the noise. An effect of about its error may be noise alone."
        ),
        Grid(
            ("feature", "effect", "error"),
            tuple(
                (
                    shape.name,
                    f"{shape.importance[output]:.3g}",
                    f"{shape.importance_error[output]:.1g}",
                )
                for shape, output in sizes
            ),
            numbers=frozenset({1, 2}),
            bars=tuple(float(shape.importance[output]) / largest for shape, output in sizes),
        ),
    ]
    if len(explanation.intercept) != 1:
        return blocks
    shown = ranked[:_MOST_SHAPES]
    return [
        *blocks,
        Heading("Shapes of the features"),
        Paragraph(
            "What each feature adds to the raw score, over the released shares of its bins. The "
            "band covers the shape of a fit without noise at 90 % of the bins, as far as the known "
            "noise of the leaves goes; how far that fit is from the truth is not in it."
        ),
        Charts(tuple(map(drawing, shown)), tuple(map(line, shown))),
    ]


def _gains(model: Any) -> Grid | Answers:
    """Return shares of the gain, of a model whose leaves have no known error."""
    shares = np.asarray(model.booster_.feature_importance("gain"), dtype=np.float64)
    shares = shares / max(float(shares.sum()), 1e-300)
    order = np.argsort(-shares, kind="stable")
    shown = [each for each in order[:_MOST_FEATURES].tolist() if shares[each] > 0]
    if not shown:
        return _no_splits()
    names = model.booster_.feature_name()
    return Grid(
        ("feature", "share of the gain (no error is known)"),
        tuple((names[each], f"{100 * shares[each]:.3g} %") for each in shown),
        numbers=frozenset({1}),
        bars=tuple(float(shares[each] / shares[order[0]]) for each in shown),
    )


def _no_splits() -> Answers:
    return Answers((("Features", ("The model does not split on any feature.",)),))
