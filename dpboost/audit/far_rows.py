"""Tables that share only public metadata with those of a call.

Columns, types, declared schema and classes are equal; cells, labels, weights, users and the number
of rows differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dpboost.data.batches import Batches
from dpboost.transcripts.call import Call, GroupForm, LabelForm, NumbersForm, TableForm

#: What the cells of a table are like.
KINDS = ("constant", "extreme", "missing", "random")

#: A label or a score far beyond everything that is declared.
HUGE = 1e300


@dataclass(frozen=True, kw_only=True)
class FarRows:
    """Rows that replace those of a call, for `replaying.prepared`.

    Labels are finite, weights are not negative, and every public class occurs: other tables are
    refused, which is outside the guarantee.
    """

    call: Call
    #: One of ``KINDS``.
    kind: str
    #: Wished for; there are as many rows as public classes at least, since their set is public.
    n_rows: int
    seed: int = 0

    @property
    def name(self) -> str:
        """The table in words."""
        return f"{self.kind} table of {self.size} rows"

    @property
    def size(self) -> int:
        """Number of rows."""
        return max(self.n_rows, self.call.labels.n_rows)

    def _random(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.size])

    # -- what takes the place of arguments ----------------------------------------------------

    def labels(self, form: LabelForm) -> Any:
        """Return labels: of the public classes, of others where none are public, or numbers."""
        size, random = self.size, self._random()
        if form.classes is not None:
            classes = np.array(form.classes)
            rest = size - len(classes)
            more = {
                "constant": np.repeat(classes[:1], rest),
                "missing": np.repeat(classes[-1:], rest),
            }
            return np.concatenate([classes, more.get(self.kind, random.choice(classes, rest))])
        if form.text:
            words = {"constant": ["far"], "missing": [""], "extreme": ["z" * 99, "\U0010ffff"]}
            return np.resize(np.array(words.get(self.kind, ["far", "away"])), size)
        numbers = {
            "constant": np.full(size, 3.0),
            "extreme": np.resize([HUGE, -HUGE], size),
            "missing": np.zeros(size),
        }
        return numbers.get(self.kind, random.integers(-9, 9, size).astype(float))

    def numbers(self, form: NumbersForm | GroupForm) -> Any:
        """Return weights, initial scores, ids of users or groups."""
        size, random = self.size, self._random()
        if isinstance(form, GroupForm):
            column = np.resize(np.array(form.names), size)
            constant = np.repeat(np.array(form.names[-1:]), size)
            return (constant if self.kind == "constant" else column), list(form.names)
        if form.kind == "user":
            return random.integers(0, {"constant": 1, "random": 3}.get(self.kind, size), size)
        shape = (size,) if form.width is None else (size, form.width)
        own = {"constant": 0.5, "extreme": HUGE, "missing": 0.0}
        values = np.full(shape, own.get(self.kind, 1.0))
        if self.kind == "random":
            values = random.uniform(0, 2, shape)
        if form.kind == "score" and self.kind == "extreme":
            values.reshape(-1)[::2] *= -1
        return values

    def table(self, form: TableForm, labels: Any) -> Any:
        """Return rows of these columns and types."""
        if not form.batched:
            return self._rows(form, self.size)
        source = _FarBatches(lambda: self._batches(form, labels))
        return source if form.dataset else Batches(source)

    def _batches(self, form: TableForm, labels: Any) -> Iterator[Any]:
        """Yield rows in two batches, where there are as many."""
        rows, first = self._rows(form, self.size), (self.size + 1) // 2
        for part in (slice(0, first), slice(first, self.size)):
            if part.start == part.stop:
                continue
            batch = [rows.iloc[part] if form.container == "frame" else rows[part]]
            batch += [labels[part]] if form.labeled else []
            if form.weighted:
                batch.append(self.numbers(NumbersForm(kind="weight"))[part])
            yield tuple(batch) if len(batch) > 1 else batch[0]

    # -- cells --------------------------------------------------------------------------------

    def _rows(self, form: TableForm, size: int) -> Any:
        if form.container == "frame":
            return self._frame(form, size)
        dtype = np.dtype(form.dtypes[0])
        if form.container == "array":
            columns = [self._cells(dtype, size, position) for position in range(form.n_columns)]
            return np.stack(columns, axis=1) if columns else np.empty((size, 0), dtype=dtype)
        matrix = scipy.sparse.random(
            size,
            form.n_columns,
            density={"constant": 0.0, "random": 0.5}.get(self.kind, 1.0),
            random_state=self._random(),
            data_rvs=lambda n: self._cells(dtype, n, 0),
            dtype=None if dtype.kind == "b" else dtype,
        )
        return matrix.astype(dtype).asformat("csr").asformat(form.container)

    def _frame(self, form: TableForm, size: int) -> Any:
        import pandas as pd

        columns = []
        for position, name in enumerate(form.dtypes):
            if name == "category":
                columns.append(self._categories(form, position, size))
                continue
            plain = name.startswith(("int", "uint", "bool", "float"))
            wide = {"Int": "int64", "UIn": "uint64", "boo": "bool", "Flo": "float64"}
            if plain:
                cells: Any = self._cells(np.dtype(name), size, position)
            elif name[:3] in wide and self.kind in ("constant", "random"):
                cells = self._cells(np.dtype(wide[name[:3]]), size, position) % 100
            else:
                cells = [None] * size
            columns.append(pd.Series(cells, dtype=name))
        frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(size))
        frame.columns = pd.Index(form.names, tupleize_cols=False)
        return frame

    def _categories(self, form: TableForm, position: int, size: int) -> Any:
        """Return cells of the public list, or of another one where the list is private."""
        import pandas as pd

        public = list(form.lists.get(position, ()))
        listed = public if position in form.lists else ["far", "farther"]
        if self.kind == "extreme" and position not in form.lists:
            listed = [f"name {row}" for row in range(size)]
        dtype = pd.CategoricalDtype(listed, ordered=position in form.ordered)
        codes = np.full(size, -1)
        if self.kind != "missing" and listed:
            codes = np.arange(size) % (1 if self.kind == "constant" else len(listed))
        return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype))

    def _cells(self, dtype: np.dtype[Any], size: int, position: int) -> NDArray[Any]:
        """Return one column of numbers."""
        random = np.random.default_rng([self.seed, size, position])
        if dtype.kind == "b":
            return (
                random.integers(0, 2, size).astype(bool)
                if self.kind == "random"
                else (np.full(size, self.kind == "extreme"))
            )
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            ends = np.array([limits.min, limits.max], dtype=dtype)
            if self.kind == "random":
                return random.integers(0, 100, size).astype(dtype)
            return np.resize(ends, size) if self.kind == "extreme" else np.full(size, 7, dtype)
        with np.errstate(over="ignore"):  # float32 holds less
            cells = {
                "constant": np.full(size, 0.25),
                "extreme": np.resize([HUGE, -HUGE, np.inf, -np.inf], size),
                "missing": np.full(size, np.nan),
            }.get(self.kind, random.normal(size=size))
            return cells.astype(dtype)


@dataclass(frozen=True)
class _FarBatches:
    """Batches that can be read again, and are the same each time."""

    batches: Callable[[], Iterator[Any]]

    def __iter__(self) -> Iterator[Any]:
        return self.batches()


def far_rows(call: Call, n_rows: int, *, every_size: bool = True) -> list[FarRows]:
    """Return far tables of a call: each kind in each of three sizes, or kinds and sizes in turn.

    Under ``"replace"`` the number of rows may be public. A replay knows nothing of it all the same,
    so that tables of other sizes are held to the same result.
    """
    sizes = (1, max(n_rows // 2, 1), 2 * n_rows)
    if every_size:
        return [FarRows(call=call, kind=kind, n_rows=size) for kind in KINDS for size in sizes]
    turns = (sizes[1], sizes[2], sizes[0], sizes[2])
    return [
        FarRows(call=call, kind=kind, n_rows=size) for kind, size in zip(KINDS, turns, strict=True)
    ]
