"""The public side of a call: its arguments, and blank rows of the same form as its private ones.

A replay calls the same function again. It replaces the rows with rows without information: the same
columns and types, all cells missing or zero, each public class once.
"""

from __future__ import annotations

import math
import os
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from dpboost._utils.validation import InvalidParameterError, is_default
from dpboost.data.batches import Batches
from dpboost.data.containers import is_dataset, is_frame, unpack
from dpboost.data.evaluation_rows import (
    TRAINING_ROWS,
    evaluation_pairs,
    is_training_pair,
    is_training_set,
    marked,
)
from dpboost.schema import Schema

#: The name of a sparse column type of pandas: that of its cells, and the cell that is not stored.
_SPARSE = re.compile(r"Sparse\[(\w+), (\S+)\]")


class UnrecordableError(InvalidParameterError):
    """A call cannot be replayed, because it needs objects that a transcript does not contain."""


@dataclass(frozen=True, kw_only=True)
class TableForm:
    """Columns and types of a table, public by assumption."""

    #: ``"array"``, ``"frame"``, or the format of a sparse matrix.
    container: str
    #: Of each column of a frame; else of all cells.
    dtypes: tuple[str, ...]
    n_columns: int
    #: Of the columns of a frame or of a ``Dataset``.
    names: tuple[Any, ...] | None = None
    #: Positions of the ordered categorical columns.
    ordered: tuple[int, ...] = ()
    #: Lists of categories that are public by assumption, by position.
    lists: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    #: Whether rows come in batches.
    batched: bool = False
    #: Whether batches come with labels and with weights.
    labeled: bool = False
    weighted: bool = False
    #: Whether the table is in a ``lightgbm.Dataset``.
    dataset: bool = False
    #: Of the ``Dataset``.
    categorical: Any = "auto"
    parameters: Any = None

    @classmethod
    def of(cls, X: Any, *, lists: bool = False) -> TableForm:
        """Return the form of a table.

        ``lists`` says whether lists of categories of column types are public by assumption.
        UnrecordableError for a container whose columns and types are not known.
        """
        if isinstance(X, Batches):
            first = X.first
            own = cls._of_rows(first.X, lists)
            weighted = first.weight is not None
            return replace(own, batched=True, labeled=X.labeled, weighted=weighted)
        if "public_example" in vars(type(X)):  # of rows that Spark holds
            X = X.public_example
        if hasattr(X, "dask"):
            if hasattr(X, "columns"):
                from dask.dataframe.utils import make_meta

                X = make_meta(X)
            else:
                X = np.zeros((1, X.shape[1]), dtype=X.dtype)
        if is_dataset(X):
            batches = getattr(X, "_batches", None)
            own = cls.of(batches, lists=lists) if batches else cls._of_rows(unpack(X), lists)
            names = X.feature_name
            return replace(
                own,
                names=own.names if names is None or isinstance(names, str) else tuple(names),
                categorical=X.categorical_feature,
                parameters=X.params,
                dataset=True,
            )
        return cls._of_rows(X, lists)

    @classmethod
    def _of_rows(cls, X: Any, lists: bool) -> TableForm:
        X = unpack(X)
        if is_frame(X):
            return cls._of_frame(X, lists)
        if scipy.sparse.issparse(X):
            return cls(container=X.format, dtypes=(X.dtype.str,), n_columns=X.shape[1])
        # Lists, and what only speaks NumPy's protocol, have no type: whole numbers are numbers.
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        dtype = getattr(X, "dtype", np.dtype(float))
        if len(shape) != 2:
            raise UnrecordableError(
                f"The transcript of this call cannot hold the form of X, a {type(X).__name__}."
            )
        # Arrays of text hold numbers or are refused.
        dtype = np.dtype(float) if dtype.kind not in "biufO" else dtype
        return cls(container="array", dtypes=(dtype.str,), n_columns=shape[1])

    @classmethod
    def _of_frame(cls, X: Any, lists: bool) -> TableForm:
        listed, ordered, dtypes = {}, [], []
        for position, dtype in enumerate(X.dtypes):
            dtypes.append(str(dtype))
            if str(dtype) == "category":
                if dtype.ordered:
                    ordered.append(position)
                if lists:
                    listed[position] = tuple(dtype.categories.tolist())
        return cls(
            container="frame",
            dtypes=tuple(dtypes),
            n_columns=X.shape[1],
            names=tuple(X.columns.tolist()),
            ordered=tuple(ordered),
            lists=listed,
        )

    def blank(self, n_rows: int, labels: Any = None) -> Any:
        """Return a table of this form that says nothing.

        Labels are for batches that come with them.
        """
        rows = self._blank_rows(n_rows)
        if not self.batched:
            return rows
        beside: list[Any] = [labels] if self.labeled else []
        if self.weighted:
            beside.append(np.ones(n_rows))
        source = _OneBatch((rows, *beside) if beside else rows)
        return source if self.dataset else Batches(source)

    def _blank_rows(self, n_rows: int) -> Any:
        shape = (n_rows, self.n_columns)
        if self.container == "frame":
            return self._blank_frame(n_rows)
        if self.container == "array":
            return np.zeros(shape, dtype=np.dtype(self.dtypes[0]))
        return scipy.sparse.csr_matrix(shape, dtype=np.dtype(self.dtypes[0])).asformat(
            self.container
        )

    def _blank_frame(self, n_rows: int) -> Any:
        import pandas as pd

        columns = []
        for position, name in enumerate(self.dtypes):
            dtype: Any = name
            if name == "category":
                listed = self.lists.get(position, ())
                dtype = pd.CategoricalDtype(list(listed), ordered=position in self.ordered)
            sparse = _SPARSE.fullmatch(name)
            if sparse:
                name, fill = sparse.groups()
                dtype = pd.SparseDtype(name, math.nan if fill == "nan" else literal_eval(fill))
            plain = name.startswith(("int", "uint", "bool", "float"))
            cells = [0 if plain else None] * n_rows
            columns.append(pd.Series(cells, dtype=dtype))
        frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(n_rows))
        frame.columns = pd.Index(self.names, tupleize_cols=False)
        return frame


