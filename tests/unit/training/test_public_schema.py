"""What is not declared: assumed, or learned at a price, and decided by public numbers only."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpboost import InvalidParameterError, Schema
from dpboost.data.table import read_table
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.queries import handle_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.raw_rows import RawRows
from dpboost.training.public_schema import (
    ASSUMED_BY_DEFAULT,
    ASSUMPTIONS,
    FALLBACK_LABEL_BOUNDS,
    AssumedPublicWarning,
    UndeclaredWarning,
    check_learnable,
    complete_schema,
    known_schema,
)
from tests.unit.ledgers import open_ledger

pytestmark = pytest.mark.filterwarnings("ignore")

DELTA = Fraction(1, 10**6)
TENTH = Fraction(1, 10)


def ledger(epsilon=Fraction(1), delta=DELTA, neighbors=Neighbors.ADD_REMOVE):
    return open_ledger(epsilon, delta, neighbors, accountant=PureAccountant(), seed=3)


def numeric(n_rows=3000, n_features=2):
    return np.random.default_rng(0).normal(size=(n_rows, n_features)) * 5


def nominal(n_rows=3000, extra=()):
    """A categorical column with two frequent categories, and some rare ones at the end."""
    values = [*("ab" * n_rows)[: n_rows - len(extra)], *extra]
    return pd.DataFrame({"job": pd.Categorical(values)})


def complete(
    X,
    y,
    records,
    *,
    task="regression",
    schema=None,
    assume_public=ASSUMED_BY_DEFAULT,
    n_bins=16,
    label_margin=None,
    nominal=(),
    counted=slice(None),
):
    table = read_table(X, schema=schema)
    resolved = Schema.coerce(schema).resolve(table.feature_names)
    known = known_schema(
        resolved,
        table.columns,
        task=task,
        assume_public=assume_public,
        ledger=records,
        assumed_classes=tuple(np.unique(y).tolist()),
        assumed_categories=table.categorical if "categories" in assume_public else {},
        nominal=frozenset(nominal),
        label_margin=label_margin,
    )
    if known.whole:
        return known.completed(records)
    return complete_schema(
        known,
        handle_of(RawRows(table=table, labels=np.asarray(y), counted=counted)),
        n_bins=n_bins,
        ledger=records,
        row_epsilon=float(records.epsilon),
    )


def categories_of(X, epsilon=Fraction(2), assume_public=()):
    """Learn the categories of a frame, and nothing of its labels."""
    known = {"label_bounds": (0, 1)}
    records = ledger(epsilon=epsilon)
    found = complete(X, np.zeros(len(X)), records, schema=known, assume_public=assume_public)
    assert found.learned == ("categories",)
    assert labels_of(records) == ["categories"]
    return found.schema.categories


def labels_of(records):
    return [entry.label for entry in records.entries]


def costs_by_label(records):
    costs: dict = {}
    for entry in records.entries:
        costs[entry.label] = costs.get(entry.label, 0) + entry.charge.cost
    return costs


# -- declared and assumed: nothing is drawn ----------------------------------------------------


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_what_is_declared_costs_nothing_and_is_kept(task):
    X, records = numeric(), ledger()
    schema = {
        "bounds": {0: (-1, 1)},
        "edges": {1: (0.0,)},
        "classes": [5, 3],
        "label_bounds": (0, 9),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        completed = complete(X, np.ones(3000), records, task=task, schema=schema, assume_public=())
    assert records.entries == ()
    assert completed.budget == 1
    assert completed.learned == completed.assumed == ()
    assert completed.schema.bounds == {0: (-1.0, 1.0)}
    assert completed.schema.edges == {1: (0.0,)}
    assert completed.schema.classes == (5, 3)
    assert completed.schema.label_bounds == (0.0, 9.0)


def test_column_types_and_classes_are_assumed_by_default_and_categories_are_learned():
    records = ledger()
    with pytest.warns(UndeclaredWarning, match="categories"):
        completed = complete(nominal(extra="z"), ["no", "yes"] * 1500, records, task="binary")
    assert labels_of(records) == ["categories"]
    assert completed.schema.classes == ("no", "yes")
    assert completed.schema.categories == {0: ("a", "b")}
    assert completed.assumed == ("column types", "set of class labels")
    assert completed.budget == Fraction(9, 10)


def test_lists_of_categories_are_assumed_where_the_user_says_so():
    records = ledger()
    with pytest.warns(AssumedPublicWarning) as caught:
        completed = complete(
            nominal(extra="z"),
            ["no", "yes"] * 1500,
            records,
            task="binary",
            assume_public=ASSUMPTIONS,
        )
    assert records.entries == ()
    assert completed.schema.categories == {0: ("a", "b", "z")}
    assert completed.assumed == ("column types", "category lists", "set of class labels")
    assert completed.budget == 1
    lists, classes = (str(warning.message) for warning in caught)
    assert "'job'" in lists
    assert "Schema(categories=...)" in lists
    assert "'no', 'yes'" in classes


@pytest.mark.parametrize("n_classes", [2, 20, 23])
def test_one_warning_lists_the_class_labels(n_classes):
    schema = {"bounds": {0: (0, 1), 1: (0, 1)}}
    with pytest.warns() as caught:
        complete(
            numeric(n_classes), range(100, 100 + n_classes), ledger(), task="many", schema=schema
        )
    (warning,) = caught
    assert warning.category is AssumedPublicWarning
    shown = ", ".join(map(str, range(100, 100 + min(n_classes, 20))))
    assert f"model: {shown}{' and 3 more' if n_classes == 23 else ''}. " in str(warning.message)


def test_nothing_is_assumed_about_the_labels_of_a_regression():
    completed = complete(numeric(), np.zeros(3000), ledger(), schema={"label_bounds": (0, 1)})
    assert completed.assumed == ("column types",)
    assert completed.schema.classes is None


def test_declared_categories_win_over_those_of_the_type():
    records = ledger()
    schema = {"categories": {"job": ["b", "q"]}, "label_bounds": (0, 1)}
    completed = complete(nominal(), np.zeros(3000), records, schema=schema)
    assert completed.schema.categories == {0: ("b", "q")}
    assert records.entries == ()


# -- bounds -------------------------------------------------------------------------------------


def test_bounds_are_powers_of_two_around_the_bulk_of_each_column():
    X, records = numeric(), ledger(epsilon=Fraction(100))
    X[0] = [1e12, -1e12]
    with pytest.warns(UndeclaredWarning):
        completed = complete(X, np.full(3000, 3.0), records)
    for low, high in completed.schema.bounds.values():
        assert {abs(low), abs(high)} <= {8.0, 16.0, 32.0}
    low, high = completed.schema.label_bounds
    assert 2.999 < low <= 3.0 <= high < 3.001
    assert completed.learned == ("label bounds", "bounds of 2 numeric columns")
    assert labels_of(records)[-2:] == ["feature bounds"] * 2
    assert set(labels_of(records)[:-2]) == {"label bounds"}


def warning_of(X, y, **options):
    with pytest.warns(UndeclaredWarning) as caught:
        complete(X, y, ledger(), **options)
    (warning,) = [each for each in caught if each.category is UndeclaredWarning]
    return str(warning.message)


def test_the_warning_names_the_columns():
    X = pd.concat([pd.DataFrame(numeric(), columns=["my age", "y"]), nominal()], axis=1)
    said = warning_of(X, [0, 1] * 1500, task="binary", assume_public=())
    assert "class labels, categories ('job'), bounds of 2 numeric columns ('my_age', 'y')." in said
    said = warning_of(X, [0, 1] * 1500, task="binary", schema={"bounds": {"y": (0, 1)}})
    assert "bounds of 1 numeric columns ('my_age')." in said


@pytest.mark.parametrize(("n_features", "more"), [(20, ""), (21, " and 1 more")])
def test_the_warning_names_the_first_of_many_columns(n_features, more):
    X = pd.DataFrame(numeric(n_features=n_features)).add_prefix("x")
    said = warning_of(X, np.zeros(3000), schema={"label_bounds": (0, 1)})
    names = ", ".join(f"'x{position}'" for position in range(20))
    assert f"of {n_features} numeric columns ({names}{more})." in said


@pytest.mark.parametrize("neighbors", Neighbors)
def test_learning_takes_a_tenth_in_equal_parts(neighbors):
    X = pd.concat([pd.DataFrame(numeric(), columns=["x", "y"]), nominal()], axis=1)
    records = ledger(Fraction(7, 3), neighbors=neighbors)
    with pytest.warns(UndeclaredWarning):
        completed = complete(X, [0, 1] * 1500, records, task="binary", assume_public=())
    part = Fraction(7, 30) / 3
    assert costs_by_label(records) == {
        "class labels": part,
        "categories": part,
        "feature bounds": part,
    }
    assert records.spent == Fraction(7, 30)
    assert completed.budget == Fraction(7, 3) * 9 / 10
    assert records.spent + completed.budget == records.epsilon
    assert [entry.charge.cost for entry in records.entries[-2:]] == [part / 2] * 2
    assert all(entry.scope == ("preparation",) for entry in records.entries)


def test_the_failure_probability_is_part_of_delta():
    records = ledger()
    with pytest.warns(UndeclaredWarning):
        complete(nominal(), [0, 1] * 1500, records, task="binary", assume_public=())
    assert [entry.charge.delta for entry in records.entries] == [DELTA / 10, DELTA / 10]
    assert records.delta_spent == DELTA / 5


# The least epsilon that is worth spending on one column is 1/250; a tenth of epsilon is shared
# with the label bounds.
@pytest.mark.parametrize(
    ("epsilon", "n_features", "expected"),
    [
        (Fraction(1), 12, "bounds of 12 numeric columns"),
        (Fraction(1), 13, "one common bound of 13 numeric columns"),
        (Fraction(2, 25), 1, "bounds of 1 numeric columns"),
        (Fraction(2, 25), 2, "one common bound of 2 numeric columns"),
        (Fraction(19, 250), 1, None),
        (Fraction(19, 250), 200, None),
        (math.inf, 200, "bounds of 200 numeric columns"),
    ],
)
@pytest.mark.parametrize("n_rows", [1, 400])
def test_each_common_or_public_grid_is_a_matter_of_public_numbers(
    epsilon, n_features, expected, n_rows
):
    for scale in (0.0, 1.0, 1e300):
        records = ledger(epsilon)
        X = numeric(n_rows, n_features) * scale
        completed = complete(X, np.zeros(n_rows), records)
        assert completed.learned == (("label bounds", expected) if expected else ("label bounds",))
        assert [label for label in labels_of(records) if label != "label bounds"] == {
            "b": ["feature bounds"] * n_features,
            "o": ["common feature bound"],
            "n": [],
        }[(expected or "none")[0]]
        if epsilon == math.inf:
            assert records.spent == math.inf
        else:
            assert records.spent <= epsilon / 10
            assert records.spent + completed.budget == epsilon


def test_only_undeclared_numeric_columns_are_counted():
    records = ledger()
    schema = {"bounds": {0: (0, 1)}, "edges": {1: (0.0,)}, "categories": {2: [0, 1]}}
    with pytest.warns(UndeclaredWarning):
        completed = complete(
            np.abs(numeric(n_features=4)).round(), np.ones(3000), records, schema=schema
        )
    assert completed.learned == ("label bounds", "bounds of 1 numeric columns")
    assert set(completed.schema.bounds) == {0, 3}


def test_a_common_bound_lays_one_grid_under_all_columns():
    X, records = numeric(n_features=30), ledger(epsilon=Fraction(2))
    with pytest.warns(UndeclaredWarning):
        completed = complete(X, np.ones(3000), records, n_bins=32)
    assert set(completed.schema.edges) == set(range(30))
    (edges,) = set(completed.schema.edges.values())
    bound = 32.0
    assert np.all(np.diff(edges) > 0)
    assert max(map(abs, edges)) < bound
    assert np.allclose(np.array(edges), -np.array(edges)[::-1])
    assert 8 <= len(edges) <= 31
    assert completed.schema.bounds == {}


def test_the_common_grid_grows_with_the_bound():
    grids = []
    for factor in (1.0, 1024.0):
        X = numeric(n_features=30) * factor
        completed = complete(X, np.ones(3000), ledger(epsilon=Fraction(2)), n_bins=32)
        grids.append(np.array(completed.schema.edges[0]))
    assert np.allclose(grids[1], grids[0] * 1024)


def test_rows_without_any_number_do_not_count_for_the_common_bound():
    X = np.full((3000, 30), np.nan)
    X[:1500, 7] = 3.0
    with pytest.warns(UndeclaredWarning):
        completed = complete(X, np.ones(3000), ledger(epsilon=Fraction(2)), n_bins=32)
    (edges,) = set(completed.schema.edges.values())
    assert max(edges) < 4.0


@pytest.mark.parametrize("n_features", [2, 30])
@pytest.mark.parametrize("rows", [np.full((3, 1), np.nan), np.ones((1, 1)), np.zeros((2, 1))])
def test_where_nothing_passes_there_is_a_public_fallback(n_features, rows):
    records = ledger()
    completed = complete(np.tile(rows, n_features), np.zeros(len(rows)), records)
    assert completed.schema.label_bounds == FALLBACK_LABEL_BOUNDS
    assert completed.schema.bounds == {}
    assert completed.schema.edges == {}
    # Where labels have no magnitude there is nothing to look into.
    assert records.spent == TENTH * 3 / 4
    assert records.spent + completed.budget == 1


def test_labels_that_are_all_zero_get_the_fallback_bounds_too():
    with pytest.warns(UndeclaredWarning):
        completed = complete(numeric(), np.zeros(3000), ledger(epsilon=Fraction(50)))
    assert completed.schema.label_bounds == FALLBACK_LABEL_BOUNDS


LABELS = {
    "years": (lambda g: 1975 + g.uniform(-35, 35, 20_000), 300),
    "an offset": (lambda g: 1e9 + g.normal(0, 3, 20_000), 100),
    "negative years": (lambda g: -1975 + g.uniform(-35, 35, 20_000), 300),
    "tiny": (lambda g: 1e-9 * g.normal(0, 3, 20_000), 1e-7),
    "huge": (lambda g: 1e12 * g.normal(10, 3, 20_000), 1.2e14),
    "two clusters": (lambda g: g.choice([-5000.0, 1000.0], 20_000), 10_000),
    "mostly zero": (lambda g: 100.0 * (g.random(20_000) < 0.1), 200),
}


@pytest.mark.parametrize("name", LABELS)
def test_learned_label_bounds_are_near_the_labels(name):
    make, widest = LABELS[name]
    y, records = make(np.random.default_rng(0)), ledger()
    low, high = complete(numeric(20_000), y, records).schema.label_bounds
    assert high - low < widest
    assert np.mean((y >= low) & (y <= high)) > 0.98
    assert records.spent <= TENTH


def look(y, records, bounds=(-200.0, 200.0), max_rows=None, **options):
    """Complete a schema with declared bounds for a loss that asks for the labels' range."""
    schema = {"label_bounds": bounds, "bounds": dict.fromkeys(range(2), (-50, 50))}
    schema["max_rows"] = max_rows
    return complete(numeric(len(y)), y, records, schema=schema, label_margin=1.0, **options)


