"""The rows of a party as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.labels import read_class_labels, read_regression_labels
from dpboost.data.table import Table, read_table
from dpboost.federated.protocol.agreement import Agreement
from dpboost.schema import lightgbm_name


class _NoRows(Table):
    """The table of a party that has the columns and no row."""

    def pieces(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Go through no cells."""
        return iter(())


def read_rows(X: Any, agreement: Agreement) -> Table:
    """Read the rows of a party, of which there may be none."""
    schema, names = agreement.declared, agreement.features
    listed = agreement.listed
    if len(getattr(X, "shape", ())) == 2 and X.shape == (0, len(names)):
        nominal = frozenset(schema.resolve(names).categories)
        return _NoRows(
            n_rows=0,
            feature_names=tuple(lightgbm_name(name) for name in names),
            dense=np.empty((0, len(names))),
            categorical=listed,
            number_codes=nominal - set(listed),
        )
    table = read_table(X, schema=schema, feature_names=names)
    open_lists = sorted(set(table.categorical) - set(schema.resolve(names).categories))
    if open_lists:
        raise InvalidParameterError(
            f"The column {table.feature_names[open_lists[0]]!r} of X is categorical, and parties "
            "learn no lists of categories from their rows: declare them in the agreement's schema, "
            "Schema(categories=...)."
        )
    if {position: list(values) for position, values in table.categorical.items()} != listed:
        raise InvalidParameterError(
            "The columns of X that hold text or pandas categories must be those whose categories "
            "the agreement's schema lists as text."
        )
    return table


def model_cells(table: Table) -> NDArray[np.float64]:
    """Return the cells of a table as a model text reads them: codes in place of categories.

    Codes are those of the model where the agreement has its lists.
    """
    columns = [table.column(feature) for feature in range(table.n_features)]
    return np.column_stack(columns) if columns else np.empty((table.n_rows, 0))


def read_labels(y: Any, agreement: Agreement) -> NDArray[Any]:
    """Read the labels of a party, of which there may be none."""
    if agreement.task == "regression":
        return read_regression_labels(y) if np.size(y) else np.empty(0)
    classes = agreement.declared.classes
    text = classes is not None and isinstance(classes[0], str)
    if not np.size(y):
        return np.empty(0, dtype="U1" if text else np.float64)
    labels = read_class_labels(y)
    if classes is not None and text != (labels.dtype.kind == "U"):
        raise InvalidParameterError(
            "The classes of the agreement's schema and the labels y must be of one kind: all "
            "text, or all numbers."
        )
    return labels
