"""The party of a configuration, and where it keeps its records."""

import numpy as np
import pandas as pd
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.party_command import _folder_of, party_of
from dpboost.federated import FederatedBoostingClassifier, cv_agreements

SCHEMA = {"bounds": {"age": (0, 100)}, "classes": ["no", "yes"]}


@pytest.fixture
def settings(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(0, 100, 200), "ill": ["no", "yes"] * 100})
    table.to_csv(tmp_path / "rows.csv", index=False)
    data = {"data": str(tmp_path / "rows.csv"), "target": "ill", "folder": str(tmp_path / "kept")}

    def of(terms, **change):
        path = tmp_path / f"{terms.digest.hex()}.json"
        path.write_text(terms.to_json(), "utf-8")
        return {"party": 0, "agreement": str(path), **data, **change}

    return of


def test_sessions_of_a_cross_validation_share_a_folder(settings, tmp_path):
    model = FederatedBoostingClassifier(schema=SCHEMA)
    terms = cv_agreements(model, 2, ["age"], nfold=3)
    first = [party_of(settings(each)).held.table.n_rows for each in terms]
    assert sum(first) == 2 * 200
    # Another process has the same folds.
    assert [party_of(settings(each)).held.table.n_rows for each in terms] == first
    folders = [_folder_of(each, str(tmp_path / "kept")) for each in terms]
    assert [folder.name for folder in folders] == ["fold-0", "fold-1", "fold-2"]
    pd.read_csv(tmp_path / "rows.csv")[1:].to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(InvalidParameterError, match="not those that were dealt"):
        party_of(settings(terms[0], data=str(tmp_path / "less.csv")))


def test_other_agreements_have_the_folder_itself(settings, tmp_path):
    terms = FederatedBoostingClassifier(schema=SCHEMA).agreement(2, ["age"])
    assert party_of(settings(terms)).held.table.n_rows == 200
    assert _folder_of(terms, str(tmp_path / "kept")) == tmp_path / "kept"
    assert not (tmp_path / "kept").exists()