@pytest.mark.parametrize("neighbors", Neighbors)
def test_a_loss_may_look_for_labels_inside_declared_bounds(neighbors):
    y, records = np.random.default_rng(0).normal(0, 3, 20_000), ledger(neighbors=neighbors)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        completed = look(y, records)
    low, high = completed.schema.label_bounds
    assert -60 < low < -15
    assert 15 < high < 60
    assert 10 < completed.label_spread < 30
    assert completed.learned == ("range of labels inside their bounds",)
    assert set(labels_of(records)) == {"label range"}
    assert completed.budget == 1 - records.spent


def test_a_loss_looks_inside_learned_bounds_as_well():
    y, records = 1e5 + np.random.default_rng(0).normal(0, 3, 20_000), ledger()
    completed = complete(numeric(len(y)), y, records, label_margin=1.0)
    low, high = completed.schema.label_bounds
    assert 1e5 - 60 < low < 1e5 - 10
    assert 1e5 + 10 < high < 1e5 + 60
    assert completed.learned[0] == "label bounds"
    assert completed.learned[-1] == "range of labels inside their bounds"
    assert completed.budget == 1 - records.spent


def test_declared_label_bounds_stay_where_there_are_few_rows():
    records = ledger()
    completed = look(np.full(5, 3.0), records, max_rows=5)
    assert completed.schema.label_bounds == (-200.0, 200.0)
    assert completed.label_spread is None
    assert completed.learned == ()
    assert labels_of(records) == ["label range"]
    assert records.spent == Fraction(1, 50)
    assert completed.budget == 1 - records.spent


