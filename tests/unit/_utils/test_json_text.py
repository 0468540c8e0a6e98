"""JSON of any depth: what it says, or one kind of error."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

import dpboost
from dpboost import Booster, DPBoostClassifier, InvalidParameterError, Schema
from dpboost._utils.json_text import DEEPEST_JSON, parse_json
from dpboost.cli.configuration import read_configuration
from dpboost.cli.table_files import declaration_of
from dpboost.lightgbm import ModelTextError
from dpboost.local import LPDTPartition
from dpboost.schema import DataDictionary

LISTS = "[" * 100_000 + "]" * 100_000
OBJECTS = '{"a":' * 3000 + "1" + "}" * 3000
SEVERAL = '{"bounds": ' + "[" * 500 + "]" * 500 + "}"

#: Who reads JSON in another way, and why.
ALLOWED = {
    "_utils/json_text.py": "is this way",
    "reporting/certificate.py": "a file of the package",
    "reporting/audit_record.py": "a file of the package",
    "cli/verify_command.py": "what this library has just written",
    "lightgbm/booster.py": "a line that was checked before",
    "lightgbm/installed.py": "what LightGBM writes",
    "budgeting/budget_records.py": "a data base, whose errors are its own",
    "federated/protocol/messages.py": "messages between parties",
}


@pytest.mark.parametrize("value", [1, "a", None, [], {}, [1, [2]], {"a": {"b": [1]}}])
def test_what_it_says_is_what_json_says(value):
    assert parse_json(json.dumps(value)) == value


def test_the_deepest_is_read_and_no_deeper():
    deepest = "[" * DEEPEST_JSON + "]" * DEEPEST_JSON
    assert parse_json(deepest) == json.loads(deepest)
    for text in (f"[{deepest}]", LISTS, OBJECTS, SEVERAL):
        with pytest.raises(ValueError, match="levels deep"):
            parse_json(text)


@pytest.mark.parametrize("text", [LISTS, OBJECTS, SEVERAL], ids=["lists", "objects", "several"])
def test_every_file_of_users_is_refused_by_name(text, tmp_path):
    path = tmp_path / "deep.json"
    path.write_text(text)
    for read in (
        Schema.from_json,
        DataDictionary.from_file,
        lambda path: declaration_of(str(path), None),
        lambda path: read_configuration(str(path), needed=[], optional=[], paths=[]),
    ):
        with pytest.raises(InvalidParameterError, match=r"deep\.json"):
            read(path)


@pytest.mark.parametrize("text", [LISTS, OBJECTS, SEVERAL], ids=["lists", "objects", "several"])
def test_every_text_of_users_is_refused(text):
    X, y = np.random.default_rng(0).uniform(size=(30, 2)), np.arange(30) % 2
    model = DPBoostClassifier(n_estimators=1, schema={"bounds": {0: (0, 1), 1: (0, 1)}}).fit(X, y)
    whole = model.booster_.model_to_string()
    report = next(line for line in whole.splitlines() if line.startswith("dpboost:"))
    for wrong in (
        whole.replace(report, f"dpboost:{text}"),
        whole.replace("pandas_categorical:[]", f"pandas_categorical:{text}"),
        whole.replace("pandas_categorical:null", f"pandas_categorical:{text}"),
    ):
        if wrong != whole:
            with pytest.raises(ModelTextError, match="JSON"):
                Booster(model_str=wrong)
    with pytest.raises(InvalidParameterError, match="JSON"):
        LPDTPartition.from_json(text)
    with pytest.raises(InvalidParameterError, match="interaction_constraints"):
        DPBoostClassifier(n_estimators=1, interaction_constraints=text).fit(X, y)


def test_nothing_else_reads_json():
    folder = Path(dpboost.__file__).parent
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in ("load", "loads"):
                of_json = isinstance(node.value, ast.Name) and node.value.id == "json"
                found |= {path.relative_to(folder).as_posix()} if of_json else set()
    assert found == set(ALLOWED)
