"""A small table in bins for the tests of this room."""

from tests.unit.binned_table import (  # noqa: F401
    candidates,
    class_rows,
    class_statistics,
    layout,
    open_ledger,
    partitions,
    rows,
    splits,
    statistics,
)
