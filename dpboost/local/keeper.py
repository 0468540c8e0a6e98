"""The device's memory: one report for each record and collection, drawn once."""

from __future__ import annotations

from typing import Any

from dpboost._validation import InvalidParameterError, refuse
from dpboost.local.partition import LPDTPartition
from dpboost.local.plan import ReportPlan


class ReportKeeper:
    """Draws the report of a record once and returns the same one ever after.

    Parameters
    ----------
    partition : LPDTPartition
    epsilon : float
        Budget of a report.
    mechanism : {"signed_cell", "unary", "response", "paper"}
    kept : dict of str to bytes, optional
        Reports drawn earlier for this collection, as `kept` gave them.

    Attributes
    ----------
    kept : dict of str to bytes
        To be stored on the device: who loses it and draws again spends epsilon again.

    Privacy
    -------
    However often a record is reported to this collection, epsilon is spent once. Another
    partition is another collection, whose epsilon comes on top.

    Examples
    --------
    >>> import numpy as np
    >>> public = np.linspace(0, 1, 100).reshape(-1, 1)
    >>> partition = LPDTPartition.from_public(
    ...     public, public[:, 0], max_depth=2, min_samples_leaf=5, n_levels=2
    ... )
    >>> keeper = ReportKeeper(partition, epsilon=1.0)
    >>> keeper.report("2026-05-01", [0.3], 0.4) == keeper.report("2026-05-01", [0.3], 0.4)
    True
    """

    def __init__(
        self,
        partition: LPDTPartition,
        epsilon: Any,
        *,
        mechanism: str = "signed_cell",
        kept: dict[str, bytes] | None = None,
    ) -> None:
        if not isinstance(partition, LPDTPartition):
            raise refuse("partition", "ReportKeeper", "an LPDTPartition", partition)
        self._plan = ReportPlan.of(partition, epsilon, mechanism)
        self.kept = dict(kept or {})
        for report in self.kept.values():
            if len(report) != self._plan.report_bytes or not report.startswith(self._plan.header):
                raise InvalidParameterError(
                    "The 'kept' parameter of ReportKeeper holds a report of another collection."
                )

    def report(self, record: str, x: Any, y: Any) -> bytes:
        """Return the report of a record: the first one that was drawn for it.

        Parameters
        ----------
        record : str
            The device's name for the record; it is not sent.
        x : array-like of shape (n_features,), or table of shape (1, n_features)
        y : float, int or str

        Returns
        -------
        bytes
        """
        if not isinstance(record, str) or not record:
            raise refuse("record", "ReportKeeper.report", "a string that is not empty", record)
        if record not in self.kept:
            self.kept[record] = self._plan.encode_one(x, y)
        return self.kept[record]
