"""Commands under a budget that counts periods: quarters in files of their own and in one."""

import numpy as np
import pandas as pd
import pytest

from dpboost import Booster, Budget
from dpboost.cli.main import main

DICTIONARY = """name,type,lower,upper,values,role
age,integer,0,120,,
ward,category,,,eyes|surgery,
outcome,category,,,no|yes,target
"""
SIXTEENTH = ["--fraction", "1/16"]


def quarter(number):
    rng = np.random.default_rng(number)
    age = rng.integers(18, 90, 400)
    return pd.DataFrame(
        {
            "age": age,
            "ward": rng.choice(["eyes", "surgery"], 400),
            "quarter": f"2026 Q{number}",
            "outcome": np.where(age + rng.normal(0, 5, 400) > 50, "yes", "no"),
        }
    )


@pytest.fixture
def ward(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        quarter(number).drop(columns="quarter").to_csv(f"q{number}.csv", index=False)
    pd.concat([quarter(1), quarter(2)]).to_csv("both.csv", index=False)
    (tmp_path / "dictionary.csv").write_text(DICTIONARY)
    assert main(["budget", "ward.budget", "--epsilon", "8", "--periods", "2"]) == 0
    return ["--schema", "dictionary.csv", "--budget", "ward.budget", *SIXTEENTH]


def test_each_command_is_charged_to_its_periods(ward, capsys):
    first = ["--period", "2026 Q1"]
    fit = ["fit", "q1.csv", *ward, "--trees", "5", "--transcript", "q1.transcript", "-o", "q1.txt"]
    assert main([*fit, *first]) == 0
    assert main(["evaluate", "q1.txt", "q1.csv", *ward, *first, "--metrics", "auc"]) == 0
    refit = ["refit", "q1.transcript", "q2.csv", *ward, "-o", "q2.txt"]
    assert main([*refit, "--period", "2026 Q2"]) == 0
    several = [*first, "--period", "2026 Q2", "--period-column", "quarter"]
    assert main(["fit", "both.csv", *ward, *several, "--trees", "5", "-o", "both.txt"]) == 0
    budget = Budget.load("ward.budget")
    assert [len(line.part) for line in budget.lines] == [1, 1, 1, 2]
    assert Booster(model_file="both.txt").feature_name() == ["age", "ward"]
    capsys.readouterr()
    assert main(["budget", "ward.budget"]) == 0
    assert "2026 Q2" in capsys.readouterr().out
    # The quarter's rows under another name of the file, and others under its name.
    assert main(["fit", "q2.csv", *ward, *first, "-o", "other.txt"]) == 2
    assert "differ from its rows in earlier" in capsys.readouterr().err
    assert len(Budget.load("ward.budget").lines) == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "has periods: pass --period NAME once"),
        (["--period", "a", "--period", "b"], "pass --period-column COLUMN"),
        (["--period-column", "quarter"], "needs the names of the periods: pass --period NAME"),
        (["--period", "a", "--period-column", "absent"], "has no such column"),
        (["--period", "a", "--period-column", "quarter"], "name every period"),
    ],
)
def test_rows_without_their_period_are_refused(ward, capsys, given, message):
    assert main(["fit", "both.csv", *ward, *given, "-o", "model.txt"]) == 2
    assert message in capsys.readouterr().err
    assert Budget.load("ward.budget").lines == ()


def test_periods_are_of_a_new_budget(ward, capsys):
    assert main(["budget", "ward.budget", "--periods", "2"]) == 2
    assert "are for a new budget" in capsys.readouterr().err
    fit = ["fit", "q1.csv", "--schema", "dictionary.csv", "--epsilon", "1", "-o", "model.txt"]
    assert main([*fit, "--period", "a"]) == 2
    assert "--period needs a budget" in capsys.readouterr().err
