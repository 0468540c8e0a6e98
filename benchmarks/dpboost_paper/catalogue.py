"""The runs, as data that needs no built kernels."""

from __future__ import annotations

from types import MappingProxyType

PAPER_RUNS: MappingProxyType[str, str] = MappingProxyType(
    {
        "figure2": "Figure 2 of the DPBoost paper: errors against epsilon, 50 trees in one "
        "ensemble, and with 20 and 40 trees as in its appendix.",
        "figure3": "Figure 3 of the DPBoost paper: errors against the number of trees, in "
        "ensembles of 50 trees with epsilon 5 each, 20 in full; the others have the same in all.",
        "figure4": "Figure 4 of the DPBoost paper: with and without geometric leaf clipping, 50 "
        "trees in one ensemble.",
        "table2": "Table 2 of the DPBoost paper: time of a tree beside LightGBM.",
        "table3": "Table 3 of the DPBoost paper: rows that the gradient filter drops. Not "
        "private: counted on public rows.",
    }
)
