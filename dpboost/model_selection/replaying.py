"""Replay of a transcript, without rows."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol

from dpboost._utils.validation import InvalidParameterError, command_line, refuse
from dpboost.budgeting.budget import Budget
from dpboost.budgeting.holdout import HeldRows
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.estimators.train import train
from dpboost.estimators.tree_estimators import DPTreeClassifier, DPTreeRegressor
from dpboost.evaluating import evaluate, feature_histograms
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.dataset import Dataset
from dpboost.model_selection.cross_validation import cv
from dpboost.model_selection.refitting import refit_leaves
from dpboost.privacy.recording import Replaying, recording
from dpboost.transcripts.call import Call, GroupForm, LabelForm, NumbersForm, TableForm
from dpboost.transcripts.encoding import DatasetParts, MissingObject, ModelText
from dpboost.transcripts.transcript import Transcript

_ESTIMATORS: dict[str, type] = {
    each.__name__: each
    for each in (
        DPBoostClassifier,
        DPBoostRegressor,
        DPTreeClassifier,
        DPTreeRegressor,
    )
}
_FUNCTIONS: dict[str, Any] = {
    "evaluate": evaluate,
    "cv": cv,
    "train": train,
    "refit_leaves": refit_leaves,
    "feature_histograms": feature_histograms,
}


class RowsInstead(Protocol):
    """Substitutes of the same form for the rows of a recorded call."""

    def table(self, form: TableForm, labels: Any) -> Any:
        """Return rows of these columns and types; labels are for batches that bring them."""

    def labels(self, form: LabelForm) -> Any:
        """Return their labels, the same each time."""

    def numbers(self, form: NumbersForm | GroupForm) -> Any:
        """Return weights, initial scores, ids of users or groups."""


class BlankRows:
    """Rows without information: zero or missing cells, and every public class once."""

    def __init__(self, call: Call) -> None:
        self._n_rows = call.labels.n_rows

    def table(self, form: TableForm, labels: Any) -> Any:
        """Return blank rows."""
        return form.blank(self._n_rows, labels)

    def labels(self, form: LabelForm) -> Any:
        """Return the public classes, or ones."""
        return form.blank(self._n_rows)

    def numbers(self, form: NumbersForm | GroupForm) -> Any:
        """Return values without information."""
        return form.blank(self._n_rows)


def replay(transcript: Transcript, **given: Any) -> Any:
    """Repeat a recorded call with its released outcomes instead of fresh noise.

    Parameters
    ----------
    transcript : Transcript
        ``model.transcript_``, or the result of ``Transcript.load``.
    **given
        Arguments of the call that a file does not contain, such as ``callbacks=[...]`` or a
        function as ``objective`` of the estimator. They must be those of the call.

    Returns
    -------
    object
        The result of the call: a fitted estimator, an evaluation, or the results of ``cv``. On
        the machine that recorded the call, the model text is identical byte for byte.

    Raises
    ------
    InvalidParameterError
        If an argument is missing (the message names it), or the transcript is damaged or of
        another build (the message names the first release that differs).

    Privacy
    -------
    Reads no private rows and draws no noise; the transcript is a released object. Every release is
    recorded again and compared with its line in the transcript.

    Notes
    -----
    The replay replaces the rows by blank ones with the same columns and types. The non-interference
    audit checks that their cells have no effect.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost import DPBoostRegressor, replay
    >>> X = np.random.default_rng(0).uniform(size=(500, 1))
    >>> schema = dict(bounds={0: (0, 1)}, label_bounds=(0, 1))
    >>> model = DPBoostRegressor(schema=schema, n_estimators=20).fit(X, X[:, 0])
    >>> again = replay(model.transcript_)
    >>> again.booster_.model_to_string() == model.booster_.model_to_string()
    True
    """
    if not isinstance(transcript, Transcript):
        raise refuse("transcript", "replay", "a dpboost.Transcript", type(transcript).__name__)
    function, arguments = prepared(transcript.call, given, BlankRows(transcript.call))
    own = Replaying(source=transcript.recording())
    with recording(own), command_line(bool(transcript.call.facts.get("command line"))):
        result = function(**arguments)
    own.check_end()
    return _with_transcript(result, transcript)


def _with_transcript(result: Any, transcript: Transcript) -> Any:
    name = "transcript_" if hasattr(result, "fit") else "transcript"
    object.__setattr__(result, name, transcript)
    return result


def prepared(call: Call, given: Mapping[str, Any], rows: RowsInstead) -> tuple[Any, dict[str, Any]]:
    """Return the function of a recorded call, and its arguments with other rows.

    ``given`` are arguments that a file does not hold; ``rows`` takes the place of the rows of the
    call.
    """
    unknown = set(given) - {*call.arguments, *call.parameters}
    if unknown:
        raise InvalidParameterError(
            f"The call of the transcript has no argument {sorted(unknown)[0]!r}."
        )
    arguments = _found(call.arguments, given)
    if call.subject is not None:
        function = _estimator(call, given).fit
    elif call.function in _FUNCTIONS:
        function = _FUNCTIONS[call.function]
    else:
        raise InvalidParameterError(f"replay does not know the function {call.function!r}.")
    labels = rows.labels(call.labels)
    arguments |= {name: rows.numbers(form) for name, form in call.numbers.items()}
    if "X" in call.tables and call.function != "feature_histograms":
        arguments["y"] = labels if call.labeled else None
    for name, form in call.tables.items():
        table = rows.table(form, labels)
        if form.dataset:
            table = _dataset(name, form, table, labels, arguments)
        arguments[name] = table
    _open_budget(call, arguments, rows)
    return function, arguments


def _estimator(call: Call, given: Mapping[str, Any]) -> Any:
    """Return the estimator of the call, not fitted."""
    kind: Any = call.subject
    name = kind.__name__.removeprefix("Dask").removeprefix("Spark")
    if name in _ESTIMATORS and (issubclass(kind, MissingObject) or kind.__name__ != name):
        kind = _ESTIMATORS[name]
    if issubclass(kind, MissingObject):
        raise InvalidParameterError(f"replay does not know the estimator {name!r}.")
    found = _found(call.parameters, given)
    taken = inspect.signature(kind).parameters
    if any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        return kind(**found)
    # A subclass whose constructor chooses the rest by itself.
    model = kind(**{name: value for name, value in found.items() if name in taken})
    return model.set_params(**{name: value for name, value in found.items() if name not in taken})


def _found(recorded: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return recorded arguments, with those that a file does not hold as they are given."""
    found = {}
    for name, value in recorded.items():
        found[name] = given[name] if name in given else _restored(name, value)
    return found


