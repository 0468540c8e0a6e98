"""Intervals by a model text alone, and leaves learned again from a transcript and a file."""

import numpy as np
import pandas as pd
import pytest

from dpboost import Booster, DPBoostClassifier, Transcript, replay
from dpboost.cli.main import main

DICTIONARY = """name,type,lower,upper,values,role
age,integer,0,120,,
ward,category,,,,
dose,number,-10,130,,
outcome,category,,,no|yes,target
"""


def table(seed, n=3000):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    return pd.DataFrame(
        {
            "age": age,
            "ward": rng.choice(["eyes", "surgery"], n),
            "dose": age + rng.normal(0, 3, n),
            "outcome": np.where(age + rng.normal(0, 5, n) > 50, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("refit")
    for name, seed in (("old", 0), ("new", 1)):
        table(seed).to_csv(where / f"{name}.csv", index=False)
    (where / "dictionary.csv").write_text(DICTIONARY)
    fit_it = ["fit", "old.csv", "--schema", "dictionary.csv", "--epsilon", "8", "--trees", "40"]
    classes = [*fit_it, "--transcript", "old.transcript", "-o", "classes.txt"]
    numbers = [*fit_it, "--target", "dose", "--task", "regression", "-o", "numbers.txt"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        assert main([*classes, "--conformal", "0.8"]) == 0
        assert main([*numbers, "--conformal", "0.9"]) == 0
    return where


@pytest.fixture
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_intervals_are_those_of_the_text_alone(inside):
    assert main(["predict", "numbers.txt", "new.csv", "-o", "numbers.csv"]) == 0
    found, truth = pd.read_csv("numbers.csv"), table(1)["dose"].clip(-10, 130)
    assert list(found) == ["prediction", "lower", "upper"]
    covered = (found["lower"] <= truth) & (truth <= found["upper"])
    assert 0.85 < covered.mean() < 0.99
    assert (found["upper"] - found["lower"]).max() < 100
    assert found["lower"].min() >= -10


def test_sets_of_classes_need_their_names(inside):
    assert main(["predict", "classes.txt", "new.csv", "-o", "plain.csv"]) == 0
    assert list(pd.read_csv("plain.csv")) == ["probability"]
    known = ["--schema", "dictionary.csv", "-o", "sets.csv"]
    assert main(["predict", "classes.txt", "new.csv", *known]) == 0
    found = pd.read_csv("sets.csv", keep_default_na=False)
    assert set(found["set"]) <= {"", "no", "yes", "no|yes"}
    truth = table(1)["outcome"]
    inside_set = [own in each.split("|") for own, each in zip(truth, found["set"], strict=True)]
    assert 0.74 < np.mean(inside_set) < 0.95
    # As the estimator says them, made again without a row.
    model = replay(Transcript.load("old.transcript"))
    assert isinstance(model, DPBoostClassifier)
    rows = table(1)[["age", "ward", "dose"]]
    sets = ["|".join(model.classes_[own]) for own in model.predict_set(rows)]
    assert sets == found["set"].tolist()


def test_leaves_are_learned_again_under_a_budget(inside, capsys):
    assert main(["budget", "new.budget", "--epsilon", "8", "--table", "new"]) == 0
    known = ["--schema", "dictionary.csv", "--budget", "new.budget", "--fraction", "1/2"]
    assert main(["refit", "old.transcript", "new.csv", *known, "-o", "newer.txt"]) == 0
    old, new = Booster(model_file="classes.txt"), Booster(model_file="newer.txt")
    assert new.feature_name() == old.feature_name()
    assert new.num_trees() == old.num_trees()
    assert new.model_to_string() != old.model_to_string()
    assert new.privacy_report.budget["epsilon"] == "8"
    labels = ["--schema", "dictionary.csv", "-o", "newer.csv"]
    assert main(["predict", "newer.txt", "new.csv", *labels]) == 0
    assert (pd.read_csv("newer.csv")["prediction"] == table(1)["outcome"]).mean() > 0.8
    capsys.readouterr()
    assert main(["refit", "old.transcript", "new.csv", *known, "-o", "newer.txt"]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["budget", "new.budget"]) == 0
    assert "50 % left" in capsys.readouterr().out


def test_what_is_no_transcript_of_a_fit_is_refused(inside, capsys):
    rest = ["new.csv", "--schema", "dictionary.csv", "--epsilon", "1", "-o", "refused.txt"]
    assert main(["refit", "classes.txt", *rest]) == 2
    assert "classes.txt" in capsys.readouterr().err
