"""Every run by name."""

from __future__ import annotations

from functools import cache

from benchmarks.harness.run import Run


@cache
def runs() -> dict[str, Run]:
    """Return the runs in the order in which they are listed.

    They are imported when they are asked for: some need built kernels and optional packages.
    """
    from benchmarks.attacks import ATTACKS
    from benchmarks.budgets.run import BUDGET
    from benchmarks.calibration import CALIBRATION
    from benchmarks.catalog import EXPERIMENTS
    from benchmarks.cluster.runs import CLUSTER_RUNS
    from benchmarks.federated.accuracy import FEDERATED_ACCURACY
    from benchmarks.federated.attacks import FEDERATED_ATTACKS
    from benchmarks.federated.chaos import FEDERATED_CHAOS
    from benchmarks.federated.flower import FEDERATED_FLOWER
    from benchmarks.federated.losses import FEDERATED_LOSSES
    from benchmarks.federated.scale import FEDERATED_SCALE
    from benchmarks.federated.skew import FEDERATED_SKEW
    from benchmarks.federated.traffic import FEDERATED_TRAFFIC
    from benchmarks.few_rows import FEW_ROWS
    from benchmarks.glass_box.run import GLASS_BOX
    from benchmarks.guarantees.runs import AUDIT
    from benchmarks.irrelevant_columns import IRRELEVANT_COLUMNS
    from benchmarks.label_grid import LABEL_BOUNDS
    from benchmarks.labels import LABELS
    from benchmarks.memory import MEMORY
    from benchmarks.missing_cells import MISSING_CELLS
    from benchmarks.peer_papers import PEER_PAPERS
    from benchmarks.public_start import PUBLIC_START
    from benchmarks.quarters import QUARTERS_RUN
    from benchmarks.reproductions.papers import PAPER_RUNS
    from benchmarks.rivals import RIVALS
    from benchmarks.rule_cliffs import RULE_CLIFFS
    from benchmarks.runner import as_run
    from benchmarks.small_models import SMALL_MODELS
    from benchmarks.small_tables import SMALL_TABLES
    from benchmarks.timing.runs import TIMED_RUNS
    from benchmarks.tuning import TUNING
    from benchmarks.users import USERS_RUN
    from benchmarks.wide_bounds import WIDE_BOUNDS

    found = [
        *map(as_run, EXPERIMENTS.values()),
        RIVALS,
        PEER_PAPERS,
        SMALL_TABLES,
        FEW_ROWS,
        RULE_CLIFFS,
        IRRELEVANT_COLUMNS,
        WIDE_BOUNDS,
        MISSING_CELLS,
        PUBLIC_START,
        QUARTERS_RUN,
        TUNING,
        USERS_RUN,
        CALIBRATION,
        AUDIT,
        ATTACKS,
        *PAPER_RUNS,
        FEDERATED_ACCURACY,
        FEDERATED_LOSSES,
        FEDERATED_SKEW,
        FEDERATED_ATTACKS,
        FEDERATED_TRAFFIC,
        FEDERATED_SCALE,
        FEDERATED_FLOWER,
        FEDERATED_CHAOS,
        *CLUSTER_RUNS,
        *TIMED_RUNS,
        LABELS,
        LABEL_BOUNDS,
        MEMORY,
        GLASS_BOX,
        SMALL_MODELS,
        BUDGET,
    ]
    return {run.name: run for run in found}