def _restored(name: str, value: Any) -> Any:
    if isinstance(value, MissingObject):
        raise InvalidParameterError(
            f"The transcript does not hold the {name!r} of the call, {value.name}: give it, "
            f"replay(transcript, {name}=...)."
        )
    if isinstance(value, ModelText):
        return Booster(model_str=value.text)
    if isinstance(value, Transcript):
        return replay(value)
    if isinstance(value, DatasetParts):
        return Dataset(**value.parts)
    if isinstance(value, (list, tuple)):
        return type(value)(_restored(name, each) for each in value)
    if isinstance(value, dict):
        return {key: _restored(name, each) for key, each in value.items()}
    return value


def _dataset(
    name: str, form: TableForm, rows: Any, labels: Any, arguments: dict[str, Any]
) -> Dataset:
    """Return blank rows in a Dataset; those to train on take labels and weights along."""
    beside: dict[str, Any] = {}
    if name == "train_set":
        beside = {
            "label": None if form.labeled else labels,
            "weight": arguments.pop("sample_weight", None),
            "init_score": arguments.pop("init_score", None),
            "user_ids": arguments.pop("user_ids", None),
        }
    return Dataset(
        rows,
        feature_name="auto" if form.names is None else list(form.names),
        categorical_feature=form.categorical,
        params=form.parameters,
        **beside,
    )


def _open_budget(call: Call, arguments: dict[str, Any], rows: RowsInstead) -> None:
    """Give the call a budget of the same terms, of which nothing is taken."""
    terms = call.facts.get("budget")
    if terms is None:
        return
    budget = Budget.of_terms(terms["terms"])
    arguments["fraction"] = Fraction(terms["fraction"])
    if "measure" in terms:
        budget.count_in(terms["measure"])
    name = terms["disjoint"]
    arguments["budget"] = budget if name is None else budget.disjoint(name)
    if "periods" in terms:
        arguments["budget"] = budget.window(*terms["periods"])
    held = call.facts.get("held")
    if held is not None:
        labels = rows.labels(call.labels)
        aside = HeldRows(
            X=rows.table(held["table"], labels),
            y=labels,
            users=rows.numbers(NumbersForm(kind="user")) if held["users"] else None,
        )
        budget.hold(arguments["model"], aside, held["part"])
