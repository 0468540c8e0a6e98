"""Fits to a table as a data dictionary declares it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpboost._utils.warnings import warn_user, without_advice
from dpboost.data.declared_rows import Declaration, by_declaration, declares_roles
from dpboost.lightgbm.parameters import ParameterWarning, is_silent


def _declaration_of(self: Any) -> tuple[Declaration | None, str]:
    """Read what the schema of an estimator declares, and keep it for predictions."""
    self._declaration = declares_roles(self.schema)
    return self._declaration, self._task


def _say(self: Any, line: str) -> None:
    with without_advice(is_silent(vars(self) | self._extra_params())):
        warn_user(f"{line[:1].upper()}{line[1:]}.", ParameterWarning)


declared_fit: Callable[[Callable[..., Any]], Callable[..., Any]] = by_declaration(
    _declaration_of, _say
)