def test_labels_outside_declared_bounds_stay_outside():
    completed = look(np.full(3000, 7.0), ledger(epsilon=Fraction(50)), bounds=(0.0, 1.0))
    low, high = completed.schema.label_bounds
    assert 0.9 < low < high == 1.0


# -- classes and categories -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "frequent",
    [[0, 1], [0.0, 1.0], [False, True], ["no", "yes"]],
    ids=["int", "float", "bool", "text"],
)
def test_frequent_classes_are_learned_and_a_single_one_is_not(frequent):
    rare = "maybe" if isinstance(frequent[0], str) else 7
    records = ledger(epsilon=Fraction(2))
    labels = np.array([*frequent * 1500, rare])
    completed = complete(numeric(3001), labels, records, task="binary", assume_public=())
    assert completed.schema.classes == tuple(frequent)
    assert completed.assumed == ()
    assert completed.learned[0] == "class labels"


@pytest.mark.parametrize("others", [[], [2], [2.0], [True], [7.0], [-(2**62)]], ids=str)
@pytest.mark.parametrize("frequent", [[0, 1], [False, True]], ids=str)
def test_the_type_of_learned_classes_does_not_tell_about_one_row(frequent, others):
    """Lists of mixed numbers become arrays whose type depends on every single one of them."""
    labels = np.asarray(frequent * 1500 + others)
    completed = complete(
        numeric(len(labels)), labels, ledger(epsilon=Fraction(2)), task="binary", assume_public=()
    )
    assert repr(completed.schema.classes) == "(0, 1)"


