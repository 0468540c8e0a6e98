"""The public side of a call: its arguments, and the forms of its rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpboost._utils.defaults import is_default
from dpboost.data.evaluation_rows import (
    TRAINING_ROWS,
    evaluation_pairs,
    is_training_pair,
    is_training_set,
    without_training_rows,
)
from dpboost.schema import Schema
from dpboost.transcripts.row_forms import GroupForm, LabelForm, NumbersForm, TableForm

#: Arguments that hold private rows, in every function that is recorded.
TABLES = ("X", "train_set")
LABELS = ("y",)
NUMBERS = {"sample_weight": "weight", "init_score": "score", "user_ids": "user"}
#: What the budget of a call is replaced by; see `Call.budget`.
BUDGETS = ("budget",)


@dataclass(frozen=True, kw_only=True, eq=False)
class Call:
    """The public side of one call.

    Parameters
    ----------
    function : str
        Name of the function, such as ``"fit"`` or ``"evaluate"``.
    subject : type or None
        Class of the estimator whose method it is.
    parameters : mapping
        Of the estimator.
    arguments : mapping
        Public arguments, by name.
    tables, numbers : mapping
        Forms of the private arguments, by name.
    labels : LabelForm
        Of all labels.
    labeled : bool
        Whether labels were an argument.
    facts : mapping
        What the call noted on its way: the terms of its budget, rows that were held out.
    """

    function: str
    subject: type | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, TableForm] = field(default_factory=dict)
    numbers: Mapping[str, NumbersForm | GroupForm] = field(default_factory=dict)
    labels: LabelForm = field(default_factory=LabelForm)
    labeled: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, function: str, given: Mapping[str, Any], facts: Mapping[str, Any]) -> Call:
        """Return the public side of a call that has succeeded.

        Parameters
        ----------
        function : str
        given : mapping
            Its arguments, ``self`` included.
        facts : mapping
            What it noted.
        """
        rest = _without_training_rows(given)
        if "folds" in facts and function == "cv":
            rest["nfold"] = facts["folds"]
        subject = rest.pop("self", None)
        lists = bool(facts.get("lists are public", False))
        tables: dict[str, TableForm] = {}
        numbers: dict[str, NumbersForm | GroupForm] = {}
        for name in TABLES:
            value = rest.pop(name, None)
            if value is not None:
                tables[name] = TableForm.of(value, lists=lists)
                if name == "train_set":
                    numbers |= _of_dataset(value)
        for name, kind in NUMBERS.items():
            form = NumbersForm.of(rest.pop(name, None), kind)
            if form is not None:
                numbers[name] = form
        groups = rest.get("groups")
        if isinstance(groups, tuple) and not isinstance(groups[0], (str, int, np.integer)):
            numbers["groups"] = GroupForm(names=tuple(rest.pop("groups")[1]))
        labeled = any(rest.pop(name, None) is not None for name in LABELS)
        for name in BUDGETS:
            rest.pop(name, None)
        return cls(
            function=function,
            subject=None if subject is None else type(subject),
            parameters={} if subject is None else _parameters(subject),
            arguments=_public_arguments(rest),
            tables=tables,
            numbers=numbers,
            labels=LabelForm(
                classes=facts.get("classes"), text=bool(facts.get("labels are text", False))
            ),
            labeled=labeled,
            facts=facts,
        )


def _public_arguments(rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public arguments of a call, with what a file of theirs declares."""
    given = {name: value for name, value in rest.items() if value is not None}
    params = given.get("params")
    if isinstance(params, Mapping):
        given["params"] = {**params, **_read_schema(params)}
    return given


def _read_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a file: a transcript is replayed where the file is not."""
    given = parameters.get("schema")
    if isinstance(given, (str, os.PathLike)):
        return {"schema": Schema.or_dictionary(given)}
    return {}


def _without_training_rows(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with a mark where the training rows are among the evaluation sets."""
    rest = dict(given)
    rest.pop("folds", None)  # which rows they hold; their number is a fact of the call
    pairs = evaluation_pairs(*map(rest.get, ("eval_set", "eval_X", "eval_y")))
    marked = without_training_rows(pairs, rest.get("X"), rest.get("y"))
    if any(map(is_training_pair, marked)):
        rest |= {"eval_set": marked, "eval_X": None, "eval_y": None}
    sets, train_set = rest.get("valid_sets"), rest.get("train_set")
    if sets is not None:
        listed = list(sets) if isinstance(sets, (list, tuple)) else [sets]
        rest["valid_sets"] = [
            TRAINING_ROWS
            if not isinstance(each, str) and is_training_set(each, train_set)
            else each
            for each in listed
        ]
    return rest


def _of_dataset(dataset: Any) -> dict[str, NumbersForm]:
    """Return the forms of what a training set brings along."""
    own = {
        "sample_weight": getattr(dataset, "weight", None),
        "init_score": getattr(dataset, "init_score", None),
        "user_ids": getattr(dataset, "user_ids", None),
    }
    # The name of a column says that batches bring it along.
    given = {name: value for name, value in own.items() if not isinstance(value, str)}
    forms = {name: NumbersForm.of(value, NUMBERS[name]) for name, value in given.items()}
    return {name: form for name, form in forms.items() if form is not None}


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator, without generators and a cluster's connection.

    What no one gave is left out: the rule of the recipe is not the same value given.
    """
    found = estimator.get_params(deep=False)
    own = {name: value for name, value in found.items() if not is_default(value)}
    own.pop("client", None)
    own |= _read_schema(own)
    generators = (np.random.Generator, np.random.RandomState)
    return {name: None if isinstance(value, generators) else value for name, value in own.items()}
