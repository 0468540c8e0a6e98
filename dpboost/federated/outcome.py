"""The coordinator of a session and its results: estimators, metrics, cross-validations."""

from __future__ import annotations

from typing import Any

from dpboost._utils.validation import check_real
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.open_budgets import refuse_budget
from dpboost.federated.cross_validation import results_of
from dpboost.federated.estimators import estimator_of
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator_session import CoordinatorSession
from dpboost.federated.protocol.hub import Hub
from dpboost.federated.training.session_run import Result, check, run_session
from dpboost.federated.tree_classifier import FederatedTreeClassifier
from dpboost.recipes import ALGORITHMS


class Coordinator:
    """Add the messages of parties and return the model; needs no rows and need not be trusted.

    Parameters
    ----------
    agreement : Agreement
        Terms of the session, equal for all parties.
    hub : Hub
        Hub for the messages of the parties.
    timeout : float, default=600.0
        Seconds to wait for the messages of a step.

    Raises
    ------
    InvalidParameterError
        If the terms do not match a recipe.

    Examples
    --------
    >>> from threading import Thread
    >>> from dpboost.federated import Agreement, Coordinator, Hub, LocalLink, Party
    >>> schema = {"bounds": {"age": [0, 100]}, "classes": [0, 1]}
    >>> terms = Agreement(n_parties=2, features=("age",), schema=schema, recipe="noisy_counts")
    >>> rows = [[20], [80], [50]], [0, 1, 1]
    >>> hub = Hub()
    >>> for index in range(2):
    ...     party = Party(index, *rows, agreement=terms)
    ...     Thread(target=party.run, args=(LocalLink(hub, index),)).start()
    >>> Coordinator(terms, hub).run().n_parties_
    2
    """

    def __init__(self, agreement: Agreement, hub: Hub, *, timeout: float = 600.0) -> None:
        check(agreement)
        check_real("timeout", "Coordinator", timeout, low=0.0)
        self._agreement = agreement
        self._session = CoordinatorSession(agreement, hub, timeout=timeout)

    @one_warning
    def run(self, *, show_progress: bool = False) -> Any:
        """Coordinate the session to its end.

        Parameters
        ----------
        show_progress : bool, default=False
            Whether a long fit shows a progress bar.

        Returns
        -------
        estimator, Evaluation or CVResults
            Depending on the agreement.

        Raises
        ------
        PartyLostError, PartyRefusedError
            If the session ends without a result. Charges are kept.
        """
        refuse_budget("Coordinator")
        self._agreement.warn()
        return outcome_of(run_session(self._session, show_progress=show_progress))


def outcome_of(found: Result) -> Any:
    """Return the estimator, the Evaluation or the CVResults of one side of a session.

    Parameters
    ----------
    found : Result
        Result of ``Party.run``, or of a coordinator.

    Returns
    -------
    estimator, Evaluation or CVResults

    Examples
    --------
    >>> from dpboost.federated import Agreement, simulate
    >>> schema = {"bounds": {"age": [0, 100]}, "classes": [0, 1]}
    >>> terms = Agreement(n_parties=2, features=("age",), schema=schema, recipe="noisy_counts")
    >>> found = simulate(terms, [([[30], [60]], [0, 1]), ([[20], [80]], [0, 1])])
    >>> outcome_of(found.parties[0]).n_parties_
    2
    """
    agreement = found.agreement
    if agreement.folds is not None:
        return results_of(found)
    if not found.fits:
        return found.evaluation
    if agreement.recipe not in ALGORITHMS:
        tree = FederatedTreeClassifier()
        tree._keep(found)
        return tree
    model = estimator_of(agreement)
    model._keep(found)
    return model
