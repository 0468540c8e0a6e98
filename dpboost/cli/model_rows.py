"""Columns of a file that a model uses."""

from __future__ import annotations

from typing import Any

from dpboost._utils.validation import InvalidParameterError
from dpboost.schema.declared_types import typed


def rows_of(booster: Any, table: Any, path: str) -> Any:
    """Return the columns of a table that a model uses, in its order and with its types.

    ``path`` is the file of the table, for messages.
    """
    known = {str(name).replace(" ", "_"): name for name in table.columns}
    names = booster.feature_name()
    missing = [name for name in names if name not in known]
    if missing:
        raise InvalidParameterError(
            f"The file {path!r} lacks columns of the model: {', '.join(missing)}."
        )
    columns = table[[known[name] for name in names]].set_axis(names, axis=1)
    lists = dict(zip(_nominal(booster), booster.pandas_categorical or [], strict=False))
    return typed(columns, lists, {name for name in names if name not in lists})


def _nominal(booster: Any) -> list[str]:
    """Return the names of the categorical columns, in order."""
    infos = booster.dump_model(num_iteration=1)["feature_infos"]
    return [name for name in booster.feature_name() if infos.get(name, {}).get("values")]
