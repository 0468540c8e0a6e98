"""Labels that belong to no class, and classes without rows: what released numbers tell of them."""

import contextlib
import re
import warnings

import numpy as np
import pytest

import dpboost
from dpboost import DPBoostClassifier, DPTreeClassifier, ParameterWarning
from dpboost._utils.validation import InvalidParameterError, command_line
from dpboost.data.containers import to_float
from dpboost.federated import FederatedBoostingClassifier
from dpboost.training.loss_choice import SeenRows
from dpboost.training.released_warnings import expected_of, warn_of_labels

pytestmark = pytest.mark.filterwarnings("ignore")

N_ROWS = 3000
X = np.random.default_rng(0).uniform(size=(N_ROWS, 2))
Y = np.digitize(X[:, 0], [1 / 3, 2 / 3])
BINARY = np.where(X[:, 0] > 0.5, "yes", "no")
BOUNDS = {"bounds": dict.fromkeys(range(2), (0.0, 1.0))}
# The noise is that of a seed: one release in some hundred is further off than three deviations.
GIVEN = {"n_estimators": 2, "verbosity": 0, "n_jobs": 1, "noise_seed": 1}
OTHERS, EMPTY = "take no part", "standard deviations of its noise"
FEW = "Few rows"


def messages(fit, *arguments, **options):
    """Which of the two things a fit warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*arguments, **options)
    assert len(caught) <= 1, "a fit has one block of warnings"
    lines = "\n".join(str(one.message) for one in caught).splitlines()
    told = [line for line in lines if OTHERS in line or EMPTY in line]
    assert len(told) == len({OTHERS in text for text in told})
    return [kind for kind in (OTHERS, EMPTY) if any(kind in text for text in told)]


def classifier(classes, **options):
    return DPBoostClassifier(schema={**BOUNDS, "classes": classes}, **{**GIVEN, **options})


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(
    ("classes", "y", "told"),
    [
        (["No", "Yes"], BINARY, [OTHERS, EMPTY]),
        (["no", "yes"], BINARY, []),
        (["no", "Yes"], BINARY, [OTHERS, EMPTY]),
        ([0, 1, 2], Y + 1, [OTHERS, EMPTY]),
        ([0, 1], Y, [OTHERS]),
        ([0, 1, 2], Y, []),
        ([0, 1, 2, 3], Y, [EMPTY]),
    ],
)
def test_a_fit_warns_by_what_is_released(classes, y, told, relation, delta):
    model = classifier(classes, neighbors=relation, delta=delta, epsilon=4.0)
    assert messages(model.fit, X, y) == told


@pytest.mark.parametrize(
    "options",
    [
        {"class_weight": "balanced"},
        {"class_weight": {1: 3.0}},
        {"objective": "multiclassova"},
        {"epsilon": float("inf"), "noise_seed": None},
    ],
    ids=str,
)
@pytest.mark.parametrize(("shift", "told"), [(0, []), (1, [OTHERS, EMPTY])])
def test_whatever_the_start_release_is(options, shift, told):
    model = classifier([0, 1, 2], **{"epsilon": 4.0, **options})
    assert messages(model.fit, X, Y + shift) == told


PARAMS = {"objective": "multiclass", "num_class": 3, "schema": BOUNDS, "epsilon": 4.0, **GIVEN}
TREE = {"epsilon": 2.0, "max_depth": 3, "noise_seed": 1, "schema": {**BOUNDS, "classes": [0, 1, 2]}}
WAYS = {
    "initial scores": (
        lambda y: classifier([0, 1, 2], epsilon=4.0).fit(X, y, init_score=np.zeros((N_ROWS, 3))),
        [OTHERS],  # no class is counted
    ),
    "train": (lambda y: dpboost.train(PARAMS, dpboost.Dataset(X, y), 2), [OTHERS, EMPTY]),
    "batches": (
        lambda y: classifier([0, 1, 2], epsilon=4.0).fit(
            [(X[part], y[part]) for part in (slice(0, 1000), slice(1000, None))], None
        ),
        [OTHERS, EMPTY],
    ),
    "users": (
        lambda y: classifier([0, 1, 2], epsilon=8.0, rows_per_user=1).fit(
            X, y, user_ids=np.arange(N_ROWS)
        ),
        [OTHERS, EMPTY],
    ),
    # By the counts of its leaves.
    "a tree": (lambda y: DPTreeClassifier(**TREE).fit(X, y), [EMPTY]),
}


@pytest.mark.parametrize("way", WAYS)
def test_labels_from_one_are_told_however_rows_come(way):
    fit, told = WAYS[way]
    assert messages(fit, Y) == []
    assert messages(fit, Y + 1) == told


@pytest.mark.parametrize(("shift", "told"), [(0, []), (1, [OTHERS, EMPTY])])
@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_parties(classes, shift, told):
    part = len(classes) - 1
    parties = [(X[i::3], np.minimum(Y[i::3], part) + shift) for i in range(3)]
    model = FederatedBoostingClassifier(
        schema={**BOUNDS, "classes": classes},
        epsilon=8.0,
        n_estimators=2,
        verbosity=0,
        noise_seed=1,
    )
    assert messages(model.fit, parties) == told


def test_assumed_classes_are_those_of_the_rows():
    model = DPBoostClassifier(schema=BOUNDS, epsilon=0.1, **GIVEN)
    assert messages(model.fit, X[:60], Y[:60]) == []


def test_labels_that_were_not_learned_take_no_part():
    labels = np.where(np.arange(N_ROWS) % 3 == 0, np.arange(N_ROWS), 1 + np.arange(N_ROWS) % 2)
    model = DPBoostClassifier(schema=BOUNDS, assume_public=("column_types",), epsilon=8.0, **GIVEN)
    assert messages(model.fit, X, labels) == [OTHERS]


@pytest.mark.parametrize("recipe", ["dpboost", "para", "seq"])
def test_recipes_without_a_start_release_say_so_in_the_report(recipe):
    model = classifier(["No", "Yes"], recipe=recipe, epsilon=20.0, max_depth=2)
    found = [messages(model.fit, X, y) for y in (BINARY, np.char.capitalize(BINARY))]
    assert found == [[], []], "the labels of the rows are not compared with what is declared"
    fact = model.privacy_report_.facts["other labels"]
    assert fact == "rows with them take no part; the recipe does not count them"
    report = DPBoostClassifier(schema=BOUNDS, recipe=recipe, max_depth=2, **GIVEN)
    assert "other labels" not in report.fit(X, BINARY).privacy_report_.facts


def test_messages_hold_public_values_alone():
    seen = SeenRows(
        n_rows=1, sizes=(0.0,) * 12, noise_stddevs=(1.0,) * 12, others=9, noise_stddev=1
    )
    with pytest.warns(ParameterWarning) as caught:
        warn_of_labels(seen, list(range(12)), declared=True)
    others, empty = (str(one.message) for one in caught)
    assert "(3 rows)" in empty
    assert others == (
        "Rows with labels other than 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... take no part. According to "
        "released numbers there are such rows, by more than 3 standard deviations of the noise. "
        "If these are not all classes, declare all of them, spelled and typed as in y: "
        "schema=Schema(classes=...)."
    )
    assert empty.startswith(
        "The released count of class 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... is within"
    )


def test_the_warning_points_at_the_call():
    with pytest.warns(ParameterWarning) as caught:
        classifier(["No", "Yes"], epsilon=4.0).fit(X, BINARY)
    (block,) = caught
    assert str(block.message).count("\n* ") == 3, "of the seed and these two"
    assert {one.filename for one in caught} == {__file__}


def told(model, X, y, **options):
    """Lines of few rows that a fit warns of, and what its report expects."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **options)
    lines = "\n".join(str(one.message) for one in caught).splitlines()
    report = model.privacy_report_
    expected = report.facts.get("expected", "")
    assert ("What to expect" in str(report)) == bool(expected)
    lines = [line.removeprefix("* ") for line in lines if FEW in line]
    assert " ".join(lines) == expected
    return lines