@pytest.mark.parametrize("others", [[], [0.5], [7], [-3.0], ["x"]], ids=str)
@pytest.mark.parametrize("frequent", [(1, 2), (1, 2.5)], ids=str)
def test_the_types_of_learned_categories_do_not_tell_about_one_row(frequent, others):
    """Neither do their types tell, nor their order, which depends on types in mixed lists."""
    X = pd.DataFrame({"code": [*frequent * 1500, *others]}).astype("category")
    assert repr(categories_of(X)) == f"{{0: {frequent}}}"


@pytest.mark.parametrize(
    ("values", "epsilon", "expected"),
    [
        (["a", "b"] * 1250 + ["z"] + [None] * 500, 2, ("a", "b")),
        ([0.5, 1.0] * 1500, 2, (0.5, 1)),
        ([1.0, math.inf, 2.5] * 1000, math.inf, (1, 2.5)),
        (["a", "b", "a"], 1, ()),
    ],
    ids=["frequent ones, not missing cells", "fractions", "no infinite numbers", "none passes"],
)
def test_frequent_categories_are_learned(values, epsilon, expected):
    found = categories_of(pd.DataFrame({"x": pd.Categorical(values)}), epsilon)
    assert repr(found) == f"{{0: {expected}}}"


def test_what_the_type_lists_and_no_row_holds_is_not_learned():
    """Names of absent rows would otherwise come out by noise alone."""
    column = pd.Categorical(["a", "b"] * 1500, categories=["unused", "b", "a", "spare"])
    found = categories_of(pd.DataFrame({"job": column}), math.inf, ASSUMED_BY_DEFAULT)
    assert found == {0: ("a", "b")}


