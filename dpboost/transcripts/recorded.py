"""Decorator that records calls, with rows as declared by a data dictionary."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dpboost._utils.validation import is_command_line
from dpboost._utils.version import __version__
from dpboost.data.batches import Batches
from dpboost.data.containers import is_batched
from dpboost.data.declared_rows import Declaration, DeclaredRows, frame_of
from dpboost.data.evaluation_rows import evaluation_pairs, same_rows
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

    ``keep(result, transcript)`` returns the result with its transcript.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:
                return function(*args, **kwargs)  # which says it better
            if is_batched(given.get("X")) and not isinstance(given["X"], Batches):
                given["X"] = Batches(given["X"])  # an iterator gives its first batch once
            given = {**given.pop("kwargs", {}), **given}
            if current() is not None:
                return function(**given)  # type: ignore[call-arg]
            own = Recording()
            if is_command_line():  # its report says options
                own.facts["command line"] = True
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


def by_declaration(
    declaration_of: Callable[[Any], tuple[Declaration | None, str]],
    say: Callable[[Any, str], None],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a function get features, labels and users where a data dictionary says which they are.

    ``declaration_of`` gets the first argument, a model, and returns what is declared of its tables,
    and the task; ``say`` gets it too, and a line about columns that are left out.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return function(*args, **kwargs)  # which says it better
            given = bound.arguments
            model = next(iter(given.values()))
            declared, task = declaration_of(model)
            table = None if declared is None else frame_of(given.get("X"))
            if declared is None or table is None:
                return function(*args, **kwargs)
            table = _named(table, given)
            rows = declared.rows(table, task=task, y=given.get("y"), user_ids=given.get("user_ids"))
            if rows.left_out:
                say(model, rows.left_out_line)
            given |= _evaluation_sets(given, rows, declared)
            given |= {"X": rows.X, "y": rows.y}
            if rows.user_ids is not None:
                given["user_ids"] = rows.user_ids
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


def _named(table: Any, given: dict[str, Any]) -> Any:
    """Return a table with the names that are given for its columns, and name the nominal ones."""
    names, nominal = given.pop("feature_name", "auto"), given.get("categorical_feature")
    if not isinstance(names, str) and names is not None and len(names) == table.shape[1]:
        table = table.set_axis(list(names), axis=1)
    if isinstance(nominal, (list, tuple)):
        known = list(table.columns)
        given["categorical_feature"] = [
            known[each] if isinstance(each, int) and each < len(known) else each for each in nominal
        ]
    return table


def _evaluation_sets(
    given: dict[str, Any], rows: DeclaredRows, declared: Declaration
) -> dict[str, Any]:
    """Return evaluation sets with their features alone; the training rows stay the same object."""
    pairs = evaluation_pairs(*(given.get(name) for name in ("eval_set", "eval_X", "eval_y")))
    if not pairs:
        return {}
    found = []
    for X, y in pairs:
        if same_rows(X, given["X"]):
            found.append((rows.X, rows.y if same_rows(y, given.get("y")) else y))
        else:
            table = frame_of(X)
            found.append((X if table is None else declared.features(table), y))
    return {"eval_set": found, "eval_X": None, "eval_y": None}