def test_few_rows_are_told_by_the_released_count():
    schema = {**BOUNDS, "classes": [0, 1]}
    y = (X[:, 0] > 0.5).astype(int)
    model = DPBoostClassifier(schema=schema, epsilon=4.0, **GIVEN)
    (line,) = told(model, X[:500], y[:500])
    assert re.match(r"Few rows: about \d+ by the released count, less than 1,000\.", line)
    assert "docs/howto/few-rows.md" in line
    assert told(model, X, y) == []
    # Sums of weights are no numbers of rows.
    assert told(model, X[:500], y[:500], sample_weight=np.ones(500)) == []


def test_few_rows_of_a_class_are_told_by_the_released_count():
    y = np.zeros(N_ROWS, dtype=int)
    y[:57] = 1
    model = DPBoostClassifier(schema={**BOUNDS, "classes": [0, 1]}, epsilon=20.0, **GIVEN)
    (line,) = told(model, X, y)
    assert re.match(r"Few rows of class 1: about \d\d by the released count, less than 100\.", line)
    assert "docs/howto/imbalanced-classes.md" in line


def test_a_rare_class_within_the_noise_is_not_called_empty():
    y = np.zeros(5000, dtype=int)
    y[:57] = 1
    rows = np.random.default_rng(0).uniform(size=(5000, 2))
    model = DPBoostClassifier(schema={**BOUNDS, "classes": [0, 1]}, epsilon=0.5, **GIVEN)
    with pytest.warns(ParameterWarning) as caught:
        model.fit(rows, y)
    text = str(caught[0].message)
    assert "no rows" not in text
    assert "too few rows to be learned at this epsilon" in text
    assert "raise epsilon" in text


