"""All parties in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpboost.federated.party.fold_book import FoldBook
from dpboost.federated.party.party import Party
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.federated.protocol.transport import LocalChannel
from dpboost.federated.secagg.keys import Identity


def simulate(
    agreement: Agreement,
    tables: Sequence[tuple[Any, Any]],
    identities: Sequence[Identity | None] = (),
    sample_weight: Sequence[Any] | None = None,
    user_ids: Sequence[Any] | None = None,
    folds: Sequence[FoldBook] | None = None,
) -> tuple[Coordinator, tuple[Party, ...]]:
    """Set up parties in this process and open a session.

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
        Whose rows those of each party are, where the agreement protects persons.
    folds : sequence of FoldBook, optional
        Of each party, where the agreement is on a session of a cross-validation.

    Returns
    -------
    coordinator : Coordinator
    parties : tuple of Party

    Examples
    --------
    >>> from dpboost.federated import Agreement
    >>> schema = {"bounds": {"age": [0, 100]}, "classes": [0, 1]}
    >>> terms = Agreement(n_parties=2, features=("age",), schema=schema, recipe="noisy_histograms")
    >>> tables = [([[30], [60]], [0, 1]), ([[20], [80], [50]], [0, 1, 1])]

    >>> coordinator, parties = simulate(terms, tables)
    >>> len(parties)
    2
    """
    parties = []
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
                folds=None if folds is None else folds[index],
                first_row=first_row,
            )
        )
        first_row += parties[-1].held.table.n_rows
    return Coordinator(agreement, LocalChannel(parties)), tuple(parties)
