"""Data dictionary templates from the names and types of a table."""

from __future__ import annotations

import os
import re
from typing import Any

from dpboost._utils.validation import refuse
from dpboost.schema.data_dictionary import ColumnEntry, DataDictionary

# Names that say what they are: id, ID, patient_id, customerID, orderId, uuid.
_IDENTIFIER = re.compile(r"(^|[_ .-])(id|uuid|guid)$|^(ID|Id|UUID|GUID)$|[a-z](ID|Id)$", re.ASCII)
_KINDS = {"b": "boolean", "i": "integer", "u": "integer", "f": "number", "M": "date"}


def schema_template(X: Any, path: str | os.PathLike[str] | None = None) -> DataDictionary:
    """Return a data dictionary template with the names and types of a table.

    Ranges and values are empty: take them from a codebook, a regulation or physics. Types are
    those of the table's columns; a column of text has the type ``text`` until you change it
    to ``category``. A column with the name of an identifier (``id``, ``patient_id``,
    ``customerID``) gets the role ``ignore``: change it to ``user`` if it identifies the user of a
    row, or clear it if it is a feature.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_columns)
        Of pandas, polars or pyarrow. Only names and types are read.
    path : str or path, optional
        File to write as well: JSON if the name ends in .json, else CSV.

    Returns
    -------
    DataDictionary

    Raises
    ------
    InvalidParameterError
        For a table without names of columns.

    Privacy
    -------
    Reads no values of rows, and no categories of a column's type, because these are values.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [34, 52], "unit": ["A", "B"]})
    >>> schema_template(table)
    name  type     lower  upper  values  role  description
    age   integer
    unit  text
    """
    dictionary = DataDictionary(tuple(_entries(X)))
    if path is not None:
        dictionary.to_file(path)
    return dictionary


def _entries(X: Any) -> list[ColumnEntry]:
    if hasattr(X, "dtypes") and hasattr(X, "columns"):  # pandas, polars
        dtypes = list(getattr(X.dtypes, "tolist", lambda: X.dtypes)())
        return [_entry(str(name), dtype) for name, dtype in zip(X.columns, dtypes, strict=True)]
    if hasattr(X, "schema") and hasattr(X, "column_names"):  # pyarrow
        return [_entry(field.name, field.type) for field in X.schema]
    raise refuse("X", "schema_template", "a DataFrame, whose columns have names", type(X).__name__)


def _entry(name: str, dtype: Any) -> ColumnEntry:
    role = "ignore" if _IDENTIFIER.search(name) else "feature"
    return ColumnEntry(name=name, type=_type(dtype), role=role)


def _type(dtype: Any) -> str:
    kind = getattr(dtype, "kind", None)
    if kind in _KINDS:
        return _KINDS[kind]
    name = str(dtype).lower()
    if name.startswith(("bool",)):
        return "boolean"
    if name.startswith(("int", "uint")):
        return "integer"
    if name.startswith(("date", "timestamp")):
        return "date"
    if name.startswith(("float", "double", "decimal", "half")):
        return "number"
    if name.startswith(("str", "object", "utf8", "large_string", "string")):
        return "text"
    return "category" if name.startswith(("categor", "enum", "dictionary")) else ""
