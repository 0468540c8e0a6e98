"""What a federated fit promises against whom, as facts for the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dpboost.federated.protocol.agreement import Agreement
from dpboost.privacy.collusion import epsilon_against
from dpboost.privacy.ledger import Ledger
from dpboost.reporting.privacy_report import PrivacyReport


def facts(agreement: Agreement, *ledgers: Ledger) -> dict[str, Any]:
    """Return the guarantee against the coordinator, other parties, and several of them.

    Parameters
    ----------
    agreement : Agreement
        The terms.
    *ledgers : Ledger
        The ledger of the coordinator, or of one party: all parties have the same shares. Of all
        sessions of a cross-validation, where it is about the whole.

    Returns
    -------
    dict of str to str or int
        For ``PrivacyReport``; public numbers only.
    """
    n_parties, honest = agreement.n_parties, agreement.honest
    signed = "" if agreement.identities else "; honest but curious: keys are relayed unsigned"
    found: dict[str, Any] = {
        "parties": n_parties,
        "noise": "each party adds all of it"
        if honest == 1
        else f"in shares, {honest} of which carry all of it",
        "protected at": _unit(agreement),
        "against coordinator": f"{_epsilon(agreement, ledgers, 0)}{signed}",
    }
    if agreement.init_model is not None:
        found["continues"] = (
            "a model text of the agreement: what its training has told adds to these numbers"
        )
    if agreement.dropouts:
        found["lost parties"] = (
            f"up to {agreement.dropouts} of a release, in any of its phases; {agreement.threshold} "
            "parties take its masks off"
        )
        found["surplus noise"] = _surplus(agreement)
    most = n_parties - agreement.dropouts - 1
    counts = {1, agreement.colluding, agreement.colluding + 1, most} - {0}
    for colluding in sorted(counts):
        if colluding <= most:
            who = "1 other party" if colluding == 1 else f"{colluding} others"
            found[f"against {who}"] = (
                f"{_epsilon(agreement, ledgers, colluding)}, with the coordinator or without"
            )
    return found


def shares(agreement: Agreement) -> dict[str, int]:
    """Return whose shares the noise consists of, for the certificate."""
    return {
        "parties": agreement.n_parties,
        "honest": agreement.honest,
        "colluding": agreement.colluding,
        "losses": agreement.dropouts,
    }


def _surplus(agreement: Agreement) -> str:
    """Return how much more noise than charged there is, by how many parties remain."""
    of_all, of_least = (
        n / agreement.honest
        for n in (agreement.n_parties, agreement.n_parties - agreement.dropouts)
    )
    return (
        f"variance {of_all:.4g} times what is charged while nobody is lost, {of_least:.4g} times "
        f"with {agreement.dropouts} lost"
    )


def _unit(agreement: Agreement) -> str:
    """Say what is protected, and where."""
    most = agreement.rows_per_user
    if most is None:
        return (
            "each party: a row among the rows of one party; a person with rows at m parties is "
            "protected at m times epsilon"
        )
    places = agreement.parties_per_user
    return (
        f"each person: all rows, of which {most} take part at a party; a person has rows at "
        f"{places} of the parties at most, as declared"
    )


def party_report(agreement: Agreement, ledger: Ledger) -> PrivacyReport:
    """Return the report of one party, from its own ledger."""
    earlier = agreement.continued
    return PrivacyReport.from_ledger(
        ledger,
        facts=facts(agreement, ledger),
        rows_per_user=agreement.rows_of_user,
        continues=earlier is not None,
        earlier=None if earlier is None else earlier.report,
        parties=shares(agreement),
    )


def _epsilon(agreement: Agreement, ledgers: Sequence[Ledger], colluding: int) -> str:
    if not all(ledger.private for ledger in ledgers):
        return "no guarantee"
    # Sessions of a cross-validation have parts of the budget, and each counts as if all were alike.
    found = max(
        epsilon_against(
            ledger,
            # As if all that may be lost were lost.
            n_parties=agreement.n_parties - agreement.dropouts,
            colluding=colluding,
            honest=agreement.honest,
        )
        for ledger in ledgers
    )
    if math.isinf(found):
        return "no finite epsilon"
    return f"epsilon = {found:.4g}"
