"""One page about a fitted model, to read or to file."""

from __future__ import annotations

import os
from html import escape
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

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

# A page shows the features that matter most.
_MOST_FEATURES = 30
_MOST_SHAPES = 6
# These say nothing about the model, or do not belong in what is handed out.
_LEFT_OUT = ("n_jobs", "verbosity", "noise_seed", "random_state", "client")


class ModelPage:
    """An estimator that can show itself on a page."""

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Show the guarantee, the parameters and the importances on one page.

        Parameters
        ----------
        path : path, optional
            The file to write, in UTF-8. The page loads nothing from elsewhere.

        Returns
        -------
        str or None
            The page where no path is given.

        Raises
        ------
        OSError
            If the file cannot be written; an old one is then as it was.
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Privacy
        -------
        Public and released values only. Seeds are left out.
        """
        check_is_fitted(self, "privacy_report_")
        return model_document(self).page(path)

    def _repr_html_inner(self) -> str:
        """Return what notebooks show: scikit-learn's diagram, and the guarantee once fitted."""
        return str(super()._repr_html_inner()) + self._guarantee_html()  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return the same for tools that ask for all forms at once."""
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
    """Write down a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted, of boosting or of a single tree.

    Returns
    -------
    Document
    """
    guarantee = document(model.privacy_report_)
    blocks: list[Block] = [
        Heading(guarantee.title),
        *guarantee.blocks[:-1],
        Heading("Parameters"),
        Grid(("parameter", "value"), _parameters(model)),
        Heading("Importance of the features"),
        _importances(model),
        *_shapes(model),
    ]
    return Document(f"{type(model).__name__}: model and privacy", tuple(blocks))


def _parameters(model: Any) -> tuple[tuple[str, str], ...]:
    """Return what was asked for, or what the recipe took where nothing was."""
    facts = model.privacy_report_.facts
    rows = []
    for name, asked in sorted(model.get_params(deep=False).items()):
        value = facts.get(name) if asked is None else asked
        if callable(value):
            value = getattr(value, "__name__", "a function")
        if name not in _LEFT_OUT and isinstance(value, (bool, int, float, str, tuple)):
            rows.append((name, f"{value:g}" if isinstance(value, float) else str(value)))
    return tuple(rows)


def _shapes(model: Any) -> list[Block]:
    """Return the shapes of a model that can explain itself."""
    if not hasattr(model, "explain") or not model.explains_itself:
        return []
    explanation = model.explain(pairs=0)
    shown = explanation.shapes[:_MOST_SHAPES]
    if not shown or len(explanation.intercept) != 1:
        return []
    return [
        Heading("Shapes of the features"),
        Paragraph(
            "What each feature adds to the raw score, over the released shares of its bins. The "
            "band covers the shape of a fit without noise at 90 % of the bins, as far as the known "
            "noise of the leaves goes; how far that fit is from the truth is not in it."
        ),
        Charts(tuple(map(drawing, shown)), tuple(map(line, shown))),
    ]


def _importances(model: Any) -> Grid | Answers:
    shares = np.asarray(model.feature_importances_, dtype=np.float64)
    shares = shares / max(float(shares.sum()), 1e-300)
    order = np.argsort(-shares, kind="stable")
    shown = [each for each in order[:_MOST_FEATURES].tolist() if shares[each] > 0]
    if not shown:
        return Answers((("Features", ("The model does not split on any feature.",)),))
    names = model.booster_.feature_name()
    kind = "gain" if getattr(model, "importance_type", "split") == "gain" else "splits"
    return Grid(
        ("feature", f"share of {kind}"),
        tuple((names[each], f"{100 * shares[each]:.3g} %") for each in shown),
        numbers=frozenset({1}),
        bars=tuple(float(shares[each] / shares[order[0]]) for each in shown),
    )