def test_lists_longer_than_the_codes_of_a_column_of_numbers():
    names = [f"person {number}" for number in range(70_000)]
    column = pd.Categorical([*names, *["zoe"] * 3000], categories=[*names, "zoe"])
    assert categories_of(pd.DataFrame({"name": column}), 2, ASSUMED_BY_DEFAULT) == {0: ("zoe",)}


@pytest.mark.parametrize("assumed", [(), ("classes",), ("column_types",), ("categories",)])
def test_each_assumption_is_on_its_own(assumed):
    records = ledger()
    with pytest.warns(UndeclaredWarning):
        completed = complete(
            nominal(), [0, 1] * 1500, records, task="binary", assume_public=assumed
        )
    expected = []
    if "classes" not in assumed:
        expected.append("class labels")
    if "categories" not in assumed:
        expected.append("categories")
    assert list(completed.learned) == labels_of(records) == expected


# -- refusals and warnings -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "named"), [("binary", r"Schema\(classes="), ("regression", r"Schema\(categories=")]
)
def test_without_delta_learning_is_refused_before_anything_is_drawn(task, named):
    records = ledger(delta=0)
    with pytest.raises(InvalidParameterError, match=named):
        complete(nominal(), [0, 1] * 1500, records, task=task, assume_public=())
    assert records.entries == ()
    assert records.spent == 0


