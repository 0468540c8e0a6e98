"""Simulation of all parties in one process, each in a separate thread."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from dpboost._utils.warnings import quiet
from dpboost.federated.party.party import Party
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator_session import CoordinatorSession
from dpboost.federated.protocol.hub import Hub, Link, LocalLink, SessionEndedError
from dpboost.federated.secagg.keys import Identity
from dpboost.federated.training.session_run import Result, run_session


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulation:
    """The results of the coordinator and of each party.

    Parameters
    ----------
    parties : tuple of Result
        By their numbers; all as the coordinator's, with ledgers of their own.
    """

    coordinator: Result
    parties: tuple[Result, ...]


def simulate(
    agreement: Agreement,
    tables: Sequence[tuple[Any, Any]],
    identities: Sequence[Identity | None] = (),
    sample_weight: Sequence[Any] | None = None,
    user_ids: Sequence[Any] | None = None,
    *,
    show_progress: bool = False,
) -> Simulation:
    """Run a session with all parties in this process.

    Parameters
    ----------
    agreement : Agreement
        The terms.
    tables : sequence of (X, y)
        Rows and labels of each party.
    identities : sequence of Identity, optional
        Signing keys, where the agreement lists them.
    sample_weight : sequence of array-like, optional
        Weights of the rows of each party, where the agreement says that rows have them.
    user_ids : sequence of array-like, optional
        Whose rows those of each party are, where the agreement protects individuals.
    show_progress : bool, default=False
        Whether a long fit draws a progress bar.

    Returns
    -------
    Simulation

    Raises
    ------
    InvalidParameterError
        For bad terms or input, before anything is drawn or charged.

    Examples
    --------
    >>> from dpboost.federated import Agreement
    >>> schema = {"bounds": {"age": [0, 100]}, "classes": [0, 1]}
    >>> terms = Agreement(n_parties=2, features=("age",), schema=schema, recipe="noisy_counts")
    >>> tables = [([[30], [60]], [0, 1]), ([[20], [80], [50]], [0, 1, 1])]
    >>> found = simulate(terms, tables)
    >>> found.coordinator.digest == found.parties[1].digest
    True
    """
    parties: list[Party] = []
    first_row = 0
    for index, (X, y) in enumerate(tables):
        parties.append(
            Party(
                index,
                X,
                y,
                agreement=agreement,
                identity=identities[index] if identities else None,
                sample_weight=None if sample_weight is None else sample_weight[index],
                user_ids=None if user_ids is None else user_ids[index],
                first_row=first_row,
            )
        )
        first_row += parties[-1].n_rows
    hub = Hub()
    return run_together(parties, CoordinatorSession(agreement, hub), hub, show_progress)


def run_together(
    parties: Sequence[Party],
    session: CoordinatorSession,
    hub: Hub,
    show_progress: bool = False,
    links: Sequence[Link] = (),
) -> Simulation:
    """Run parties in threads, and the coordinator in the one that calls.

    What has ended the session is raised: an error of a party before that of the coordinator.
    """
    own = list(links) or [LocalLink(hub, party.index) for party in parties]
    with ThreadPoolExecutor(len(parties)) as pool:
        runs = [pool.submit(_run, party, link) for party, link in zip(parties, own, strict=True)]
        try:
            found = run_session(session, show_progress=show_progress)
        except BaseException as error:
            for ended in filter(None, (run.exception() for run in runs)):
                if not isinstance(ended, SessionEndedError):
                    raise ended from error
            raise
    # One that was lost on the way has no result.
    results = (run.result() for run in runs if run.exception() is None)
    return Simulation(coordinator=found, parties=tuple(results))


def _run(party: Party, link: Link) -> Result:
    """Run a party: what it would warn of, the coordinator of this process warns of."""
    with quiet():
        return party.run(link)
