"""The runs on local privacy, as data."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class LocalRun:
    """One run.

    Attributes
    ----------
    name : str
        Name on the command line and of the result files.
    module : str
        Module of `benchmarks.local` with ``measure(repeats)``, ``page(rows)`` and, for a figure,
        ``draw(rows)``.
    description : str
        What it is to show.
    repeats, quick_repeats : int
        In full and with ``--quick``.
    """

    name: str
    module: str
    description: str
    repeats: int
    quick_repeats: int


LOCAL_RUNS: MappingProxyType[str, LocalRun] = MappingProxyType(
    {
        run.name: run
        for run in (
            LocalRun(
                name="lpdt-table2",
                module="table2",
                description="Table 2 of the LPDT paper: public rows like the private ones.",
                repeats=50,
                quick_repeats=3,
            ),
            LocalRun(
                name="lpdt-table3",
                module="table3",
                description="Table 3 of the LPDT paper, on wine instead of taxi trips: red wines "
                "are public, white ones private.",
                repeats=20,
                quick_repeats=3,
            ),
            LocalRun(
                name="lpdt-figure1",
                module="figure1",
                description="Figure 1 of the LPDT paper: the same model with and without public "
                "rows.",
                repeats=50,
                quick_repeats=3,
            ),
            LocalRun(
                name="lpdt-figure2",
                module="figure2",
                description="Figure 2 of the LPDT paper: error against depth, leaf size and "
                "epsilon.",
                repeats=20,
                quick_repeats=2,
            ),
            LocalRun(
                name="lpdt-figure4",
                module="figure4",
                description="Figure 4 of the LPDT paper, wine: error against the share of public "
                "rows of another distribution.",
                repeats=20,
                quick_repeats=2,
            ),
            LocalRun(
                name="lpdt-speed",
                module="speed",
                description="A million reports, encoded and added up on one thread.",
                repeats=3,
                quick_repeats=1,
            ),
        )
    }
)
