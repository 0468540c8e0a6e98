"""Metrics of a released model on the rows of all parties of a session."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpboost.evaluating.evaluate import release_figures
from dpboost.evaluating.evaluation import Evaluation
from dpboost.evaluating.gate import Gate
from dpboost.federated.protocol.agreed_evaluation import AgreedEvaluation
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.session import Session
from dpboost.federated.training.party_row_store import PartyRowStore
from dpboost.federated.training.threat_model import facts, shares
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.reporting.privacy_report import PrivacyReport


def judge(session: Session, agreement: Agreement, rows: Any) -> Evaluation:
    """Evaluate the model of an agreement in a session.

    Parameters
    ----------
    session : Session
        One side of it, which has joined.
    agreement : Agreement
        On this evaluation.
    rows : ScoredRows, PredictedRows or None
        Those of this party; None at the coordinator.

    Returns
    -------
    Evaluation
        The same on all sides.
    """
    ledger = session.open_ledger(agreement)
    handle = RowHandle(PartyRowStore(session, rows, ledger))
    found = evaluate_agreed(handle, agreement, ledger)
    more = facts(agreement, ledger) | session.losses
    report = PrivacyReport.from_ledger(
        ledger,
        facts=found.report.facts | more,
        rows_per_user=agreement.rows_of_user,
        parties=shares(agreement),
    )
    return replace(found, report=report)


def evaluate_agreed(source: RowHandle, agreement: Agreement, ledger: Ledger) -> Evaluation:
    """Evaluate by the terms of an agreement, wherever the rows are.

    Parameters
    ----------
    source : RowHandle
        Of predicted rows: parties, or, to compare with them, one process that has all rows.
    agreement : Agreement
        The terms.
    ledger : Ledger
        The gate, with the whole budget.

    Returns
    -------
    Evaluation
    """
    agreed = AgreedEvaluation.of(agreement)
    most = agreement.rows_of_user
    metrics, groups, curves, notes = release_figures(
        agreed.model, Gate(source, ledger), agreed.groups, agreed.metrics, alike=most or 1
    )
    told = {"evaluated": "a model text", "metrics": ", ".join(agreed.metrics)}
    report = PrivacyReport.from_ledger(ledger, facts=told, rows_per_user=most)
    return Evaluation(metrics=metrics, groups=groups, curves=curves, report=report, notes=notes)
