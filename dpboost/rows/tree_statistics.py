"""Statistics of a single tree; all results are Sensitive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.queries import Query, RowHandle, Sensitive, SumQuery, store_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.trees.growing_tree import Splits
from dpboost.trees.split_candidates import Candidates


class TreeStatistics:
    """Statistics of the nodes of one growing tree, from a row store.

    Nodes have the numbers of the growing tree: the root is 0, and children come in the order in
    which splits are added.

    Parameters
    ----------
    source : RowHandle
        Of rows in the state that the statistics ask. Sums can be had from any store; scores and
        gains, which do not add up over sites, from a trusted one only.
    neighbors : Neighbors
        The relation whose constants go with each value.

    Privacy
    -------
    Hands out Sensitive values with their bounds. Rows are routed by released splits only.
    """

    def __init__(
        self,
        source: RowHandle,
        *,
        candidates: Candidates,
        neighbors: Neighbors,
        n_threads: int,
    ) -> None:
        self._row_store = store_of(source)
        #: The public set of splits.
        self.candidates = candidates
        self.neighbors = neighbors
        self._n_threads = n_threads
        self._cells = candidates.cell_offsets

    def ask(self, query: Query) -> Sensitive:
        """Return the answer to a query, with its bounds under the relation."""
        return self._row_store.sensitive(query, self.neighbors)

    def split(self, splits: Splits) -> None:
        """Send the rows of the split nodes on to their children, which get the next numbers."""
        self._row_store.apply("split", splits=splits)

    def _exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Private numbers, on the private side: recipes of sums alone never come here."""
        return self._row_store.exact(query)
