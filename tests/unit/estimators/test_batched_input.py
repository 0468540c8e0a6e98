"""Training from batches: the same models, as few passes as can be, and clear refusals."""

import tracemalloc

import lightgbm
import numpy as np
import pandas as pd
import pytest

import dpboost
from dpboost import Dataset, DPBoostClassifier, DPBoostRegressor, InvalidParameterError
from dpboost.recipes import ALGORITHMS
from dpboost.training.privacy_params import NotPrivateWarning
from dpboost.training.public_schema import ASSUMPTIONS, UndeclaredWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore", category=NotPrivateWarning),
    pytest.mark.filterwarnings("ignore", category=UndeclaredWarning),
]

X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
Y = X[:, 0] + X[:, 1] ** 2
BOUNDS = {"bounds": dict.fromkeys(range(3), (-1, 1)), "label_bounds": (-1, 2)}
EDGES = {"edges": {position: [-0.5, 0.0, 0.5] for position in range(3)}, "label_bounds": (-1, 2)}
GIVEN = {"noise_seed": 1, "n_estimators": 6, "verbosity": -1}


class Rows(lightgbm.Sequence):
    """Counts how many rows are asked for."""

    batch_size = 64

    def __init__(self, values=X):
        self.values = values
        self.n_read = 0

    def __getitem__(self, position):
        found = self.values[position]
        self.n_read += len(found)
        return found

    def __len__(self):
        return len(self.values)


class Again:
    """Gives its batches as often as one likes, and counts."""

    def __init__(self, *arrays):
        self.arrays = arrays
        self.n_reads = 0

    def __iter__(self):
        self.n_reads += 1
        for start in range(0, 300, 64):
            parts = tuple(array[start : start + 64] for array in self.arrays)
            yield parts if len(parts) > 1 else parts[0]


def text(X, y=Y, **options):
    return DPBoostRegressor(**GIVEN, **options).fit(X, y).booster_.model_to_string()


@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("schema", [None, BOUNDS, EDGES])
@pytest.mark.parametrize(
    "source",
    [lambda: Rows(), lambda: [X[:7], X[7:]], lambda: Again(X), lambda: [Rows(X[:9]), Rows(X[9:])]],
    ids=["sequence", "arrays", "iterable", "sequences"],
)
def test_the_model_is_that_of_the_whole_table(source, schema, recipe):
    options = {"schema": schema, "recipe": recipe}
    assert text(source(), **options) == text(X, **options)


@pytest.mark.parametrize(("schema", "passes"), [(EDGES, 1), (BOUNDS, 2), (None, 3)])
def test_what_is_learned_of_columns_costs_a_pass(schema, passes):
    rows = Rows()
    text(rows, schema=schema, epsilon=50.0)
    # The first slice is looked at before, for its columns.
    assert rows.n_read == 300 * passes + 64


def parameters(**more):
    return dict(objective="regression", **GIVEN, **more)


def whole(schema, **options):
    data = Dataset(X, Y, **options)
    return dpboost.train(parameters(schema=schema), data, 6).model_to_string()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (lambda: iter(Again(X, Y)), {}),
        (lambda: Again(X, Y), {}),
        (lambda: iter(Again(X)), {"label": Y}),
        (lambda: Again(X), {"label": Y}),
    ],
)
def test_datasets_of_batches_with_labels_and_without(source, names):
    trained = dpboost.train(parameters(schema=EDGES), Dataset(source(), **names), 6)
    assert trained.model_to_string() == whole(EDGES)


def test_weights_in_batches_are_those_of_the_rows():
    weight = np.abs(X[:, 2])
    trained = dpboost.train(parameters(schema=EDGES), Dataset(iter(Again(X, Y, weight))), 6)
    assert trained.model_to_string() == whole(EDGES, weight=weight)
    with pytest.raises(InvalidParameterError, match="sample_weight is given as well"):
        dpboost.train(parameters(schema=EDGES), Dataset(Again(X, Y, weight), weight=weight), 6)