@dataclass(frozen=True)
class _OneBatch:
    """A batch that can be read again."""

    batch: Any

    def __iter__(self) -> Iterator[Any]:
        yield self.batch


@dataclass(frozen=True, kw_only=True)
class LabelForm:
    """Public metadata of labels."""

    #: Where they are declared or public by assumption.
    classes: tuple[Any, ...] | None = None
    #: Whether labels are text.
    text: bool = False

    @property
    def n_rows(self) -> int:
        """Rows that hold every class once."""
        return max(1, len(self.classes or ()))

    def blank(self, n_rows: int) -> Any:
        """Return labels that say nothing: the public classes in turn, or ones."""
        values: Sequence[Any] = self.classes or (("a",) if self.text else (1,))
        return np.array([values[row % len(values)] for row in range(n_rows)])


@dataclass(frozen=True, kw_only=True)
class NumbersForm:
    """Public metadata of weights, initial scores and user ids: that they are given."""

    #: One of "weight", "score", "user".
    kind: str
    #: Columns of a table of scores.
    width: int | None = None

    @classmethod
    def of(cls, values: Any, kind: str, X: Any = None) -> NumbersForm | None:
        """Return the form of an argument, None if it is not given.

        Scores of several classes may be one column after the other, as many as the rows of `X`.
        """
        if values is None:
            return None
        shape = values.shape if hasattr(values, "shape") else np.asarray(values).shape
        n_rows = getattr(X, "shape", (None,))[0] if kind == "score" else None
        if len(shape) == 1 and isinstance(n_rows, int) and 0 < n_rows < shape[0]:
            shape = (n_rows, shape[0] // n_rows)
        return cls(kind=kind, width=int(shape[1]) if len(shape) == 2 else None)

    def blank(self, n_rows: int) -> Any:
        """Return values that say nothing."""
        if self.kind == "user":
            return np.arange(n_rows)
        shape = (n_rows,) if self.width is None else (n_rows, self.width)
        return np.full(shape, 1.0 if self.kind == "weight" else 0.0)


@dataclass(frozen=True, kw_only=True)
class GroupForm:
    """Public metadata of the groups of rows: their names."""

    names: tuple[Any, ...]

    def blank(self, n_rows: int) -> Any:
        """Return groups that say nothing, with their names."""
        return np.array([self.names[0]] * n_rows), list(self.names)


#: Arguments that hold private rows, in every function that is recorded.
TABLES = ("X", "train_set")
LABELS = ("y",)
NUMBERS = {"sample_weight": "weight", "init_score": "score", "user_ids": "user"}
#: What the budget of a call is replaced by; see `Call.budget`.
BUDGETS = ("budget",)


@dataclass(frozen=True, kw_only=True, eq=False)
class Call:
    """The public side of one call."""

    #: Name of the function, such as ``"fit"`` or ``"evaluate"``.
    function: str
    #: Class of the estimator whose method it is.
    subject: type | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Public arguments, by name.
    arguments: Mapping[str, Any] = field(default_factory=dict)
    #: Forms of the private arguments, by name.
    tables: Mapping[str, TableForm] = field(default_factory=dict)
    numbers: Mapping[str, NumbersForm | GroupForm] = field(default_factory=dict)
    #: Of all labels.
    labels: LabelForm = field(default_factory=LabelForm)
    #: Whether labels were an argument.
    labeled: bool = False
    #: What the call noted on its way: the terms of its budget, rows that were held out.
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, function: str, given: Mapping[str, Any], facts: Mapping[str, Any]) -> Call:
        """Return the public side of a call that has succeeded.

        ``given`` are its arguments, ``self`` included, ``facts`` what it noted.
        """
        rest, X = _without_training_rows(given), given.get("X")
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
            form = NumbersForm.of(rest.pop(name, None), kind, X)
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
    pairs = [marked(pair, rest.get("X"), rest.get("y")) for pair in pairs]
    if any(map(is_training_pair, pairs)):
        rest |= {"eval_set": pairs, "eval_X": None, "eval_y": None}
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
    rows = None if getattr(dataset, "_batches", None) else unpack(dataset)
    forms = {name: NumbersForm.of(value, NUMBERS[name], rows) for name, value in given.items()}
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
