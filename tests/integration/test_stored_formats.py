"""Files that an earlier version wrote are read with the meaning that they had."""

import json
import shutil
from dataclasses import fields
from fractions import Fraction

import lightgbm
import numpy as np
import pytest

import dpboost
from dpboost.federated import Agreement
from dpboost.reporting.certificate import schema as certificate_schema
from dpboost.reporting.certificate_form import check_form
from dpboost.schema import DataDictionary
from tests.stored.__main__ import FOLDER, agreement, schema, table
from tests.stored.names import public_names

VERSIONS = sorted(path for path in FOLDER.iterdir() if path.name[0].isdigit())

each = pytest.mark.parametrize("folder", VERSIONS, ids=lambda path: path.name)


def since_1_0(*files):
    """Versions that have the files; all but the development version before 1.0 have them."""
    folders = [path for path in VERSIONS if path.name != "0.1.0"]
    assert all((path / name).exists() for path in folders for name in files)
    return pytest.mark.parametrize("folder", folders, ids=lambda path: path.name)


def test_there_are_stored_files():
    assert {"0.1.0", dpboost.__version__} <= {path.name for path in VERSIONS}


@each
@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_a_model_text_predicts_the_same_doubles(folder, name):
    X, _ = table()
    stored = json.loads((folder / "predictions.json").read_text())[name]
    expected = [float.fromhex(value) for value in stored]
    for booster in (dpboost.Booster, lightgbm.Booster):
        found = booster(model_file=str(folder / f"{name}.txt")).predict(X)
        assert np.array_equal(found, expected)


@each
def test_a_report_has_its_meaning(folder):
    stored = json.loads((folder / "report.json").read_text())
    report = dpboost.PrivacyReport.from_dict(stored)
    assert (report.total, report.private) == ((4.0, 1e-6), False)  # drawn from a seed
    again = json.loads(report.to_json())
    assert {key: again[key] for key in stored} == stored
    text = dpboost.Booster(model_file=str(folder / "regressor.txt")).privacy_report
    assert text.to_dict() == report.to_dict()


@each
def test_a_schema_and_a_dictionary_declare_the_same(folder):
    known = dpboost.Schema.from_json(folder / "schema.json")
    assert known == schema(label_bounds=(0, 6), max_rows=1000)
    dictionary = DataDictionary.from_file(folder / "dictionary.csv")
    assert (dictionary.target, dictionary.user_column) == ("level", "who")
    found = dpboost.Schema.from_data_dictionary(folder / "dictionary.csv", max_rows=1000)
    for part in fields(dpboost.Schema):
        assert getattr(found, part.name) == getattr(known, part.name)


@each
def test_a_budget_goes_on_where_it_was(folder, tmp_path):
    path = tmp_path / "stored.budget"
    shutil.copy(folder / "stored.budget", path)
    budget = dpboost.Budget.load(path)
    assert (float(budget.epsilon), float(budget.delta), budget.table) == (2.0, 1e-6, "stored")
    assert budget.remaining == {"Gaussian": Fraction(3, 4)}
    X, y = table()
    model = dpboost.DPBoostRegressor(schema=schema(label_bounds=(0, 6)), n_estimators=2)
    with pytest.raises(dpboost.BudgetExceededError):
        model.fit(X, y, budget=budget, fraction=0.8, feature_name=["share", "count", "kind"])


@each
def test_a_certificate_is_still_one(folder):
    rules = certificate_schema()
    check_form(json.loads((folder / "certificate.json").read_text()), rules, rules)


@since_1_0("regressor.transcript")
def test_a_transcript_is_read_and_makes_its_model(folder):
    transcript = dpboost.Transcript.load(folder / "regressor.transcript")
    assert (transcript.build, transcript.private) == (folder.name, False)
    if folder.name == dpboost.__version__:  # rules of recipes may be others in another version
        again = dpboost.replay(transcript).booster_.model_to_string()
        assert again == (folder / "regressor.txt").read_text()


@since_1_0("agreement.json")
def test_an_agreement_has_the_terms_that_were_approved(folder):
    assert Agreement.from_json((folder / "agreement.json").read_text()) == agreement()


def names_now():
    """Return the public names, where there is all that they need."""
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    return public_names()


@since_1_0("names.json")
def test_no_public_name_and_no_parameter_went_away(folder):
    now = names_now()
    for name, takes in json.loads((folder / "names.json").read_text()).items():
        assert set(takes) <= set(now[name]), name


def test_the_names_of_a_candidate_are_those_that_it_has():
    if "rc" not in dpboost.__version__:
        pytest.skip("this version was released: its names are stored, and later ones may be more")
    stored = json.loads((FOLDER / dpboost.__version__ / "names.json").read_text())
    assert stored == names_now(), "python -m tests.stored names"
