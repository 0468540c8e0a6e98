"""What a data dictionary says of a table means the same in Python as on the command line."""

import numpy as np
import pandas as pd
import pytest

from dpboost import (
    Budget,
    DataDictionary,
    Dataset,
    DPBoostClassifier,
    DPTreeClassifier,
    ParameterWarning,
    Schema,
    Transcript,
    cv,
    evaluate,
    replay,
    train,
)
from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.main import main
from dpboost.lightgbm.booster import Booster

DICTIONARY = """name,type,lower,upper,values,role
patient,text,,,,user
stays,integer,0,60,,
ward,category,,,,
cost,number,0,9000,,
note,text,,,,ignore
outcome,category,,,no|yes,target
"""
FEATURES = ["stays", "ward", "cost"]


def table(n=2000):
    rng = np.random.default_rng(0)
    stays = rng.integers(0, 60, n)
    return pd.DataFrame(
        {
            "patient": [f"p{k}" for k in rng.integers(0, 800, n)],
            "stays": stays,
            "ward": rng.choice(["eyes", "surgery"], n),
            "cost": [" " if not k else f"{k * 90.5}" for k in stays],  # text, blank without a stay
            "note": "free text",
            "more": 1.5,
            "outcome": np.where(stays + rng.normal(0, 5, n) > 30, "yes", "no"),
        }
    )


@pytest.fixture
def path(tmp_path):
    (tmp_path / "dictionary.csv").write_text(DICTIONARY)
    return tmp_path / "dictionary.csv"


def saved(transcript, folder):
    transcript.save(folder / "fit.transcript")
    return Transcript.load(folder / "fit.transcript")


def estimator(schema, kind=DPBoostClassifier, **more):
    trees = {"n_estimators": 20, "verbosity": -1} if kind is DPBoostClassifier else {"delta": 1e-6}
    given = {"epsilon": 8, "rows_per_user": 3, "noise_seed": 1}
    return kind(schema=schema, **given, **trees, **more)


@pytest.mark.parametrize("kind", [DPBoostClassifier, DPTreeClassifier])
def test_roles_mean_in_fit_what_they_mean_on_the_command_line(path, kind):
    data = table()
    model = estimator(str(path), kind).fit(data)
    assert list(model.schema_.feature_names) == FEATURES
    assert model.privacy_report_.rows_per_user == 3
    assert np.mean(model.predict(data) == data["outcome"]) > 0.75
    # The same by hand: features typed, users and labels apart.
    by_hand = data[FEATURES].assign(
        stays=data["stays"].astype(float),
        ward=data["ward"].astype("category"),
        cost=pd.to_numeric(data["cost"], errors="coerce"),
    )
    schema = Schema(**DataDictionary.from_file(path).schema_parts())
    same = estimator(schema, kind).fit(by_hand, data["outcome"], user_ids=data["patient"])
    assert same.booster_.model_to_string() == model.booster_.model_to_string()
    np.testing.assert_array_equal(same.predict_proba(by_hand), model.predict_proba(data))


def test_tables_of_other_libraries_are_divided_too(path):
    pyarrow = pytest.importorskip("pyarrow")
    data = table()
    arrow = pyarrow.Table.from_pandas(data, preserve_index=False)
    texts = [estimator(str(path)).fit(each).booster_.model_to_string() for each in (data, arrow)]
    assert texts[0] == texts[1]


def test_batches_have_features_alone(path):
    typed = estimator(str(path)).fit(table())._declaration.features(table())
    labels = (table()["outcome"]).to_numpy()
    halves = [(typed.iloc[part], labels[part]) for part in (slice(0, 900), slice(900, None))]
    model = estimator(str(path)).set_params(rows_per_user=None)
    assert list(model.fit(halves, None).schema_.feature_names) == FEATURES
    wider = [(each.assign(more=1.0), own) for each, own in halves]
    with pytest.raises(InvalidParameterError, match="not features of the data dictionary: more"):
        model.fit(wider, None)


def test_the_command_line_takes_the_same_route(path, tmp_path):
    data = table()
    data.to_csv(tmp_path / "data.csv", index=False)
    given = ["fit", str(tmp_path / "data.csv"), "--schema", str(path), "--rows-per-user", "3"]
    out = tmp_path / "model.txt"
    assert main([*given, "--epsilon", "8", "--trees", "20", "-o", str(out)]) == 0
    assert Booster(model_file=str(out)).feature_name() == FEATURES


def test_columns_without_a_line_are_named_once_and_verbosity_silences_it(path):
    with pytest.warns(ParameterWarning, match=r"dictionary does not name more\."):
        estimator(DataDictionary.from_file(path)).set_params(verbosity=1).fit(table())


