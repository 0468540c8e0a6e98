"""The record for the registry of deployments: what a fit knows of it."""

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPTreeClassifier, LPDTRegressor
from dpboost.reporting.deployment_record import registry_record, registry_yaml

X = np.random.default_rng(0).uniform(size=(200, 2))
Y = (X[:, 0] > 0.5).astype(int)
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
# Of the registry's template: sections with their number of fields.
SECTIONS = {
    "basic": 8,
    "dp_variant": 3,
    "privacy_loss": 4,
    "deployment_model": 9,
    "accounting": 2,
    "implementation": 3,
    "administrative": 2,
}


def record_of(model):
    report = model.privacy_report_
    return registry_record(report, report.certificate(model=model))


@pytest.fixture(scope="module")
def record():
    return record_of(DPBoostClassifier(n_estimators=3, schema=SCHEMA, verbosity=-1).fit(X, Y))


def test_it_fills_in_twenty_of_the_fields(record):
    deployment = record["deployment"]
    assert {name: len(fields) for name, fields in deployment.items()} == SECTIONS
    values = [record["url_slug"], record["status"], record["tier"]]
    values += [value for fields in deployment.values() for value in fields.values()]
    assert len(values) == 34
    assert sum(value is not None for value in values) == 20


def test_its_terms_are_those_of_the_claim(record):
    deployment = record["deployment"]
    assert deployment["dp_variant"]["variant_name"] == "Approximate DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-06}
    assert deployment["privacy_loss"]["privacy_unit"] == "Record-level"
    assert deployment["deployment_model"]["model_name"] == "Central"
    pure = record_of(DPTreeClassifier(epsilon=2.0, neighbors="replace", schema=SCHEMA).fit(X, Y))
    deployment = pure["deployment"]
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0}
    assert "equally many rows" in deployment["privacy_loss"]["privacy_unit_details"]
    users = DPBoostClassifier(n_estimators=3, schema=SCHEMA, rows_per_user=2, verbosity=-1)
    users.fit(X, Y, user_ids=np.arange(200) // 2)
    assert record_of(users)["deployment"]["privacy_loss"]["privacy_unit"] == "User-level"
    local = LPDTRegressor(epsilon=1.0).fit(X, Y, X_public=X[:50], y_public=Y[:50])
    report = local.privacy_report_
    found = registry_record(report, report.certificate())
    assert found["deployment"]["deployment_model"]["model_name"] == "Local"


def test_it_is_yaml_of_the_same_values(record):
    yaml = pytest.importorskip("yaml")
    text = registry_yaml(record)
    assert text.count("to be filled in") == 14

    def known(fields):
        found = {}
        for name, value in fields.items():
            if isinstance(value, dict):
                found[name] = known(value)
            elif value is not None:
                found[name] = value
        return found

    assert yaml.safe_load(text) == known(record)