def test_what_is_expected_depends_on_released_numbers_alone():
    seen = SeenRows(n_rows=640.0, sizes=(560.0, 80.0), noise_stddevs=(5.0, 5.0))
    few, rare = expected_of(seen, ["a", "b"], weighted=False)
    assert "about 6.4e+02" not in few
    assert "about 640" in few
    assert "class 'b': about 80" in rare
    assert expected_of(None, ["a", "b"], weighted=False) == []


def test_the_report_of_a_rare_class_within_noise_says_what_to_expect():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(5000, 1))
    y = np.zeros(5000, dtype=int)
    y[:57] = 1
    schema = {"bounds": {0: (0, 1)}, "classes": [0, 1]}
    model = DPBoostClassifier(epsilon=1.0, schema=schema, verbosity=-1).fit(X, y)
    text = " ".join(str(model.privacy_report_).split())
    assert "What to expect The released count of class 1 is within 3 standard deviations" in text


@pytest.mark.parametrize(
    ("interface", "cure"),
    [(contextlib.nullcontext, "schema=Schema(classes=...)"), (command_line, "raise --epsilon")],
)
def test_where_no_class_is_learned_the_message_has_the_budget_and_the_cure(interface, cure):
    known = {"schema": BOUNDS, "assume_public": ("column_types",)}
    model = DPBoostClassifier(epsilon=0.1, delta=1e-9, **known, **GIVEN)
    with interface(), pytest.raises(InvalidParameterError) as told:
        model.fit(X, np.arange(N_ROWS))
    message = str(told.value)
    assert "epsilon=0.1, delta=1e-09" in message
    assert cure in message
    assert ("Schema" in message) is (interface is contextlib.nullcontext)


def test_text_without_a_type_is_told_in_the_words_of_the_interface():
    cells = np.array([["a"], ["b"]], dtype=object)
    with pytest.raises(InvalidParameterError, match="'X' argument must be numbers"):
        to_float(cells)
    with command_line(), pytest.raises(InvalidParameterError, match="cells of the file") as told:
        to_float(cells)
    assert "role 'ignore'" in str(told.value)
    assert "Schema" not in str(told.value)
