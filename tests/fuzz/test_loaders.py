"""Sources of rows that do not keep their word: a clear error, or the model of their rows."""

import warnings

import lightgbm
import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import dpboost
from dpboost import Dataset, DPBoostRegressor, InvalidParameterError

N_ROWS = 60
X = np.round(np.random.default_rng(0).uniform(-1, 1, (N_ROWS, 3)), 3)
Y = X[:, 0] - X[:, 1] ** 2
NAMES = ["a", "b", "c"]
SCHEMAS = {
    "nothing": {},
    "bounds": {"bounds": dict.fromkeys(range(3), (-1, 1)), "label_bounds": (-2, 1)},
    "edges": {
        "edges": {position: [-0.5, 0.0, 0.5] for position in range(3)},
        "label_bounds": (-2, 1),
    },
}
GIVEN = {"noise_seed": 1, "n_estimators": 2, "epsilon": 20.0, "verbosity": -1}


class BrokenError(Exception):
    """What a source raises of its own."""


class RowStore:
    """Batches of rows, the same in each pass but in one.

    Parameters
    ----------
    sizes : list of int
        Of the batches.
    odd : int
        The pass that differs.
    change : callable
        From batches to batches.
    """

    def __init__(self, sizes, odd, change, labeled, frames):
        cuts = np.cumsum([0, *sizes])
        self.pairs = [(X[a:b], Y[a:b]) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
        self.odd, self.change = odd, change
        self.labeled, self.frames = labeled, frames
        self.n_passes = 0

    def __iter__(self):
        pairs = self.pairs
        if self.n_passes == self.odd:
            pairs = self.change(pairs)
        self.n_passes += 1
        self.last = pairs
        for rows, labels in pairs:
            if rows is None:
                raise BrokenError
            own = rows
            if self.frames and np.ndim(rows) == 2:
                own = pd.DataFrame(rows, columns=NAMES[: np.shape(rows)[1]])
            yield (own, labels) if self.labeled else own


CHANGES = {
    "nothing": lambda pairs: pairs,
    "order": lambda pairs: pairs[::-1],
    "rows": lambda pairs: [(rows[::-1], labels) for rows, labels in pairs],
    "labels": lambda pairs: [(rows, labels[::-1]) for rows, labels in pairs],
    "fewer": lambda pairs: pairs[:-1],
    "more": lambda pairs: [*pairs, pairs[0]],
    "many more": lambda pairs: pairs * 50,
    "none": lambda pairs: [],
    "type": lambda pairs: [(rows.astype("f4"), labels) for rows, labels in pairs],
    "integers": lambda pairs: [(np.rint(rows).astype(int), labels) for rows, labels in pairs],
    "objects": lambda pairs: [(rows.astype(object), labels) for rows, labels in pairs],
    "columns": lambda pairs: [(rows[:, :2], labels) for rows, labels in pairs],
    "columns of the last": lambda pairs: [*pairs[:-1], (pairs[-1][0][:, :2], pairs[-1][1])],
    "flat": lambda pairs: [(rows.ravel(), labels) for rows, labels in pairs],
    "no labels": lambda pairs: [(rows, None) for rows, labels in pairs],
    "short labels": lambda pairs: [(rows, labels[:-1]) for rows, labels in pairs],
    "error": lambda pairs: [*pairs[:-1], (None, None)],
    "empty": lambda pairs: [pair for each in pairs for pair in (each, (X[:0], Y[:0]))],
}


def sizes():
    return st.lists(st.integers(1, N_ROWS), min_size=1, max_size=6).map(
        lambda cuts: np.diff(sorted({0, *cuts, N_ROWS})).tolist()
    )


def text(rows, labels, schema):
    """The model of an estimator, or of ``train`` where labels come with the rows."""
    if labels is not None:
        model = DPBoostRegressor(**GIVEN, schema=schema).fit(rows, labels)
        return model.booster_.model_to_string()
    own = {"objective": "regression", **GIVEN, "schema": schema}
    return dpboost.train(own, rows, 2).model_to_string()


def outcome(train):
    """The model, or None for an error in the words of the library or of the source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return train()
        except (BrokenError, InvalidParameterError):
            return None


def named(schema, frames):
    if not frames:
        return schema
    return {
        key: {NAMES[position]: each for position, each in value.items()}
        if isinstance(value, dict)
        else value
        for key, value in schema.items()
    }


@given(
    sizes=sizes(),
    change=st.sampled_from(sorted(CHANGES)),
    odd=st.integers(0, 5),
    schema=st.sampled_from(sorted(SCHEMAS)),
    labeled=st.booleans(),
    frames=st.booleans(),
)
def test_a_source_that_changes_is_refused_or_gives_its_model(
    sizes, change, odd, schema, labeled, frames
):
    known = named(SCHEMAS[schema], frames)
    source = RowStore(sizes, odd, CHANGES[change], labeled, frames)

    given, labels = (Dataset(source), None) if labeled else (source, Y)
    found = outcome(lambda: text(given, labels, known))
    unchanged = change == "nothing" or source.n_passes <= odd
    if found is None:
        assert not unchanged
        return
    rows, own = X, Y
    if schema == "edges":
        # Read once: the rows are what the source gave, but for a first batch that was seen before.
        np.testing.assert_array_equal(source.last[0][0], source.pairs[0][0])
        rows = np.concatenate([each for each, _ in source.last])
        own = np.concatenate([each for _, each in source.last]) if labeled else Y
    table = pd.DataFrame(rows, columns=NAMES) if frames else rows
    assert found == outcome(lambda: text(Dataset(table, own) if labeled else table, labels, known))


@given(
    batch_size=st.integers(1, N_ROWS + 5),
    said=st.integers(0, N_ROWS + 20),
    more=st.integers(-3, 40),
    odd=st.integers(0, 8),
    parts=st.integers(1, 2),
    schema=st.sampled_from(sorted(SCHEMAS)),
)
def test_a_sequence_that_lies_is_refused_or_gives_its_model(
    batch_size, said, more, odd, parts, schema
):
    class Rows(lightgbm.Sequence):
        def __init__(self):
            self.batch_size, self.n_asked = batch_size, 0

        def __len__(self):
            return said

        def __getitem__(self, position):
            self.n_asked += 1
            wrong = more if self.n_asked == odd else 0
            return X[position.start : max(position.start, position.stop + wrong)]

    known = SCHEMAS[schema]
    source = [Rows() for _ in range(parts)]
    labels = np.tile(Y[: min(said, N_ROWS)], parts)
    found = outcome(lambda: text(source if parts > 1 else source[0], labels, known))
    table = np.tile(X[: min(said, N_ROWS)], (parts, 1))
    if found is not None:
        assert said <= N_ROWS
        assert found == outcome(lambda: text(table, labels, known))
    elif 0 < said <= N_ROWS:
        assert more != 0
        assert any(each.n_asked >= odd for each in source)