def test_frames_and_arrow_name_their_label(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.dataset
    import pyarrow.parquet

    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(target=Y, weight=np.abs(Y))
    edges = {"edges": {name: [-0.5, 0.0, 0.5] for name in "abc"}, "label_bounds": (-1, 2)}
    bounds = {"bounds": dict.fromkeys("abc", (-1, 1))}
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=70)
    named = {"label": "target", "weight": "weight"}
    for schema, sources in (
        (edges, [table.to_reader(max_chunksize=50)]),
        (bounds, [table.to_batches(), pyarrow.dataset.dataset(tmp_path), [frame[:9], frame[9:]]]),
    ):
        data = Dataset(frame[["a", "b", "c"]], Y, weight=np.abs(Y))
        expected = dpboost.train(parameters(schema=schema), data, 6).model_to_string()
        for source in sources:
            trained = dpboost.train(parameters(schema=schema), Dataset(source, **named), 6)
            assert trained.model_to_string() == expected


def test_classes_categories_and_users_come_in_batches_too():
    frame = pd.DataFrame({"x": X[:, 0], "kind": pd.Categorical(np.where(X[:, 1] > 0, "p", "n"))})
    labels = np.where(Y > 0.3, "yes", "no")
    schema = {"bounds": {"x": (-1, 1)}}
    model = DPBoostClassifier(schema=schema, rows_per_user=2, **GIVEN)
    expected = model.fit(frame, labels, user_ids=np.arange(300) // 3).booster_.model_to_string()
    model.fit([frame[:100], frame[100:]], labels, user_ids=np.arange(300) // 3)
    assert model.booster_.model_to_string() == expected
    assert model.predict(frame).shape == (300,)


def test_a_model_is_continued_on_batches():
    first = DPBoostRegressor(schema=EDGES, **GIVEN).fit(X, Y)
    model = DPBoostRegressor(schema=EDGES, **GIVEN)
    expected = model.fit(X, Y, init_model=first).booster_.model_to_string()
    assert model.fit(Rows(), Y, init_model=first).booster_.model_to_string() == expected


def test_a_model_is_continued_under_names_given_to_fit():
    first = DPBoostRegressor(schema=EDGES, **GIVEN).fit(X, Y)
    schema = {"edges": {name: [-0.5, 0.0, 0.5] for name in "abc"}, "label_bounds": (-1, 2)}
    model = DPBoostRegressor(schema=schema, **GIVEN)
    model.fit(X, Y, init_model=first, feature_name=["a", "b", "c"])
    assert model.booster_.num_trees() == 12


def test_cross_validation_reads_batches():
    own = parameters(schema=EDGES)
    expected = dpboost.cv(own, Dataset(X, Y), 6, nfold=2)
    assert dpboost.cv(own, Dataset(Again(X, Y)), 6, nfold=2) == expected
    with pytest.raises(InvalidParameterError, match="gives its rows once"):
        dpboost.cv(own, Dataset(iter(Again(X, Y))), 6, nfold=2)


def test_a_dataset_of_batches_counts_and_divides_its_rows():
    data = Dataset(Again(X, Y))
    assert (data.num_data(), data.num_feature()) == (300, 3)
    part = data.subset([70, 3])
    np.testing.assert_array_equal(part.data, X[[3, 70]])
    np.testing.assert_array_equal(part.label, Y[[3, 70]])


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        (None, {}, "bounds of features are learned"),
        (BOUNDS, {}, "learns bins between the bounds"),
        ({"edges": {0: [0.0], 1: [0.0]}}, {}, "bounds of features are learned"),
        (EDGES, {"rows_per_user": 2}, "rows_per_user draws a sample first"),
    ],
)
def test_an_iterator_is_refused_where_it_would_be_read_again(schema, options, message):
    model = DPBoostRegressor(schema=schema, **options, **GIVEN)
    with pytest.raises(InvalidParameterError, match=message) as found:
        model.fit(iter(Again(X)), Y)
    assert "can be read again" in str(found.value)


def test_an_iterator_suffices_for_recipes_with_equal_bins():
    options = {"schema": BOUNDS, "recipe": "dpboost"}
    assert text(iter(Again(X)), **options) == text(X, **options)


def test_an_iterator_serves_one_fit():
    data = Dataset(iter(Again(X, Y)))
    dpboost.train(parameters(schema=EDGES), data, 6)
    with pytest.raises(InvalidParameterError, match="were read before"):
        dpboost.train(parameters(schema=EDGES), data, 6)


