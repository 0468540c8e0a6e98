"""The runs of all papers."""

from __future__ import annotations

from benchmarks.reproductions.dp_topdown import data_holders, one_machine
from benchmarks.reproductions.dpboost.runs import RUNS as DPBOOST
from benchmarks.reproductions.federated_trees import figures as federated_trees
from benchmarks.reproductions.friedman_schuster import figures as friedman_schuster
from benchmarks.reproductions.lpdt.runs import PAPERS as LPDT

PAPER_RUNS = tuple(
    paper.run()
    for paper in (
        *DPBOOST.values(),
        *one_machine.PAPERS,
        *data_holders.PAPERS,
        *friedman_schuster.PAPERS,
        *federated_trees.PAPERS,
        *LPDT,
    )
)
