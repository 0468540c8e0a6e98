"""Encoding of public values as JSON and arrays; decoding executes no code."""

from __future__ import annotations

import hashlib
import io
import os
import types
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.containers import is_dataset, is_frame, unpack
from dpboost.schema import DataDictionary, Schema
from dpboost.transcripts.call import Call, GroupForm, LabelForm, NumbersForm, TableForm


class ModelText:
    """A model in the public arguments, as its text."""

    def __init__(self, text: str) -> None:
        self.text = text


class DatasetParts:
    """A ``Dataset`` in the public arguments, as its parts.

    ``parts`` are arguments of ``Dataset``.
    """

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts


class MissingObject:
    """Code or another object that a file does not contain, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name


def npy(array: Any) -> bytes:
    """Return an array as a member of an archive."""
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(array), allow_pickle=False)
    return file.getvalue()


def array_in(data: bytes) -> Any:
    """Return the array of a member; one of objects is refused."""
    return np.load(io.BytesIO(data), allow_pickle=False)


_FORMS: dict[str, type] = {
    each.__name__: each for each in (TableForm, LabelForm, NumbersForm, GroupForm)
}


class Encoder:
    """Convert public values to JSON; arrays are stored separately."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []

    def call(self, call: Call) -> dict[str, Any]:
        """Return the public side of a call."""
        return {
            "function": call.function,
            "subject": None if call.subject is None else self._class(call.subject),
            "labeled": call.labeled,
            **{
                part: self.value(part, getattr(call, part))
                for part in ("parameters", "arguments", "tables", "numbers", "labels", "facts")
            },
        }

    def _class(self, kind: type) -> str:
        if kind.__module__.partition(".")[0] != "dpboost":
            raise InvalidParameterError(
                f"A transcript of {kind.__name__}, a class of your own, cannot be written to a "
                "file: fit the estimator of dpboost that it derives from."
            )
        return kind.__name__

    def value(self, name: str, value: Any) -> Any:
        """Return one value as JSON."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return value if abs(value) < 1 << 53 else {"$int": str(value)}
        if isinstance(value, float):
            return {"$float": value.hex()} if np.isfinite(value) else {"$float": str(value)}
        if isinstance(value, np.generic):
            return self.value(name, value.item())
        if isinstance(value, Fraction):
            return {"$fraction": str(value)}
        if isinstance(value, bytes):
            return {"$bytes": value.hex()}
        if isinstance(value, dict | types.MappingProxyType):
            pairs = [
                [self.value(name, key), self.value(str(key), each)] for key, each in value.items()
            ]
            return {"$dict": pairs}
        if isinstance(value, list):
            return [self.value(name, each) for each in value]
        if isinstance(value, (tuple, set, frozenset)):
            kind = "$set" if not isinstance(value, tuple) else "$tuple"
            values = value if isinstance(value, tuple) else sorted(value, key=repr)
            return {kind: [self.value(name, each) for each in values]}
        return self._object(name, value)

    def _object(self, name: str, value: Any) -> Any:
        if type(value) in _FORMS.values():
            return {"$form": type(value).__name__, "is": self.value(name, vars(value))}
        if isinstance(value, Schema):
            return {"$schema": value.to_dict()}
        if isinstance(value, DataDictionary):
            return {"$dictionary": [entry.to_dict() for entry in value.entries]}
        if hasattr(value, "to_bytes"):
            return {"$transcript": value.to_bytes().hex()}
        if is_frame(value) or type(value).__name__ == "Series":
            return self._frame(name, value)
        if hasattr(value, "tocoo"):
            whole = value.tocsr()
            parts = (whole.data, whole.indices, whole.indptr)
            return {"$sparse": [self._kept(part) for part in parts], "shape": list(whole.shape)}
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufUSmM":
            return {"$array": self._kept(value)}
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            return {"$objects": self.value(name, value.tolist())}
        if getattr(value, "transcript_", None) is not None:
            return self._object(name, value.transcript_)
        if is_dataset(value):
            return {"$dataset": self.value(name, _parts_of(value))}
        booster = getattr(value, "booster_", value)
        if hasattr(booster, "model_to_string"):
            return {"$model": booster.model_to_string()}
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        return {"$missing": _name_of(value)}

    def _frame(self, name: str, value: Any) -> Any:
        if type(value).__name__ == "Series":
            return self.value(name, np.asarray(value))
        columns = []
        for position, column in enumerate(value.columns):
            own = value.iloc[:, position]
            cells = own.astype(object).where(own.notna(), None).tolist()
            dtype = own.dtype
            listed = None
            if str(dtype) == "category":
                listed = [dtype.categories.tolist(), bool(dtype.ordered)]
            numeric = isinstance(dtype, np.dtype) and dtype.kind in "biuf"
            kept = {"$array": self._kept(own.to_numpy())} if numeric else self.value(name, cells)
            columns.append([self.value(name, column), str(dtype), self.value(name, listed), kept])
        return {"$frame": columns}

    def _kept(self, array: Any) -> int:
        self.arrays.append(np.asarray(array))
        return len(self.arrays) - 1


def _parts_of(dataset: Any) -> dict[str, Any]:
    """Return the arguments that make a ``Dataset`` of public rows again."""
    names = ("label", "weight", "init_score", "feature_name", "categorical_feature", "params")
    return {"data": unpack(dataset), **{name: getattr(dataset, name) for name in names}}


def _name_of(value: Any) -> str:
    """Return the name of code, with a hash of what it does."""
    code = getattr(value, "__code__", None)
    name = getattr(value, "__qualname__", type(value).__qualname__)
    if code is None:
        return str(name)
    digest = hashlib.sha256(code.co_code + repr(code.co_consts).encode()).hexdigest()[:16]
    return f"{name} (code {digest})"


class Decoder:
    """Convert JSON to public values."""

    def __init__(
        self, members: Mapping[str, bytes], nested: Callable[[bytes], Any] | None = None
    ) -> None:
        self._members = members
        self._nested = nested

    def call(self, found: dict[str, Any]) -> Call:
        """Return the public side of a call; its class is found by the replay."""
        parts = ("parameters", "arguments", "tables", "numbers", "labels", "facts")
        subject = found["subject"]
        return Call(
            function=str(found["function"]),
            subject=None if subject is None else type(str(subject), (MissingObject,), {}),
            labeled=bool(found["labeled"]),
            **{part: self.value(found[part]) for part in parts},
        )

    def value(self, found: Any) -> Any:
        """Return one value."""
        if isinstance(found, list):
            return [self.value(each) for each in found]
        if not isinstance(found, dict):
            return found
        name = next(iter(found))
        inner = found[name]
        plain: dict[str, Any] = {
            "$int": int,
            "$float": lambda text: float.fromhex(text),
            "$fraction": Fraction,
            "$bytes": bytes.fromhex,
            "$dict": lambda pairs: {self.value(key): self.value(each) for key, each in pairs},
            "$tuple": lambda values: tuple(map(self.value, values)),
            "$set": lambda values: frozenset(map(self.value, values)),
            "$array": self._member,
            "$objects": lambda values: np.array(self.value(values), dtype=object),
            "$schema": Schema.from_dict,
            "$dictionary": DataDictionary.from_lines,
            "$model": ModelText,
            "$dataset": lambda parts: DatasetParts(self.value(parts)),
            "$missing": MissingObject,
            "$transcript": lambda digits: self._inner(bytes.fromhex(digits)),
            "$frame": self._frame,
        }
        if name in plain:
            return plain[name](inner)
        if name == "$form":
            return _FORMS[inner](**self.value(found["is"]))
        if name == "$sparse":
            import scipy.sparse

            data, indices, starts = map(self._member, inner)
            return scipy.sparse.csr_matrix((data, indices, starts), shape=tuple(found["shape"]))
        raise ValueError(f"no value is called {name}")

    def _inner(self, data: bytes) -> Any:
        if self._nested is None:
            raise ValueError("a transcript where none can be")
        return self._nested(data)

    def _member(self, number: int) -> Any:
        return array_in(self._members[f"public-{int(number)}.npy"])

    def _frame(self, columns: list[Any]) -> Any:
        import pandas as pd

        parts = []
        for _, dtype, listed, cells in columns:
            kind: Any = dtype
            if listed is not None:
                categories, ordered = self.value(listed)
                kind = pd.CategoricalDtype(categories, ordered=ordered)
            parts.append(pd.Series(self.value(cells), dtype=kind))
        frame = pd.concat(parts, axis=1)
        frame.columns = pd.Index([self.value(name) for name, *_ in columns], tupleize_cols=False)
        return frame
