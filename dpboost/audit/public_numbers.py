"""Test that arguments of public code are equal on both tables for equal outcomes.

The code of `boosting` and `growing` is public, so no argument of its functions may depend on an
exact sum. The model of one fit need not show a violation: the probability of a feature may change
slightly while the draw stays the same. The arguments show it in every fit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, is_dataclass
from fractions import Fraction
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np

from dpboost.growing.boosting_loop import BoostingLoop
from dpboost.growing.single_tree_growth import SingleTree

#: Name of the check.
CHECK = "public numbers"

#: Packages whose functions are listened to.
ROOMS = ("dpboost.growing.",)

#: Packages that hold rows. They apply public formulas to private sums before a release.
ROWS = (
    *("dpboost.rows.", "dpboost.cluster.", "dpboost.dask.", "dpboost.spark."),
    "dpboost.federated.party.",
)

#: Packages whose records are looked into; of what others hold, the type counts alone.
RECORDS = (*ROOMS, "dpboost.trees.")

#: A function, and a fingerprint of the numbers it was handed. Comparable in one process only.
Call = tuple[str, int]


#: What grows trees: all that happens while they run is listened to.
GROWTHS = (BoostingLoop, SingleTree)


@contextmanager
def listening() -> Iterator[list[Call]]:
    """Note every call of a public function while trees grow, as long as the context lasts."""
    calls: list[Call] = []

    def heard(run: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            with hearing(calls):
                return run(*arguments, **options)

        return wrapped

    with ExitStack() as stack:
        for kind in GROWTHS:
            stack.enter_context(mock.patch.object(kind, "run", heard(kind.run)))
        yield calls


@contextmanager
def hearing(calls: list[Call]) -> Iterator[None]:
    """Add every call of a public function to a list."""
    # By file: whether its functions are public. What has none is made by the interpreter.
    known: dict[str, bool] = {}

    def listen(frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        public = known.get(file)
        if public is None:
            public = known[file] = file[0] != "<" and _module(frame).startswith(ROOMS)
        if not public or event != "call":
            return
        name = frame.f_code.co_name
        if name[0] != "<" and not _module(frame.f_back).startswith(ROWS):
            calls.append((f"{_module(frame)}.{name}", _fingerprint(_arguments(frame))))

    earlier = sys.getprofile()
    sys.setprofile(listen)
    try:
        yield
    finally:
        sys.setprofile(earlier)


def first_difference(calls: Sequence[Any], others: Sequence[Any]) -> int | None:
    """Return where two sequences of calls differ first, None if they do not."""
    for number, (call, other) in enumerate(zip(calls, others, strict=False)):
        if call != other:
            return number
    return None if len(calls) == len(others) else min(len(calls), len(others))


def _module(frame: FrameType | None) -> str:
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


def _arguments(frame: FrameType) -> tuple[Any, ...]:
    code = frame.f_code
    own = frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(own.get(name) for name in names)


def _fingerprint(value: Any) -> int:
    """Return a number that differs where a number, a list of them, or a public record does."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return hash(value.shape)
        return hash((value.dtype.str, value.shape, value.tobytes()))
    if isinstance(value, (bool, int, float, str, Fraction, np.generic)):
        # The bits, so that a missing number is like itself.
        return hash((type(value).__name__, repr(value)))
    if isinstance(value, (tuple, list)):
        return hash(tuple(map(_fingerprint, value)))
    if is_dataclass(value) and type(value).__module__.startswith(RECORDS):
        # A record that is being made has no fields yet.
        held = (getattr(value, field.name, None) for field in fields(value))
        return hash(tuple(map(_fingerprint, held)))
    return hash(type(value).__qualname__)