def test_the_refusal_names_the_columns_and_the_cures():
    X = pd.DataFrame({"town": ["x"], "size": [1.0], "name of person": ["secret"], "code": [3.0]})
    X = X.astype({"town": "category", "name of person": "category"})
    table = read_table(X)
    facts = table.columns
    request = {"task": "regression", "assume_public": ASSUMED_BY_DEFAULT, "epsilon": Fraction(1)}

    def error(schema, nominal=(), **more):
        with pytest.raises(InvalidParameterError) as caught:
            check_learnable(
                Schema.coerce(schema).resolve(table.feature_names),
                facts,
                nominal=frozenset(nominal),
                delta=0,
                **request | more,
            )
        return str(caught.value)

    message = error(None)
    assert "Undeclared: 'town', 'name_of_person'. " in message
    assert "secret" not in message
    for cure in ("Schema(categories=...)", "delta > 0", "assume_public name 'categories'"):
        assert cure in message
    assert "Undeclared: 'name_of_person'. " in error({"categories": {"town": ["x"]}})
    # Codes in a column of numbers have no list that could be assumed.
    message = error({"categories": {0: ["x"], 2: ["y"]}}, nominal=[3])
    assert "Undeclared: 'code'. " in message
    assert "assume_public" not in message
    assert "'code'" in error(None, nominal=[3], assume_public=ASSUMPTIONS)
    resolved = Schema().resolve(table.feature_names)
    for allowed in (
        {"assume_public": ASSUMPTIONS, "delta": 0},
        {"delta": 1e-9},
        {"delta": 0, "epsilon": math.inf},
    ):
        check_learnable(resolved, facts, nominal=frozenset(), **request | allowed)


def test_without_noise_no_delta_is_needed():
    records = ledger(epsilon=math.inf, delta=0)
    completed = complete(nominal(), [0, 1] * 1500, records, task="binary", assume_public=())
    assert completed.schema.classes == (0, 1)
    assert completed.schema.categories == {0: ("a", "b")}


@pytest.mark.parametrize(
    ("task", "n_features", "arguments"),
    [
        ("regression", 2, "bounds, label_bounds"),
        ("regression", 60, "bounds, label_bounds"),
        ("binary", 2, "bounds, classes"),
    ],
)
def test_one_warning_names_what_to_declare(task, n_features, arguments):
    with pytest.warns() as caught:
        complete(numeric(500, n_features), [0, 1] * 250, ledger(), task=task, assume_public=())
    (warning,) = caught
    assert warning.category is UndeclaredWarning
    assert f"in the schema to save it: {arguments}." in str(warning.message)
    assert "500" not in str(warning.message)


def test_the_warning_is_the_same_for_any_rows():
    messages = set()
    for n_rows, scale in ((1, 1.0), (700, 1e9), (31, 0.0)):
        with pytest.warns(UndeclaredWarning) as caught:
            complete(numeric(n_rows) * scale, np.ones(n_rows), ledger())
        messages |= {str(warning.message) for warning in caught}
    assert len(messages) == 1


# -- columns of numbers that hold categories, and rows that are a sample ------------------------


