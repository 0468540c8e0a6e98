"""Monotone constraints and interaction constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.json_text import parse_json
from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.schema import lightgbm_name

_DIRECTIONS = "-1, 0 and 1"


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Constraints by column index."""

    #: Direction of each feature, empty if none has one.
    monotone: tuple[int, ...] = ()
    #: Features that may meet in a tree; a feature of no group takes no part, as in LightGBM.
    #: None if all may meet.
    groups: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def of(
        cls,
        monotone_constraints: Any,
        interaction_constraints: Any,
        names: Sequence[str],
        owner: str,
    ) -> Constraints:
        """Read constraints in any form that LightGBM takes, or by names.

        Parameters
        ----------
        monotone_constraints : list of int, str like "1,0,-1", dict of name to int, or None
        interaction_constraints : list of lists of int or name, str like "[0,1],[2]", or None
        """
        return cls(
            monotone=_monotone(monotone_constraints, names, owner),
            groups=_groups(interaction_constraints, names, owner),
        )

    def allowed(self, n_features: int) -> NDArray[np.bool_]:
        """Return which features may be split at all."""
        allowed = np.full(n_features, self.groups is None)
        for group in self.groups or ():
            allowed[list(group)] = True
        return allowed

    @property
    def monotone_text(self) -> str | None:
        """The directions as LightGBM writes them, None if there are none."""
        return ",".join(map(str, self.monotone)) or None

    @property
    def interaction_text(self) -> str | None:
        """The groups as LightGBM writes them, None if all features may meet."""
        if self.groups is None:
            return None
        return ",".join(f"[{','.join(map(str, group))}]" for group in self.groups)


def _monotone(value: Any, names: Sequence[str], owner: str) -> tuple[int, ...]:
    """Return the direction of each feature, nothing where none has one."""
    parameter, must = "monotone_constraints", f"{_DIRECTIONS} for each of the {len(names)} columns"
    if isinstance(value, str):
        parts = value.strip().strip("()[]").split(",")
        value = [_whole(part) for part in parts] if parts != [""] else None
    if value is None or (isinstance(value, (list, tuple)) and not len(value)):
        return ()
    if isinstance(value, Mapping):
        directions: list[Any] = [0] * len(names)
        for column, direction in value.items():
            directions[_position(column, names, parameter, owner)] = direction
    elif isinstance(value, (list, tuple, np.ndarray)):
        directions = list(value)
    else:
        raise refuse(parameter, owner, f"{must}, or a dict from names to them", value)
    known = all(
        isinstance(each, (int, np.integer)) and not isinstance(each, bool) and -1 <= each <= 1
        for each in directions
    )
    if not known or len(directions) != len(names):
        raise refuse(parameter, owner, f"{must}, or a dict from names to them", value)
    return tuple(map(int, directions)) if any(directions) else ()


def _groups(value: Any, names: Sequence[str], owner: str) -> tuple[tuple[int, ...], ...] | None:
    """Return the groups of features that may meet, None if all may."""
    parameter = "interaction_constraints"
    must = "a list of lists of columns, like [[0, 1], [2]]"
    given = value
    if isinstance(value, str):
        try:
            value = parse_json(f"[{value}]") if value.strip() else None
        except ValueError as error:
            raise refuse(parameter, owner, must, given) from error
    if value is None or (isinstance(value, (list, tuple)) and not len(value)):
        return None
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(group, Iterable) and not isinstance(group, (str, Mapping)) for group in value
    ):
        raise refuse(parameter, owner, must, given)
    groups = []
    for group in value:
        positions = {_position(column, names, parameter, owner) for column in group}
        if not positions:
            raise refuse(parameter, owner, f"{must}, none of them empty", given)
        groups.append(tuple(sorted(positions)))
    return tuple(dict.fromkeys(groups))


def _position(column: Any, names: Sequence[str], parameter: str, owner: str) -> int:
    """Return the position of a column that is named or numbered."""
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        if 0 <= column < len(names):
            return int(column)
    elif isinstance(column, str):
        written = lightgbm_name(column)
        if written in names:
            return list(names).index(written)
    raise InvalidParameterError(
        f"The {parameter!r} parameter of {owner} names the column {column!r}, which X does not "
        "have. Give names of columns, or positions from 0."
    )


def _whole(text: str) -> Any:
    """Return the whole number that a text spells, or the text."""
    try:
        return int(text)
    except ValueError:
        return text