@pytest.mark.parametrize("once", [False, True])
def test_negative_weights_in_a_batch_are_refused_before_anything_is_drawn(once, no_release):
    batches = Again(X, Y, np.where(np.arange(300) == 299, -1.0, 1.0))
    data = Dataset(iter(batches) if once else batches)
    with pytest.raises(InvalidParameterError, match="must not be negative"):
        dpboost.train(parameters(schema=EDGES, max_weight=1.0), data, 6)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([X[:100], X[100:, :2]], "same number of columns"),
        (
            [pd.DataFrame(X[:9], columns=list("abc")), pd.DataFrame(X[9:], columns=list("abd"))],
            "same names of columns",
        ),
        (
            [pd.DataFrame({"k": pd.Series([1] * 9, dtype=kind)}) for kind in ("int", "category")],
            "'k' has another type",
        ),
        (Again(X, Y), "y is given as well"),
    ],
)
def test_batches_that_do_not_fit_are_refused_before_anything_is_drawn(source, message, no_release):
    with pytest.raises(InvalidParameterError, match=message):
        DPBoostRegressor(**GIVEN).fit(source, Y)


def test_lists_that_are_assumed_public_are_the_same_in_all_batches():
    source = [pd.DataFrame({"k": pd.Categorical([v] * 150)}) for v in "ab"]
    with pytest.raises(InvalidParameterError, match="'k' has another type or other categories"):
        DPBoostRegressor(assume_public=ASSUMPTIONS, **GIVEN).fit(source, Y)


def test_batches_that_list_other_categories_are_learned_together():
    kind = np.where(X[:, 1] > 0, "p", "n")
    whole = pd.DataFrame({"kind": pd.Categorical(kind)})
    order = np.argsort(kind)
    parts = [whole.iloc[order[:180]], whole.iloc[order[180:]]]
    parts = [part.assign(kind=part.kind.cat.remove_unused_categories()) for part in parts]
    assert len({part.kind.dtype for part in parts}) == 2
    for more in ({}, {"rows_per_user": 1}):
        users = {"user_ids": np.arange(300)} if more else {}
        model = DPBoostRegressor(schema={"label_bounds": (-1, 2)}, **GIVEN, **more)
        expected = model.fit(whole.iloc[order], Y[order], **users).booster_.model_to_string()
        assert model.fit(parts, Y[order], **users).booster_.model_to_string() == expected
        assert model.booster_.pandas_categorical == [["n", "p"]]


def test_batches_of_arrow_dictionaries_are_learned_together():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    kind = np.where(X[:, 1] > 0, "p", "n")
    parts = [
        pa.table({"kind": pa.array(part).dictionary_encode()}) for part in (kind[:9], kind[9:])
    ]
    schema = {"label_bounds": (-1, 2)}
    model = DPBoostRegressor(schema=schema, **GIVEN).fit(parts, Y)
    assert model.booster_.pandas_categorical == [["n", "p"]]
    assert set(map(len, model.ensemble_.binner.labels.values())) == {2}


def test_labels_without_batches_of_them_name_no_column():
    with pytest.raises(InvalidParameterError, match="only where the rows come in batches"):
        Dataset(X, "target")
    with pytest.raises(InvalidParameterError, match="has no labels"):
        dpboost.train(parameters(), Dataset(Again(X)), 6)


class Generated(lightgbm.Sequence):
    """Rows that exist while they are looked at."""

    batch_size = 4096

    def __getitem__(self, position):
        n_rows = len(range(*position.indices(len(self)))) if isinstance(position, slice) else 1
        return np.random.default_rng(0).uniform(-1, 1, (n_rows, 40))

    def __len__(self):
        return 100_000


