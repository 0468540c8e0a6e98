"""Spelling of numbers in a model text, and the error for a text that breaks the format."""

from __future__ import annotations

from lightgbm.basic import LightGBMError

# At most ten digits: what is longer does not fit LightGBM's 32-bit integers.
INTEGER = r"-?[0-9]{1,10}"
FLOAT = r"-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|inf|nan)"


class ModelTextError(LightGBMError, ValueError):
    """A model text that LightGBM could not load safely; the message names line and field."""
