"""Functions whose calls are recorded."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dpboost._utils.version import __version__
from dpboost.data.batches import Batches, is_batched
from dpboost.privacy.recording import Recording, current, recording
from dpboost.transcripts.call import Call
from dpboost.transcripts.transcript import Transcript

P = ParamSpec("P")
R = TypeVar("R")


def finished(result: Any, transcript: Transcript) -> None:
    """Do nothing: an auditor compares the result with its replay here."""


def keep_transcript(model: Any, transcript: Transcript) -> Any:
    """Store the transcript of a fit with the model."""
    model.transcript_ = transcript
    return model


def without_transcript(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of an estimator for a pickle, which holds no transcript."""
    return {name: value for name, value in state.items() if name != "transcript_"}


def recorded(keep: Callable[[Any, Transcript], Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Record the calls of a function, unless another recorded call makes them.

    Parameters
    ----------
    keep : callable
        ``keep(result, transcript)`` returns the result with its transcript.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if current() is not None:
                return function(*args, **kwargs)
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:
                return function(*args, **kwargs)  # which says it better
            if is_batched(given.get("X")) and not isinstance(given["X"], Batches):
                given["X"] = Batches(given["X"])  # an iterator gives its first batch once
            given = {**given.pop("kwargs", {}), **given}
            own = Recording()
            with recording(own):
                result = function(**given)  # type: ignore[call-arg]
            transcript = Transcript(
                call=Call.of(function.__name__, given, own.facts),
                values=tuple(own.values),
                ledgers=tuple(map(tuple, own.ledgers)),
                reasons=tuple(own.reasons),
                build=__version__,
            )
            kept: R = keep(result, transcript)
            finished(kept, transcript)
            return kept

        return call

    return decorate
