"""Scores of candidates in runs of equal values.

Proof that the distribution is unchanged: docs/proofs/mechanisms.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreRuns:
    """Scores of shape ``(n_nodes, n_candidates)``, stored once for each run of equal values.

    Sparse tables have millions of candidates and few distinct scores. A selection mechanism draws
    as from the full array, candidate by candidate; only the representation is shorter.

    Privacy
    -------
    Private, the number of runs included: it lives inside a `Sensitive`, as an array does.
    """

    #: Of shape (n_runs,).
    scores: NDArray[np.int64]
    #: Of shape (n_runs,). First candidate of each run; it ends where the next run of its node
    #: begins.
    starts: NDArray[np.int32]
    #: Of shape (n_nodes + 1,). Runs of node ``k`` are ``node_start[k]:node_start[k + 1]``, at least
    #: one, the first of them from candidate 0.
    node_start: NDArray[np.intp]
    #: Of each node.
    n_candidates: int

    @property
    def shape(self) -> tuple[int, int]:
        """Public shape of the scores."""
        return len(self.node_start) - 1, self.n_candidates

    @property
    def size(self) -> int:
        """Number of scores, public."""
        return self.shape[0] * self.n_candidates

    def __len__(self) -> int:
        return self.shape[0]

    def lengths(self) -> NDArray[np.intp]:
        """Return how many candidates each run has."""
        stops = np.append(self.starts[1:], 0).astype(np.intp, casting="same_kind")
        stops[self.node_start[1:] - 1] = self.n_candidates
        return stops - self.starts

    def written_out(self, first: int = 0, stop: int | None = None) -> NDArray[np.int64]:
        """Return the scores of nodes ``first:stop`` as a matrix, a row for each node."""
        stop = len(self) if stop is None else stop
        runs = slice(self.node_start[first], self.node_start[stop])
        scores = np.repeat(self.scores[runs], self.lengths()[runs])
        return scores.reshape(stop - first, self.n_candidates)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("scores depend on private rows and cannot be pickled or copied")
