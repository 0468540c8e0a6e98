"""The party of a configuration, and where it keeps its records."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpboost.cli.main import main
from dpboost.cli.party_command import party_of, save_outcome
from dpboost.federated import FederatedBoostingClassifier, cv_agreement

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


def test_each_agreement_has_a_folder_inside_that_of_the_holder(settings, tmp_path):
    model = FederatedBoostingClassifier(schema=SCHEMA)
    folders = set()
    for terms in (model.agreement(2, ["age"]), cv_agreement(model, 2, ["age"], nfold=3)):
        party = party_of(settings(terms))
        assert party.n_rows == 200
        assert party._folder.parent == tmp_path / "kept"
        folders.add(party._folder)
    assert len(folders) == 2
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("name", ["identities", "coordinator"])
def test_an_agreement_for_a_network_names_everybody(settings, tmp_path, name, capsys):
    terms = FederatedBoostingClassifier(schema=SCHEMA).agreement(2, ["age"])
    given = settings(terms) | {"identity": "identity0", "coordinator": "127.0.0.1:1"}
    given |= {"certificate": "c.pem", "key": "c.key", "authority": "a.pem"}
    assert main(["party", "--new-identity", str(tmp_path / "identity0")]) == 0
    public = capsys.readouterr().out.strip()
    if name == "coordinator":
        signed = FederatedBoostingClassifier(schema=SCHEMA).agreement(2, ["age"], [public, public])
        given |= settings(signed)
    (tmp_path / "party.json").write_text(json.dumps(given))
    assert main(["party", "--config", str(tmp_path / "party.json")]) == 2
    assert f"must list '{name}'" in capsys.readouterr().err


def test_a_model_or_figures_are_written(tmp_path):
    class Model:
        class booster_:  # noqa: N801 - the attribute of estimators
            @staticmethod
            def save_model(path):
                Path(path).write_text("model")

    save_outcome(Model(), None)
    save_outcome(Model(), str(tmp_path / "model.txt"))
    save_outcome({"auc": 0.5}, str(tmp_path / "figures.txt"))
    assert (tmp_path / "model.txt").read_text() == "model"
    assert "auc" in (tmp_path / "figures.txt").read_text()
