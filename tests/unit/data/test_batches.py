"""Rows in batches: what counts as one, what it gives, and how often it can be read."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.batches import Batches
from dpboost.data.containers import is_batched, unpack

X = np.random.default_rng(0).normal(size=(20, 3))
Y = X[:, 0]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(target=Y, weight=np.abs(Y))


class Rows(lightgbm.Sequence):
    batch_size = 7

    def __getitem__(self, position):
        return X[position]

    def __len__(self):
        return len(X)


class Again:
    """An object that starts again each time."""

    def __init__(self, *parts):
        self.parts = parts
        self.n_reads = 0

    def __iter__(self):
        self.n_reads += 1
        return iter(self.parts)


@pytest.mark.parametrize(
    "source",
    [
        Rows(),
        [Rows(), Rows()],
        [X, X],
        (X,),
        [FRAME, FRAME],
        [(X, Y), (X, Y)],
        [(FRAME, Y, Y)],
        iter([X]),
        (part for part in [X]),
        Again(X, X),
    ],
)
def test_batches_are_told_from_tables(source):
    assert is_batched(source)


@pytest.mark.parametrize(
    "table",
    [
        X,
        X.tolist(),
        [tuple(row) for row in X],
        list(X),
        FRAME,
        scipy.sparse.csr_matrix(X),
        {"a": [1]},
        "file.csv",
        [],
        None,
        5,
        lightgbm.Dataset(X),
    ],
)
def test_tables_are_no_batches(table):
    assert not is_batched(table)


def joined(batches):
    return np.concatenate([np.asarray(batch.X) for batch in batches])


@pytest.mark.parametrize(
    ("source", "times"), [(Rows(), 1), ([Rows(), Rows()], 2), ([X, X.astype("f4")], 2)]
)
def test_they_are_read_in_their_order_and_again(source, times):
    batches = Batches(source)
    for _ in range(2):
        np.testing.assert_allclose(joined(batches), np.concatenate([X] * times), rtol=1e-6)
    assert batches.n_rows == 20 * times
    assert not batches.once
    assert not batches.labeled


def test_an_iterator_is_read_once_although_its_first_batch_was_looked_at():
    batches = Batches(iter([X[:5], X[5:]]))
    assert batches.once
    assert not batches.labeled
    np.testing.assert_array_equal(batches.first.X, X[:5])
    np.testing.assert_array_equal(joined(batches), X)
    with pytest.raises(InvalidParameterError, match="were read before"):
        list(batches)
    with pytest.raises(InvalidParameterError, match="some of the rows are chosen"):
        batches.take(np.arange(3))


@pytest.mark.parametrize(
    "batches",
    [
        Batches([(X[:5], Y[:5], np.abs(Y[:5])), (X[5:], Y[5:], np.abs(Y[5:]))]),
        Batches([FRAME[:5], FRAME[5:]], label="target", weight="weight"),
    ],
)
def test_labels_and_weights_come_with_the_rows(batches):
    assert batches.labeled
    labels, weights = batches.labels()
    np.testing.assert_array_equal(labels, Y)
    np.testing.assert_array_equal(weights, np.abs(Y))
    np.testing.assert_array_equal(joined(batches), X)


def test_labels_are_translated_together():
    batches = Batches([(X[:5], Y[:5]), (X[5:], Y[5:])])
    batches.read_labels = lambda labels: labels > 0
    np.testing.assert_array_equal(batches.labels()[0], Y > 0)
    assert batches.labels()[1] is None


@pytest.mark.parametrize("source", [[X[:5], X[5:]], [FRAME[:5], FRAME[5:]]])
def test_chosen_rows_come_in_the_order_asked_for(source):
    rows = np.array([17, 2, 4, 11])
    chosen = np.asarray(Batches(source).take(rows))
    np.testing.assert_array_equal(chosen[:, :3], X[rows])


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (Again(), {}, r"0 sample\(s\)"),
        ([X[:0]], {}, r"0 sample\(s\)"),
        ([(X, Y[:3])], {}, "as many labels and weights as rows"),
        ([(X, Y), (X,)], {}, "some without"),
        (Again((X, Y, Y, Y)), {}, "must be tables"),
        ([X], {"label": "target"}, "have no names"),
        ([FRAME], {"label": "missing"}, "'missing', which its batches do not have"),
        ([scipy.sparse.csr_matrix(X)], {}, "sparse matrices"),
    ],
)
def test_what_is_no_batch_is_refused(source, options, message):
    with pytest.raises(InvalidParameterError, match=message):
        Batches(source, **options).labels()


def test_arrow_sources_know_their_rows_and_read_the_label_alone(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.dataset
    import pyarrow.parquet

    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=6)
    for source in (
        pyarrow.dataset.dataset(tmp_path),
        pyarrow.parquet.ParquetFile(tmp_path / "rows.parquet"),
        table.to_batches(max_chunksize=6),
        [table],
    ):
        batches = Batches(source, label="target", weight="weight")
        assert not batches.once
        assert batches.n_rows == 20
        np.testing.assert_array_equal(batches.labels()[0], Y)
        np.testing.assert_array_equal(joined(batches).astype(float), X)
    reader = Batches(table.to_reader(max_chunksize=6), label="target")
    assert reader.once
    assert list(reader.first.X.columns) == ["a", "b", "c", "weight"]
    assert sum(batch.n_rows for batch in reader) == 20


class Lies(Rows):
    """Holds other numbers of rows than it says, all slices together or some of them."""

    def __init__(self, *slices):
        self.slices = slices

    def __getitem__(self, position):
        return X[self.slices[position.start // 7]] if isinstance(position, slice) else X[position]


@pytest.mark.parametrize(
    "source",
    [
        Lies(slice(0, 7), slice(7, 14), slice(14, 19)),
        Lies(slice(0, 7), slice(7, 14), slice(7, 14)),
        Lies(slice(0, 8), slice(8, 14), slice(14, 20)),
        Lies(slice(0, 20), slice(0, 20), slice(0, 20)),
    ],
)
def test_a_sequence_that_holds_other_rows_than_it_says_is_refused(source):
    reads = (lambda: list(Batches(source)), lambda: list(Batches([source])), lambda: unpack(source))
    for read in reads:
        with pytest.raises(InvalidParameterError, match="of type Lies, returns a wrong number"):
            read()


def test_slices_of_a_sequence_do_not_reach_beyond_its_end():
    asked = []

    class Asked(Rows):
        def __getitem__(self, position):
            asked.append(position)
            return X[position]

    np.testing.assert_array_equal(joined(Batches(Asked())), X)
    assert asked == [slice(0, 7), slice(7, 14), slice(14, 20)]


def test_a_source_whose_batches_run_out_is_refused():
    class RunsOut:
        def __init__(self):
            self.rest = iter([X[:5], X[5:10], X[10:]])

        def __iter__(self):
            return self.rest

    batches = Batches(RunsOut())
    assert batches.first.n_rows == 5
    with pytest.raises(InvalidParameterError, match="of type RunsOut"):
        list(batches)


def test_labels_that_were_seen_in_a_check_are_not_read_again():
    source = Again((X[:5], Y[:5]), (X[5:], Y[5:]))
    batches = Batches(source)
    assert batches.labeled
    seen = []
    batches.check(seen.append)
    assert [batch.n_rows for batch in seen] == [5, 15]
    np.testing.assert_array_equal(batches.labels()[0], Y)
    assert source.n_reads == 2
    np.testing.assert_array_equal(batches.labels()[0], Y)
    assert source.n_reads == 3


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (np.float64(3.0), "Expected 2D array"),
        (X[:, 0], "Expected 2D array"),
        ([[1.0], [2.0, 3.0]], "rows of equal length"),
        ((X, 5.0), "y should be a 1d array"),
        ((X, [[1], [2, 3]]), "y should be a 1d array"),
        (X * 1j, "omplex"),
    ],
)
def test_parts_that_are_no_tables_are_refused(part, message):
    with pytest.raises(InvalidParameterError, match=message):
        Batches(Again(part)).labels()


def test_labels_of_several_shapes_are_refused():
    source = Again((X[:5], Y[:5]), (X[5:], Y[5:, np.newaxis]))
    with pytest.raises(InvalidParameterError, match="labels of several shapes"):
        Batches(source).labels()


def test_empty_batches_are_passed_over():
    np.testing.assert_array_equal(joined(Batches(Again([], X[:5], X[:0], X[5:]))), X)
    for read in (Batches.labels, lambda batches: batches.first):
        with pytest.raises(InvalidParameterError, match="0 sample"):
            read(Batches(Again([], X[:0])))