def test_the_rows_of_batches_are_never_all_in_memory():
    rows = Generated()
    labels = np.zeros(len(rows))
    schema = {"bounds": dict.fromkeys(range(40), (-1, 1)), "label_bounds": (-1, 1)}
    model = DPBoostRegressor(schema=schema, n_estimators=2, verbosity=-1)
    tracemalloc.start()
    model.fit(rows, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    in_doubles = 8 * 40 * len(rows)
    assert peak < in_doubles / 2


@pytest.mark.parametrize(("schema", "passes"), [(EDGES, 1), (BOUNDS, 3), (None, 4)])
def test_labels_are_read_together_with_the_rows(schema, passes):
    source = Again(X, Y)
    dpboost.train(parameters(schema=schema, epsilon=50.0), Dataset(source), 6)
    # The first batch is looked at before, for its columns.
    assert source.n_reads == passes + 1


class Listed(Again):
    """Gives what it was given."""

    def __iter__(self):
        self.n_reads += 1
        return iter(self.arrays)


def test_batches_of_one_type_are_read_once_where_bins_are_public():
    source = [X[:7], X[7:]]
    expected = text(X, schema=EDGES)
    assert text(source, schema=EDGES) == expected
    frames = [pd.DataFrame(part, columns=["a", "b", "c"]) for part in source]
    schema = {"edges": {name: [-0.5, 0.0, 0.5] for name in "abc"}, "label_bounds": (-1, 2)}
    again = Listed(*frames)
    assert text(again, schema=schema) == text(pd.concat(frames), schema=schema)
    assert again.n_reads == 2


class Shuffles(Again):
    """Gives its rows in another order each time."""

    def __iter__(self):
        order = np.random.default_rng(self.n_reads).permutation(300)
        self.n_reads += 1
        for start in range(0, 300, 64):
            parts = tuple(array[order[start : start + 64]] for array in self.arrays)
            yield parts if len(parts) > 1 else parts[0]


class ShufflesSlices(Rows):
    """Gives its rows in another order each time that it is begun."""

    def __getitem__(self, position):
        if position.start == 0:
            self.values = np.random.default_rng(self.n_read).permutation(self.values)
        return super().__getitem__(position)


@pytest.mark.parametrize("schema", [None, BOUNDS, EDGES])
def test_rows_in_another_order_each_time_are_refused(schema):
    for source, labels in (
        (Shuffles(X), Y),
        (ShufflesSlices(), Y),
        ([ShufflesSlices(), ShufflesSlices()], np.tile(Y, 2)),
    ):
        with pytest.raises(InvalidParameterError, match="returned different rows"):
            text(source, labels, schema=schema)
    with pytest.raises(InvalidParameterError, match="of type Shuffles, returned different rows"):
        dpboost.train(parameters(schema=schema), Dataset(Shuffles(X, Y)), 6)
    with pytest.raises(InvalidParameterError, match="of type Shuffles, returned different rows"):
        dpboost.cv(parameters(schema=schema), Dataset(Shuffles(X, Y)), 6, nfold=2)


def test_shuffled_rows_that_come_once_with_their_labels_are_taken():
    order = np.random.default_rng(0).permutation(300)
    trained = dpboost.train(parameters(schema=EDGES), Dataset(iter(Shuffles(X, Y))), 6)
    expected = dpboost.train(parameters(schema=EDGES), Dataset(X[order], Y[order]), 6)
    assert trained.model_to_string() == expected.model_to_string()


def test_a_pass_that_differs_later_ends_the_fit_without_a_model():
    class Later(Again):
        def __iter__(self):
            for number, part in enumerate(super().__iter__()):
                yield part[::-1] if self.n_reads > 3 and number > 1 else part

    model = DPBoostRegressor(**GIVEN)
    with pytest.raises(InvalidParameterError, match="all releases remain charged"):
        model.fit(Later(X), Y)
    assert not getattr(model, "fitted_", False)


def test_an_iterator_in_a_dataset_of_lightgbm_keeps_its_first_batch():
    data = lightgbm.Dataset(iter(Again(X, Y)), free_raw_data=False)
    trained = dpboost.train(parameters(schema=EDGES), data, 6)
    assert trained.model_to_string() == whole(EDGES)


WHOLE = np.random.default_rng(3).integers(0, 30, (300, 3))


@pytest.mark.parametrize("recipe", ["best", "dpboost"])
@pytest.mark.parametrize("flags", [False, True])
@pytest.mark.parametrize("types", [("column_types",), ()])
def test_types_are_those_of_the_whole_table(recipe, flags, types):
    rows = WHOLE > 9 if flags else WHOLE
    schema = {"label_bounds": (-1, 2)}
    if not flags:
        schema["bounds"] = dict.fromkeys(range(3), (0, 40))
    options = {"recipe": recipe, "assume_public": types, "schema": schema}
    found = [text(source, **options) for source in (rows, [rows[:7], rows[7:]], Again(rows))]
    assert found[0] == found[1] == found[2]
    assert (found[0] == text(rows.astype(float), **options)) == (not types)


def test_an_iterator_of_flags_is_enough_as_nothing_of_them_is_learned():
    flags = WHOLE > 9
    once = ((flags[i : i + 64], Y[i : i + 64]) for i in range(0, 300, 64))
    schema = {"label_bounds": (-1, 2)}
    model = DPBoostRegressor(**GIVEN, schema=schema).fit(once, None)
    assert model.booster_.model_to_string() == text(flags, schema=schema)