def test_categories_in_columns_of_numbers_are_learned():
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, 2000).astype(float)
    codes[:5] = [-1, 0.5, np.nan, 7e9, np.inf]
    X = np.column_stack([random.normal(size=2000), codes])
    with pytest.warns(UndeclaredWarning, match="categories"):
        completed = complete(
            X, np.zeros(2000), ledger(Fraction(20)), schema={"label_bounds": (0, 1)}, nominal={1}
        )
    assert completed.schema.categories == {1: (0, 1, 2)}
    assert list(completed.schema.bounds) == [0]
    assert "categories" in completed.learned


def test_histograms_count_the_rows_they_are_told_to():
    X = np.column_stack([np.zeros(3000), np.repeat([3.0, 4.0], 1500)])
    known = {"label_bounds": (0, 1), "bounds": {0: (0, 1)}}
    with pytest.warns(UndeclaredWarning):
        completed = complete(
            X,
            np.zeros(3000),
            ledger(Fraction(20)),
            schema=known,
            nominal={1},
            counted=np.arange(1501),
        )
    assert completed.schema.categories == {1: (3,)}


def test_the_set_of_classes_is_that_of_all_rows():
    table = read_table(np.zeros((4, 1)))
    known = known_schema(
        Schema(bounds={0: (0, 1)}).resolve(table.feature_names),
        table.columns,
        task="classification",
        assume_public=ASSUMED_BY_DEFAULT,
        ledger=ledger(),
        assumed_classes=(0, 1, 2),
    )
    assert known.whole
    assert known.completed(ledger()).schema.classes == (0, 1, 2)


# -- types of columns -----------------------------------------------------------------------------


def typed(n_rows=3000):
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": random.integers(17, 91, n_rows),
            "flag": random.random(n_rows) < 0.5,
            "mass": random.normal(size=n_rows),
        }
    )


def test_types_say_which_columns_hold_whole_numbers_and_flags_cost_nothing():
    records = ledger()
    done = complete(typed(), np.zeros(3000), records, schema={"label_bounds": (0, 1)})
    assert done.schema.integer == {0, 1}
    assert done.schema.bounds[1] == (0.0, 1.0)
    assert done.learned == ("bounds of 2 numeric columns",)
    only_flags = ledger()
    complete(typed()[["flag"]], np.zeros(3000), only_flags, schema={"label_bounds": (0, 1)})
    assert only_flags.spent == 0


def test_without_the_assumption_types_say_nothing():
    for declared, whole in ((None, set()), (["age"], {0})):
        schema = {"label_bounds": (0, 1), "integer": declared}
        done = complete(
            typed(), np.zeros(3000), ledger(), schema=Schema.coerce(schema), assume_public=()
        )
        assert done.schema.integer == whole
        assert done.learned == ("bounds of 3 numeric columns",)


def test_what_is_declared_of_a_flag_comes_first():
    schema = {"bounds": {"age": (0, 99), "flag": (0, 4), "mass": (-5, 5)}, "label_bounds": (0, 1)}
    done = complete(typed(), np.zeros(3000), ledger(), schema=schema)
    assert done.schema.bounds == {0: (0, 99), 1: (0, 4), 2: (-5, 5)}
    listed = {"categories": {"flag": [0, 1]}, "edges": {"age": [3.5]}, "bounds": {"mass": (0, 1)}}
    done = complete(typed(), np.zeros(3000), ledger(), schema={**listed, "label_bounds": (0, 1)})
    assert done.schema.bounds == {2: (0, 1)}


@pytest.mark.parametrize("cell", [3, 3.5, np.nan, True])
def test_undeclared_types_count_where_they_are_assumed(cell):
    # What pandas.read_csv would make of the cells: the type of the whole column.
    table = (
        pd.DataFrame({"visits": [*range(40), cell]})
        .convert_dtypes()
        .astype("int64" if isinstance(cell, int) else "float64")
    )
    declared = {"bounds": {"visits": (0, 50)}, "label_bounds": (0, 1)}
    assumed = complete(table, np.zeros(41), ledger(), schema=declared)
    assert assumed.assumed == ("column types",)
    assert assumed.schema.integer == (frozenset({0}) if isinstance(cell, int) else frozenset())
    for given, integer in ((declared, frozenset()), (declared | {"integer": ["visits"]}, {0})):
        done = complete(table, np.zeros(41), ledger(), schema=given, assume_public=())
        assert done.assumed == ()
        assert done.schema.integer == integer
