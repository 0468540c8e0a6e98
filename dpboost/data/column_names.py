"""Names of columns as LightGBM writes them."""

from __future__ import annotations

from collections.abc import Sequence

from dpboost._utils.validation import InvalidParameterError
from dpboost.schema import lightgbm_name


def column_names(
    given: Sequence[str] | None, n_features: int, own: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return the names of the columns as LightGBM writes them."""
    if given is not None:
        if isinstance(given, str) or len(given) != n_features:
            raise InvalidParameterError(
                "The 'feature_names' parameter must be a list with one name for each of the "
                f"{n_features} columns of X."
            )
        own = [str(name) for name in given]
    if own is None:
        return tuple(f"Column_{position}" for position in range(n_features))
    names = tuple(lightgbm_name(name) for name in own)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidParameterError(
                f"The column name {name!r} appears more than once (blanks are read as '_'): "
                "column names must differ."
            )
        seen.add(name)
        if not name or any(letter in '",:[]{}\\' or not letter.isprintable() for letter in name):
            raise InvalidParameterError(
                f"The column name {name!r} cannot stand in a LightGBM model: rename it, without "
                'any of " , : [ ] { } \\ and without line breaks or other invisible characters.'
            )
    return names