def test_labels_users_and_evaluation_sets_may_come_beside_the_table(path):
    data = table()
    budget = Budget(epsilon=8, delta=1e-6, rows_per_user=3)
    model = estimator(path).set_params(noise_seed=None)
    model.fit(
        data.drop(columns="outcome"),
        data["outcome"],
        eval_set=[(data.head(50), data["outcome"].head(50))],
        budget=budget,
        fraction=0.5,
    )
    assert "valid_0" in model.evals_result_
    found = evaluate(model, data, budget=budget, fraction=0.5, metrics=["auc"], groups="ward")
    assert found["auc"].value > 0.7
    beside = data.drop(columns="patient")
    estimator(path).fit(beside, user_ids=data["patient"])
    with pytest.raises(InvalidParameterError, match="rows_per_user"):
        estimator(path).fit(beside)


def test_the_training_rows_among_evaluation_sets_are_known_as_such(path):
    data = table()
    model = estimator(path).fit(data, data["outcome"], eval_set=[(data, data["outcome"])])
    assert list(model.evals_result_) == ["training"]


def test_a_transcript_is_replayed_where_the_dictionary_is_not(path):
    data = table()
    model = estimator(path).fit(data)
    path.unlink()
    again = replay(saved(model.transcript_, path.parent))
    assert again.booster_.model_to_string() == model.booster_.model_to_string()
    np.testing.assert_array_equal(again.predict(data), model.predict(data))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ward": "text"}, "ward: is text; make its type 'category'"),
        ({"cost": None}, "cost: X has no such column; remove its line"),
        ({"outcome": None}, "X has no column 'outcome'"),
    ],
)
def test_what_does_not_fit_is_said_in_the_words_of_python(path, change, message):
    data = table()
    for name, kind in change.items():
        if kind is None:
            data = data.drop(columns=name)
        else:
            path.write_text(path.read_text().replace(f"{name},category", f"{name},{kind}"))
    with pytest.raises(InvalidParameterError, match=message) as caught:
        estimator(path).fit(data)
    assert "--" not in str(caught.value)


def test_a_table_that_no_dictionary_can_divide_is_refused(path):
    rows = np.zeros((20, 3))
    with pytest.raises(
        InvalidParameterError, match="not features of the data dictionary: Column_0"
    ):
        train({"objective": "regression", "schema": Schema.from_data_dictionary(path)},
              Dataset(rows, rows[:, 0]), 2)  # fmt: skip


def test_a_schema_of_a_dictionary_knows_its_roles(path):
    data = table()
    schema = Schema.from_data_dictionary(path)
    assert repr(schema).startswith(("Schema(", "<Schema "))
    model = estimator(schema).fit(data)
    by_path = estimator(path).fit(data)
    assert model.booster_.feature_name() == by_path.booster_.feature_name() == FEATURES
    assert model.booster_.model_to_string() == by_path.booster_.model_to_string()
    own = [(found.column, found.what) for found in schema.check(data).findings]
    assert own
    assert {name for name, what in own if what == "refused"} == set()


@pytest.fixture
def params(path):
    """Parameters with a dictionary of classes 0 and 1, and without users."""
    text = DICTIONARY.replace("patient,text,,,,user\n", "").replace("no|yes", "0|1")
    path.write_text(text)
    return {"objective": "binary", "schema": str(path), "verbosity": -1, "epsilon": 8}


def test_cross_validation_takes_the_features_of_a_dictionary(params):
    data = table().drop(columns=["patient"])
    labels = (data.pop("outcome") == "yes").astype(int)
    found = cv(params, Dataset(data, labels), 2, nfold=2)
    assert any(name.endswith("-mean") for name in found)


def test_categories_left_open_in_a_schema_are_learned_as_in_a_dictionary(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {"ward": rng.choice(["eyes", "surgery"], 2000), "dose": rng.uniform(size=2000)}
    )
    y = (data["ward"] == "eyes").astype(int).to_numpy()
    (tmp_path / "open.json").write_text(
        '{"categories": {"ward": null}, "bounds": {"dose": [0, 1]}}'
    )
    for schema in (
        Schema(categories={"ward": None}, bounds={"dose": (0, 1)}),
        {"categories": {"ward": []}, "bounds": {"dose": (0, 1)}},
        tmp_path / "open.json",
    ):
        model = DPBoostClassifier(epsilon=4.0, n_estimators=5, schema=schema, verbosity=-1)
        model.fit(data, y)
        assert set(model.schema_.categories[0]) == {"eyes", "surgery"}
        assert "categories" in model.privacy_report_.facts["learned"]
        assert model.score(data, y) > 0.9
    with pytest.raises(InvalidParameterError, match="ward.*delta|delta.*ward"):
        model.set_params(delta=0.0).fit(data, y)
    with pytest.raises(InvalidParameterError, match="'dose' to be learned, but X holds numbers"):
        DPBoostClassifier(schema=Schema(categories={"dose": None})).fit(data[["dose"]], y)


def test_train_reads_a_dictionary_and_its_transcript_needs_no_file(params, path):
    data = table().drop(columns=["patient", "more"])
    labels = (data.pop("outcome") == "yes").astype(int)
    booster = train(params, Dataset(data, labels), 10)
    assert booster.feature_name() == FEATURES
    path.unlink()
    again = replay(booster.transcript)
    assert again.model_to_string() == booster.model_to_string()
