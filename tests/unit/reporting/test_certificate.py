from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import dpboost
from dpboost import DPBoostClassifier, DPTreeClassifier, InvalidParameterError, LPDTRegressor
from dpboost.reporting.attacker import best_true_positive_rate
from dpboost.reporting.certificate import AUDIT_RECORD, AUDITED_VERSION, NOT_STATED, schema

ROOT = Path(__file__).resolve().parents[3]
TYPES = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
KEYWORDS = {"$schema", "title", "type", "properties", "required", "additionalProperties"}
KEYWORDS |= {"const", "enum", "pattern", "minimum", "maximum", "items", "anyOf"}


def valid(value, rule):
    """Whether a value keeps to a schema, for the keywords that ours uses."""
    assert set(rule) <= KEYWORDS
    names = rule.get("type", [])
    names = [names] if isinstance(names, str) else names
    is_type = not names or any(
        isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
        for name in names
    )
    is_number = isinstance(value, (int, float))
    return (
        is_type
        and ("const" not in rule or value == rule["const"])
        and ("enum" not in rule or value in rule["enum"])
        and ("anyOf" not in rule or any(valid(value, each) for each in rule["anyOf"]))
        and ("pattern" not in rule or re.search(rule["pattern"], value) is not None)
        and (not is_number or rule.get("minimum", value) <= value <= rule.get("maximum", value))
        and ("items" not in rule or all(valid(each, rule["items"]) for each in value))
        and ("required" not in rule or set(rule["required"]) <= set(value))
        and (rule.get("additionalProperties", True) or set(value) <= set(rule["properties"]))
        and all(
            valid(part, rule["properties"][name])
            for name, part in (value.items() if "properties" in rule else ())
        )
    )


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def model(table):
    return DPBoostClassifier(epsilon=2, delta=1e-5, n_estimators=4).fit(*table)


def plain(record):
    """As it comes back from a strict JSON file."""
    return json.loads(json.dumps(record, allow_nan=False))


@pytest.mark.parametrize(
    "make",
    [
        lambda: DPBoostClassifier(epsilon=2, delta=1e-5, n_estimators=4),
        lambda: DPBoostClassifier(epsilon=np.inf, n_estimators=4),
        lambda: DPBoostClassifier(epsilon=2, neighbours="replace", delta=0, n_estimators=4),
        lambda: DPTreeClassifier(epsilon=1, noise_seed=1),
    ],
)
def test_certificates_keep_to_the_schema(make, table):
    model = make().fit(*table)
    for record in (
        model.privacy_report_.certificate(),
        model.booster_.privacy_report.certificate(model=model),
    ):
        assert plain(record) == record
        assert valid(record, schema())
        assert (record["meaning"] is None) == (not model.privacy_report_.private)


def test_local_reports_have_certificates(table):
    X, y = table

    model = LPDTRegressor(epsilon=1.0).fit(X, y, X_public=X[:50], y_public=y[:50])
    report = model.privacy_report_
    record = report.certificate()
    assert valid(record, schema())
    assert record["trust_model"]["kind"] == "local"


@pytest.mark.parametrize("group", list(schema()["properties"]))
def test_the_schema_refuses_what_misses_a_part(model, group):
    record = model.privacy_report_.certificate()
    assert not valid({name: part for name, part in record.items() if name != group}, schema())
    assert not valid({**record, group: 3}, schema())
    assert not valid({**record, "more": ""}, schema())


def test_the_hash_is_that_of_the_saved_file(model, tmp_path):
    model.booster_.save_model(tmp_path / "model.txt")
    expected = hashlib.sha256((tmp_path / "model.txt").read_bytes()).hexdigest()
    text = (tmp_path / "model.txt").read_bytes().decode()
    for held in (model, model.booster_, text):
        record = model.privacy_report_.certificate(model=held)
        assert record["identity"]["model_sha256"] == expected


def test_claim_and_meaning_are_those_of_the_report(model):
    report = model.privacy_report_
    record = report.certificate()
    claim = record["claim"]
    assert (claim["epsilon"], claim["delta"], claim["mu"]) == (2, 1e-5, report.mu)
    assert [line["times"] for line in claim["releases"]] == [r.releases for r in report.releases]
    assert record["meaning"]["true_positives_at_1_percent_false"] == best_true_positive_rate(
        0.01, epsilon=2, delta=1e-5, mu=report.mu
    )


def test_what_the_user_states_is_in_it_and_nothing_is_left_open(model):
    record = model.privacy_report_.certificate(stated={"contact": "<i>dpo</i>"})
    assert record["life"]["contact"] == "<i>dpo</i>"
    assert record["life"]["legal_basis"] == NOT_STATED
    page = model.privacy_report_.certificate_to_html(model=model, stated={"contact": "<i>dpo</i>"})
    assert "&lt;i&gt;dpo&lt;/i&gt;" in page
    assert "<i>" not in page
    assert page.count(NOT_STATED) == 10


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"stated": {"contakt": "x"}}, "contakt"),
        ({"stated": {"contact": 3}}, "contact"),
        ({"model": 3}, "model"),
    ],
)
def test_bad_statements_and_models_are_refused(model, bad, name):
    with pytest.raises(InvalidParameterError, match=name):
        model.privacy_report_.certificate(**bad)


def test_the_recorded_audit_is_there_and_of_that_version(model):
    audit = model.privacy_report_.certificate()["correctness"]["audit"]
    assert audit["covers_installed_version"] == (dpboost.__version__ == AUDITED_VERSION)
    text = (ROOT / AUDIT_RECORD).read_text("utf-8")
    assert text.startswith(f"dpboost {AUDITED_VERSION},")
    assert "REFUTED" not in text.upper()
