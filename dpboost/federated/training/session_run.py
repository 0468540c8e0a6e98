"""The fit, evaluation or cross-validation that every side of a session runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpboost.evaluating.evaluation import Evaluation
from dpboost.federated.protocol.agreed_evaluation import EVALUATION
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.session import Session
from dpboost.federated.training.agreed_fit import agreed_request, judge, train
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.model_selection.fold_metrics import FoldMetric, fold_metrics
from dpboost.privacy.ledger import Ledger
from dpboost.training.fitted_model import FittedModel


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """The result of a session on all sides.

    Parameters
    ----------
    fits : tuple of FittedModel
        One, or that of each fold; none of an evaluation.
    found : Evaluation or None
        Of an evaluation, or of a cross-validation.
    ledger : Ledger
        Of this side.
    """

    agreement: Agreement
    fits: tuple[FittedModel, ...]
    found: Evaluation | None
    ledger: Ledger

    @property
    def fitted(self) -> FittedModel:
        """The model of a session that is on one fit."""
        (fitted,) = self.fits
        return fitted

    @property
    def evaluation(self) -> Evaluation:
        """The figures of a session that is on an evaluation."""
        assert self.found is not None
        return self.found

    @property
    def digest(self) -> bytes:
        """SHA-256 of the model texts and figures."""
        found = hashlib.sha256()
        for fitted in self.fits:
            found.update(text_of(fitted, self.agreement).encode())
        if self.found is not None:
            found.update(f"{self.found.metrics} {self.found.groups}".encode())
        return found.digest()


def check(agreement: Agreement) -> None:
    """Raise unless an agreement is one that a session can be about."""
    if agreement.recipe == EVALUATION:
        return  # its rows are predicted, and its terms read, before the session
    if agreement.folds is None:
        agreed_request(agreement)
    else:
        agreed_request(part_terms(agreement, 0))
        asked_metrics(agreement, agreement.folds.metrics)


def run_session(session: Session, rows: Any = None, *, show_progress: bool = False) -> Result:
    """Run one side of a session to its end.

    Privacy
    -------
    Of an error of a party others hear that there is one.
    """
    try:
        return _run(session, rows, show_progress=show_progress)
    except BaseException as error:
        session.end(error)
        raise


def _run(session: Session, rows: Any, *, show_progress: bool = False) -> Result:
    agreement = session.agreement
    check(agreement)
    session.join()
    fits: tuple[FittedModel, ...] = ()
    found = None
    if agreement.folds is not None:
        fits, found = _cross_validate(session, rows, agreement.folds.n_folds)
    elif agreement.recipe == EVALUATION:
        found = judge(session, agreement, None if rows is None else rows.judged(agreement))
    else:
        raw = None if rows is None else rows.raw(agreement)
        fits = (train(session, agreement, raw, show_progress=show_progress),)
    result = Result(agreement=agreement, fits=fits, found=found, ledger=session.ledger)
    session.finish(result.digest)
    return result


def _cross_validate(
    session: Session, rows: Any, n_folds: int
) -> tuple[tuple[FittedModel, ...], Evaluation]:
    """Fit without each fold, and evaluate each row by the model of its own."""
    agreement = session.agreement
    coins = session.open_ledger(agreement).row_coins()
    folds = None if rows is None else rows.deal(coins, n_folds)
    fits = []
    for fold in range(n_folds):
        terms = part_terms(agreement, fold)
        raw = None if rows is None or folds is None else rows.raw(terms, folds != fold)
        fits.append(train(session, terms, raw))
    terms = judging_terms(agreement, [text_of(fitted, agreement) for fitted in fits])
    judged = None if rows is None else rows.judged(terms, folds)
    return tuple(fits), judge(session, terms, judged)


def part_terms(agreement: Agreement, fold: int) -> Agreement:
    """Return the terms of the fit without a fold, of an agreement on a cross-validation."""
    assert agreement.folds is not None
    seed = agreement.noise_seed
    return replace(
        agreement,
        folds=replace(agreement.folds, part=fold),
        noise_seed=None if seed is None else seed + 1 + fold,
    )


def judging_terms(agreement: Agreement, texts: Sequence[str]) -> Agreement:
    """Return the terms of the evaluation of the models of all folds."""
    folds = agreement.folds
    assert folds is not None
    figures = tuple(dict.fromkeys(each.figure for each in asked_metrics(agreement, folds.metrics)))
    return replace(
        agreement,
        recipe=EVALUATION,
        schema=agreement.declared.to_dict(),
        objective={},
        weighted=False,
        init_model=None,
        folds=replace(folds, part=folds.n_folds),
        hyper={"model": tuple(texts), "metrics": figures, "groups": None},
    )


def asked_metrics(agreement: Agreement, names: Sequence[str]) -> list[FoldMetric]:
    """Return the metrics of a cross-validation, by default LightGBM's own one of the task."""
    classifier = agreement.task != "regression"
    asked = list(names)
    if not asked:
        several = classifier and len(agreement.declared.classes or ()) > 2
        asked = ["multi_logloss" if several else "binary_logloss" if classifier else "l2"]
    quantile = agreement.learns.name == "quantile"
    return fold_metrics(asked, classifier=classifier, quantile=quantile)


def text_of(fitted: FittedModel, agreement: Agreement) -> str:
    """Return the text of a model, after that of the one which it continues."""
    text = model_text(fitted.ensemble)
    earlier = agreement.continued
    return text if earlier is None else earlier.prepend(text)
