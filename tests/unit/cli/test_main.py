"""The command line, from a CSV file to a model, its predictions and its pages."""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import dpboost
from dpboost import DPBoostClassifier
from dpboost._utils.validation import InvalidParameterError
from dpboost.cli import fit_command
from dpboost.cli.main import COMMANDS, help_of, main
from dpboost.cli.spending import spending_of
from dpboost.cli.table_files import declaration_of, rows_of_file
from dpboost.lightgbm.parity import page

DICTIONARY = """name,type,lower,upper,values,role
age,integer,0,120,,
sex,category,,,F|M,
ward,category,,,1|2|3,
smoker,boolean,,,,
patient,text,,,,user
note,text,,,,ignore
outcome,category,,,no|yes,target
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("hospital")
    rng = np.random.default_rng(0)
    n = 2000
    age = rng.integers(18, 90, n)
    table = pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["F", "M"], n),
            "ward": rng.choice([1, 2, 3], n),
            "smoker": rng.choice(["true", "false"], n),
            "patient": rng.integers(0, 900, n),
            "note": "free text",
            "outcome": np.where(age + rng.normal(0, 5, n) > 50, "yes", "no"),
        }
    )
    table.to_csv(where / "data.csv", index=False)
    table.to_parquet(where / "data.parquet")
    table.drop(columns=["outcome", "note"]).assign(more="x").to_csv(where / "new.csv", index=False)
    table.assign(dose=age / 30.0).to_csv(where / "numbers.csv", index=False)
    (where / "dictionary.csv").write_text(DICTIONARY)
    return where


def fit(folder, *more, data="data.csv"):
    arguments = ["fit", str(folder / data), "--schema", str(folder / "dictionary.csv")]
    model = folder / "model.txt"
    users = [] if "--rows-per-user" in more else ["--rows-per-user", "3"]
    given = [*arguments, "--epsilon", "8", "--delta", "1e-6", "--trees", "40", *users, *more]
    return main([*given, "--force", "-o", str(model)]), model


def test_from_a_file_to_predictions(folder, capsys):
    code, model = fit(folder)
    assert code == 0
    assert "protected" in capsys.readouterr().out
    out = folder / "predictions.csv"
    assert main(["predict", str(model), str(folder / "new.csv"), "-o", str(out)]) == 0
    predicted = pd.read_csv(out)["probability"]
    assert len(predicted) == 2000
    truth = pd.read_csv(folder / "data.csv")["outcome"] == "yes"
    assert np.mean((predicted > 0.5) == truth) > 0.8
    # The file is one that LightGBM itself reads, with the same predictions.
    stock = lightgbm.Booster(model_file=str(model))
    new = pd.read_csv(folder / "new.csv")
    rows = pd.DataFrame(
        {
            "age": new["age"],
            "sex": pd.Categorical(new["sex"], categories=["F", "M"]),
            "ward": pd.Categorical(new["ward"], categories=[1, 2, 3]),
            "smoker": new["smoker"].astype(float),
        }
    )
    np.testing.assert_allclose(stock.predict(rows), predicted, rtol=1e-12)


def test_parquet_gives_the_same_kind_of_model(folder):
    code, model = fit(folder, data="data.parquet")
    assert code == 0
    assert lightgbm.Booster(model_file=str(model)).feature_name() == [
        "age",
        "sex",
        "ward",
        "smoker",
    ]


def test_a_holdout_is_judged_under_the_same_budget(folder, capsys):
    page = folder / "model.html"
    code, _ = fit(folder, "--holdout", "0.3", "--html", str(page))
    assert code == 0
    assert "<svg" in page.read_text()
    assert "auc" in capsys.readouterr().out


def test_regression_has_predictions(folder, capsys):
    schema = folder / "schema.json"
    bounds = {"age": [0, 120], "ward": [1, 3]}
    schema.write_text(json.dumps({"bounds": bounds, "label_bounds": [0, 4]}))
    model = folder / "numbers.txt"
    data = folder / "numbers.csv"
    columns = pd.read_csv(data)[["age", "ward", "dose"]]
    columns.to_csv(data, index=False)
    arguments = ["--target", "dose", "--epsilon", "8", "--schema", str(schema), "--trees", "20"]
    assert main(["fit", str(data), *arguments, "-o", str(model)]) == 0
    capsys.readouterr()
    assert main(["predict", str(model), str(data)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "prediction"


def test_schema_writes_names_and_types_and_no_value(folder, capsys):
    assert main(["schema", str(folder / "data.csv")]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[2] == "age,integer,,,,,"
    assert "learned privately" in out.splitlines()[0]
    assert "free text" not in out
    target = folder / "written.csv"
    assert main(["schema", str(folder / "data.csv"), "-o", str(target)]) == 0
    assert target.read_text() == out
    assert "Confirm them" in capsys.readouterr().err


def test_report_prints_and_writes_pages(folder, capsys):
    _, model = fit(folder)
    capsys.readouterr()
    page, certificate = folder / "report.html", folder / "certificate.json"
    files = ["--html", str(page), "--certificate", str(certificate)]
    assert main(["report", str(model), *files]) == 0
    assert "protected" in capsys.readouterr().out
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(certificate.read_text())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--target", "absent"], "no line for the target 'absent'"),
        (["--user", "absent"], "no column 'absent'"),
        (["--epsilon", "-1"], "epsilon"),
        (["--schema", "absent.csv"], "absent.csv"),
        (["--recipe", "absent"], "recipe"),
    ],
)
def test_what_is_refused_is_said_in_one_line(folder, capsys, change, message):
    code, _ = fit(folder, *change)
    err = capsys.readouterr().err
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_dates_train_and_predict_from_text_and_from_parquet(folder, capsys):
    rng = np.random.default_rng(1)
    day = rng.integers(0, 366, 2000)
    admitted = pd.Timestamp("2024-01-01") + pd.to_timedelta(day, "D")
    table = pd.DataFrame({"admitted on": admitted, "back": np.where(day > 180, "yes", "no")})
    table.to_csv(folder / "dates.csv", index=False)
    table.to_parquet(folder / "dates.parquet")
    dictionary = folder / "dates-dictionary.csv"
    assert main(["schema", str(folder / "dates.csv"), "-o", str(dictionary)]) == 0
    text = dictionary.read_text()
    assert "admitted on,date,,,,," in text
    text = text.replace("admitted on,date,,", "admitted on,date,2024-01-01,2024-12-31")
    dictionary.write_text(text.replace("back,text,,,,", "back,category,,,no|yes,target"))
    predicted = []
    for data in ("dates.csv", "dates.parquet"):
        model, out = folder / f"{data}.txt", folder / f"{data}.out"
        known = ["--schema", str(dictionary), "--epsilon", "8", "--trees", "20"]
        assert main(["fit", str(folder / data), *known, "-o", str(model)]) == 0
        for rows in ("dates.csv", "dates.parquet"):
            assert main(["predict", str(model), str(folder / rows), "-o", str(out)]) == 0
            predicted.append(pd.read_csv(out)["probability"])
            assert np.mean((predicted[-1] > 0.5) == (day > 180)) > 0.9
    for from_text, from_parquet in (predicted[:2], predicted[2:]):
        np.testing.assert_array_equal(from_text, from_parquet)


def test_nothing_is_spent_for_a_file_that_cannot_be_written(folder, capsys, monkeypatch):
    def fit_nothing(*_, **__):
        raise AssertionError

    monkeypatch.setattr(fit_command, "_model", fit_nothing)
    assert fit(folder, "--html", str(folder / "absent" / "page.html"))[0] == 2
    assert "the folder does not exist" in capsys.readouterr().err


def test_a_dictionary_that_was_filled_in_is_not_replaced(folder, capsys):
    before = (folder / "dictionary.csv").read_text()
    assert main(["schema", str(folder / "data.csv"), "-o", str(folder / "dictionary.csv")]) == 2
    assert "already exists" in capsys.readouterr().err
    assert (folder / "dictionary.csv").read_text() == before


def test_the_defaults_are_those_of_the_estimators():
    options = fit_command_options("--epsilon", "1")
    default = DPBoostClassifier().get_params()
    spending = spending_of(options)
    assert (spending.budget, spending.fraction) == (None, 1)
    assert (spending.delta, options.recipe) == (default["delta"], default["recipe"])


def test_undeclared_columns_are_named(folder, capsys):
    schema = folder / "open.json"
    schema.write_text(json.dumps({"classes": ["no", "yes"], "bounds": {"age": [0, 120]}}))
    table = pd.read_csv(folder / "data.csv")[["age", "smoker", "outcome"]]
    table.to_csv(folder / "open.csv", index=False)
    arguments = ["--target", "outcome", "--schema", str(schema), "--epsilon", "8", "--trees", "5"]
    fit_open = ["fit", str(folder / "open.csv"), *arguments, "-o", str(folder / "open.txt")]
    assert main(fit_open) == 2
    said = capsys.readouterr().err
    assert "declares no type for smoker" in said
    assert "--assume-types" in said
    assert not (folder / "open.txt").exists()
    assert main([*fit_open, "--assume-types"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "The guarantee compares tables with the same column types." in words
    assert (
        "column types" in dpboost.Booster(model_file=folder / "open.txt").privacy_report.guarantee
    )


def test_declared_types_are_no_condition(folder, capsys):
    code, model = fit(folder)
    assert code == 0
    assert "column types" not in " ".join(capsys.readouterr().out.split())
    assert dpboost.Booster(model_file=model).privacy_report.assumed_public == ()


@pytest.mark.parametrize("cell", ["3", "3.5", "", "x"])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_no_cell_changes_a_declared_type(cell, kind, tmp_path):
    (tmp_path / "dictionary.csv").write_text(
        f"name,type,role\nvisits,{kind},\ncost,number,target\n"
    )
    (tmp_path / "data.csv").write_text("visits,cost\n" + "1,2\n2,4\n" * 40 + f"{cell},3\n")
    declared = declaration_of(str(tmp_path / "dictionary.csv"), None)
    rows = rows_of_file(str(tmp_path / "data.csv"), declared, task="regression")
    assert rows.X["visits"].dtype == float
    model = dpboost.DPBoostRegressor(
        schema=declared.schema, n_estimators=2, noise_seed=1, assume_public=("classes",)
    )
    model.fit(rows.X, rows.y)
    assert model.schema_.integer == ({0} if kind == "integer" else set())


def test_files_that_are_none_are_refused_without_their_content(folder, capsys):
    bad = folder / "bad.csv"
    bad.write_text('a,b\n1,2\n"secret,3,4\n5')
    assert main(["schema", str(bad)]) == 2
    assert "secret" not in capsys.readouterr().err
    assert main(["predict", str(bad), str(bad)]) == 2
    assert main(["predict", str(folder / "absent"), str(bad)]) == 2


def test_a_model_lacks_no_column(folder, capsys):
    _, model = fit(folder)
    few = folder / "few.csv"
    few.write_text("age\n3\n")
    assert main(["predict", str(model), str(few)]) == 2
    assert "lacks columns of the model: sex, ward, smoker" in capsys.readouterr().err


def fit_command_options(*more):
    parser = argparse.ArgumentParser()
    fit_command.add_arguments(parser)
    return parser.parse_args(["data.csv", "-o", "model.txt", *more])


def judge(folder, model, *more, data="data.csv"):
    arguments = ["evaluate", str(model), str(folder / data)]
    schema = [] if "--schema" in more else ["--schema", str(folder / "dictionary.csv")]
    users = [] if "--schema" in more else ["--rows-per-user", "3"]
    return main([*arguments, *schema, *users, "--epsilon", "8", "--delta", "1e-6", *more])


def test_a_saved_model_is_judged_as_the_estimator_is(folder, capsys):
    _, model = fit(folder)
    capsys.readouterr()
    assert judge(folder, model, "--metrics", "auc,accuracy", "--groups", "sex") == 0
    out = capsys.readouterr().out
    assert "accuracy" in out
    assert "F" in out
    assert "Privacy: epsilon = 8" in out
    found = float(re.search(r"^  auc\s+([0-9.]+)", out, re.MULTILINE)[1])
    rows = pd.read_csv(folder / "data.csv")
    predictions = folder / "judged.csv"
    assert main(["predict", str(model), str(folder / "data.csv"), "-o", str(predictions)]) == 0
    truth = roc_auc_score(rows["outcome"] == "yes", pd.read_csv(predictions)["probability"])
    assert found == pytest.approx(truth, abs=0.06)


def test_a_saved_regressor_is_judged(folder, capsys):
    schema = folder / "judged.json"
    schema.write_text(json.dumps({"bounds": {"age": [0, 120]}, "label_bounds": [0, 4]}))
    rows = pd.DataFrame({"age": np.linspace(18, 90, 3000)})
    rows.assign(dose=rows["age"] / 30).to_csv(folder / "doses.csv", index=False)
    model, known = folder / "doses.txt", ["--target", "dose", "--schema", str(schema)]
    data = str(folder / "doses.csv")
    assert main(["fit", data, *known, "--epsilon", "8", "--trees", "50", "-o", str(model)]) == 0
    capsys.readouterr()
    assert judge(folder, model, *known, data="doses.csv") == 0
    out = capsys.readouterr().out
    assert float(re.search(r"^  r2\s+([0-9.]+)", out, re.MULTILINE)[1]) > 0.8
    assert "quantile_loss" not in out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--groups", "smoker"], "must be listed in the schema"),
        (["--metrics", "absent"], "metrics"),
        (["--target", "age"], "2 classes"),
    ],
)
def test_what_cannot_be_judged_is_refused(folder, capsys, change, message):
    _, model = fit(folder)
    capsys.readouterr()
    assert judge(folder, model, *change) == 2
    assert message in capsys.readouterr().err


def test_a_forecast_from_public_rows(folder, capsys):
    known = ["--schema", str(folder / "dictionary.csv"), "--delta", "1e-6"]
    asked = ["forecast", "--rows", "2000", "--epsilon", "0.5", "2", *known]
    assert main(asked) == 0
    assert "without public rows (like=...)" in capsys.readouterr().out
    like = folder / "public.csv"
    pd.read_csv(folder / "data.csv").head(120).to_csv(like, index=False)
    picture = folder / "forecast.png"
    assert main([*asked, "--like", str(like), "--plot", str(picture)]) == 0
    assert "auc" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main([*asked, "--plot", str(folder / "forecast.absent")]) == 2
    assert main(["forecast", "--rows", "2000", "--epsilon", "1"]) == 2


@pytest.mark.parametrize("command", [None, *COMMANDS, "audit"])
def test_help_is_what_is_printed_and_shows_an_example(command, capsys):
    words = [] if command is None else [command]
    with pytest.raises(SystemExit) as left:
        main([*words, "--help"])
    assert left.value.code == 0
    shown = capsys.readouterr().out
    assert len(shown) > 200
    if command != "audit":
        assert shown == help_of(command)
        assert f"\n  dpboost {' '.join(words)}" in shown


def test_the_module_is_the_program():
    done = subprocess.run(
        [sys.executable, "-m", "dpboost", "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parents[3],
    )
    assert done.stdout.startswith("dpboost ")


def test_parity_tells_of_names_files_and_kinds(tmp_path, capsys):
    assert main(["parity"]) == 0
    assert capsys.readouterr().out.strip() == page().strip()
    assert main(["parity", "--kind", "refused"]) == 0
    assert "linear_tree" in capsys.readouterr().out
    assert main(["parity", "num_leaf", "early_stopping"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["num_leaves", "early_stopping_round", "early_stopping"]
    config = tmp_path / "train.conf"
    config.write_text("# from LightGBM\nnum_trees = 50\n\nlinear_tree=false\nextra_seed = 3 # x\n")
    assert main(["parity", "--config", str(config)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == [
        "num_trees = 50",
        "linear_tree = false",
        "extra_seed = 3",
    ]
    assert ["used" in lines[0], "holds" in lines[1], "no effect" in lines[2]] == [True] * 3


@pytest.mark.parametrize("text", ["", "num_leaves 7", "num_leafs = 7"])
def test_parity_refuses_files_that_are_none(tmp_path, capsys, text):
    config = tmp_path / "train.conf"
    config.write_text(text)
    assert main(["parity", "--config", str(config)]) == 2
    assert "dpboost parity: " in capsys.readouterr().err


def test_the_engine_without_noise_is_near_lightgbm(capsys):
    assert main(["parity", "--figure"]) == 0
    areas = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert len(areas) == 3
    assert max(areas) - min(areas) < 0.005
    assert min(areas) > 0.8


def test_a_party_reads_weights_and_persons_from_columns_of_its_file(tmp_path):
    from dpboost.cli.party_command import party_of
    from dpboost.federated import Agreement

    terms = Agreement(
        n_parties=2,
        features=("age",),
        schema={"bounds": {"age": (0, 100)}, "classes": [0, 1]},
        weighted=True,
        objective={"max_weight": 3.0},
        rows_per_user=2,
    )
    (tmp_path / "agreement.json").write_text(terms.to_json(), "utf-8")
    lines = ["patient,age,ill,weight", "a,30,0,1", "b,60,1,2.5", "a,31,0,1.5", "a,32,1,2"]
    (tmp_path / "rows.csv").write_text("\n".join(lines), "utf-8")
    settings = {
        "party": 0,
        "agreement": str(tmp_path / "agreement.json"),
        "data": str(tmp_path / "rows.csv"),
        "target": "ill",
    }
    held = party_of({**settings, "weight": "weight", "user": "patient"})._rows.raw(terms)
    assert held.column(0).tolist() == [30, 60, 31]
    assert held.labels.tolist() == [0, 1, 0]
    assert held.extras.sample_weight.tolist() == [1, 2.5, 1.5]
    wrong = [
        ({"weight": "weight"}, "'user_ids' parameter of Party"),
        ({"user": "patient"}, "'sample_weight' parameter of Party"),
        ({"weight": "height", "user": "patient"}, "no column 'height'"),
        ({"weight": "weight", "user": "name"}, "no column 'name'"),
    ]
    for more, message in wrong:
        with pytest.raises(InvalidParameterError, match=message):
            party_of({**settings, **more})


@pytest.fixture(scope="module")
def churn(tmp_path_factory):
    """Return a folder with a table as it comes: an identifier, text, a blank number."""
    where = tmp_path_factory.mktemp("churn")
    rng = np.random.default_rng(1)
    n = 3000
    months = rng.integers(0, 73, n)
    contract = rng.choice(["Month-to-month", "One year", "Two year"], n, p=[0.55, 0.21, 0.24])
    charges = np.round(rng.uniform(18, 119, n), 2)
    total = [" " if not m else f"{m * c:.2f}" for m, c in zip(months, charges, strict=True)]
    leaves = rng.random(n) < np.where(contract == "Month-to-month", 0.75 - months / 100, 0.05)
    pd.DataFrame(
        {
            "customerID": [f"{k:04d}-XY" for k in range(n)],
            "tenure": months,
            "Contract": contract,
            "MonthlyCharges": charges,
            "TotalCharges": total,
            "Churn": np.where(leaves, "Yes", "No"),
        }
    ).to_csv(where / "churn.csv", index=False)
    return where


def test_three_commands_from_a_table_to_a_certificate(churn, capsys):
    dictionary, model = churn / "dictionary.csv", churn / "model.txt"
    assert main(["schema", str(churn / "churn.csv"), "-o", str(dictionary)]) == 0
    assert "customerID" in capsys.readouterr().err
    text = dictionary.read_text()
    assert "customerID,text,,,,ignore," in text
    fit_it = ["fit", str(churn / "churn.csv"), "--schema", str(dictionary), "--epsilon", "4"]
    fit_it += ["--holdout", "0.3", "-o", str(model)]
    # What is left to the user is said at once, for all columns.
    text = text.replace("Churn,text,,,,,", "Churn,category,,,No|Yes,target,")
    dictionary.write_text(text)
    assert main(fit_it) == 2
    said = capsys.readouterr().err
    assert "Contract: is text; make its type 'category'" in said
    assert "TotalCharges" not in said  # a number, blank where there is none
    text = text.replace("Contract,text", "Contract,category")
    text = text.replace("TotalCharges,number,,", "TotalCharges,number,0,9000")
    dictionary.write_text(text)
    assert main(["check", str(churn / "churn.csv"), "--schema", str(dictionary)]) == 0
    assert "TotalCharges" in capsys.readouterr().out
    assert main(fit_it) == 0
    printed = capsys.readouterr().out
    assert float(re.search(r"^  auc\s+([0-9.]+)", printed, re.MULTILINE)[1]) > 0.7
    certificate = churn / "certificate.json"
    assert main(["report", str(model), "--certificate", str(certificate)]) == 0
    assert json.loads(certificate.read_text())["claim"]["epsilon"] == 4
    # The learned values are in the model, so that stock LightGBM reads the text of new rows.
    capsys.readouterr()
    ask = ["predict", str(model), str(churn / "churn.csv"), "--schema", str(dictionary)]
    assert main([*ask, "--id", "customerID"]) == 0
    header, first = capsys.readouterr().out.splitlines()[:2]
    assert header == "customerID,prediction,probability_No,probability_Yes"
    name, label, no, yes = first.split(",")
    assert name == "0000-XY"
    assert label == ("Yes" if float(yes) > float(no) else "No")


def test_whether_numbers_are_classes_has_to_be_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("credit.csv").write_text("ID,AGE,class\n" + "1,30,0\n2,40,1\n" * 20)
    ask = ["fit", "credit.csv", "--target", "class", "--epsilon", "4", "-o", "model.txt"]
    assert main(ask) == 2
    assert "--task classification or --task regression" in capsys.readouterr().err


def test_a_model_is_replaced_only_by_force(churn, capsys):
    model = churn / "there.txt"
    model.write_text("a year of work")
    code = main(["fit", str(churn / "churn.csv"), "--epsilon", "1", "-o", str(model)])
    assert code == 2
    assert "--force" in capsys.readouterr().err
    assert model.read_text() == "a year of work"


def test_columns_without_a_line_are_left_out_and_named(churn, capsys):
    dictionary = churn / "few.csv"
    dictionary.write_text(
        "name,type,lower,upper,values,role\ntenure,integer,0,72,,\nChurn,category,,,No|Yes,target\n"
        "age,integer,0,120,,\n"
    )
    given = ["fit", str(churn / "churn.csv"), "--schema", str(dictionary), "--epsilon", "4"]
    given += ["--trees", "5", "-o", str(churn / "few.txt"), "--force"]
    assert main(given) == 2
    assert "age: the file has no such column" in capsys.readouterr().err
    dictionary.write_text(dictionary.read_text().replace("age,integer,0,120,,\n", ""))
    assert main(given) == 0
    left_out = "customerID, Contract, MonthlyCharges, TotalCharges"
    assert f"does not name {left_out}" in capsys.readouterr().err
    assert lightgbm.Booster(model_file=str(churn / "few.txt")).feature_name() == ["tenure"]


def test_a_budget_is_charged_by_fits_and_scores_and_refuses_more(folder, tmp_path, capsys):
    budget, model = tmp_path / "table.budget", tmp_path / "model.txt"
    assert main(["budget", str(budget), "--epsilon", "8", "--rows-per-user", "3"]) == 0
    known = ["--schema", str(folder / "dictionary.csv"), "--budget", str(budget)]
    fit_it = ["fit", str(folder / "data.csv"), *known, "--trees", "20", "-o", str(model)]
    assert main([*fit_it, "--fraction", "1/2"]) == 0
    judged = ["evaluate", str(model), str(folder / "data.csv"), *known, "--metrics", "auc"]
    assert main([*judged, "--fraction", "0.25"]) == 0
    assert main([*fit_it, "--fraction", "1/2", "--force"]) == 2
    capsys.readouterr()
    picture = tmp_path / "spent.png"
    assert main(["budget", str(budget), "--plot", str(picture)]) == 0
    assert "Gaussian account: 25 % left" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_certificate_says_what_was_declared_and_who_approved(folder, tmp_path, capsys):
    _, model = fit(folder)
    dictionary = folder / "dictionary.csv"
    stated = ["--schema", str(dictionary), "--state", "approved_by=A. Name"]
    stated += ["--state", "why_this_epsilon=decision of 12 May, x=1"]
    record, page = tmp_path / "certificate.json", tmp_path / "certificate.html"
    assert main(["report", str(model), "--certificate", str(record), *stated]) == 0
    found = json.loads(record.read_text())
    digest = hashlib.sha256(dictionary.read_bytes()).hexdigest()
    assert found["data"]["data_schema"] == f"dictionary.csv, SHA-256 {digest}"
    assert found["approval"]["approved_by"] == "A. Name"
    assert found["approval"]["why_this_epsilon"] == "decision of 12 May, x=1"
    assert found["approval"]["approved_on"] == "not stated by the user"
    assert main(["report", str(model), "--certificate", str(page), *stated]) == 0
    assert "A. Name" in page.read_text()
    capsys.readouterr()
    for wrong in (["--state", "approved_by"], ["--state", "nobody=x"], ["--sign", "absent.key"]):
        assert main(["report", str(model), "--certificate", str(page), *wrong]) == 2
        assert wrong[1].partition("=")[0] in (said := capsys.readouterr().err) or "page" in said


def test_scores_are_kept_for_the_certificate(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = ["--schema", str(folder / "dictionary.csv"), "--rows-per-user", "3", "--epsilon", "8"]
    data = str(folder / "data.csv")
    fit_it = ["fit", data, *known, "--trees", "20", "--scores", "held.json", "-o", "model.txt"]
    assert main(fit_it) == 2
    assert "--holdout PART" in capsys.readouterr().err
    assert main([*fit_it, "--holdout", "0.3", "--html", "page.html"]) == 0
    page = Path("page.html").read_text("utf-8")
    assert "Scores of rows held out of the fit" in page
    assert "Together with the fit, under its budget: Differentially private" in page
    judged = ["evaluate", "model.txt", data, *known, "--delta", "1e-6", "--metrics", "auc"]
    assert main([*judged, "--groups", "sex", "--scores", "other.json"]) == 0
    ask = ["report", "model.txt", "--certificate", "c.json"]
    capsys.readouterr()
    assert main([*ask, "--scores", "held.json", "--scores", "other.json"]) == 0
    scores = json.loads(Path("c.json").read_text())["scores"]
    groups = [score["group"] for score in scores if score["metric"] == "auc"]
    assert groups[:4] == ["all rows", "all rows", "F", "M"]
    assert {score["metric"] for score in scores} > {"accuracy", "log_loss", "auc"}
    assert all(score["low"] <= score["value"] <= score["high"] for score in scores[:8])
    _, another = fit(folder)
    assert main(["report", str(another), *ask[2:], "--scores", "held.json"]) == 2
    assert "must be of its model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "--epsilon, or --budget FILE"),
        (["--epsilon", "1", "--budget", "b"], "--epsilon, or --budget FILE"),
        (["--epsilon", "1", "--fraction", "1/2"], "pass --budget FILE too"),
        (["--budget", "b"], "--fraction PART"),
        (["--budget", "b", "--fraction", "1/2", "--delta", "0"], "excludes --delta"),
        (["--budget", "absent", "--fraction", "1/2"], "absent"),
    ],
)
def test_what_may_be_spent_is_said_once(folder, tmp_path, capsys, given, message):
    data, model = str(folder / "data.csv"), str(tmp_path / "model.txt")
    assert main(["fit", data, *given, "-o", model]) == 2
    assert message in capsys.readouterr().err


def test_a_report_with_a_budget_lists_its_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age = rng.integers(0, 90, 800)
    table = pd.DataFrame({"age": age, "out": np.where(age > 40, "yes", "no")})
    table.to_csv("data.csv", index=False)
    lines = "name,type,lower,upper,values,role\n"
    Path("d.csv").write_text(f"{lines}age,integer,0,120,,\nout,category,,,no|yes,target\n")
    Path("other.csv").write_text(f"{lines}dose,number,0,1,,\nout,category,,,no|yes,target\n")
    assert main(["budget", "b.budget", "--epsilon", "3", "--delta", "1e-6"]) == 0
    spend = ["--budget", "b.budget", "--fraction", "1/2"]
    assert main(["fit", "data.csv", "--schema", "d.csv", *spend, "-o", "m.txt"]) == 0
    capsys.readouterr()
    assert main(["report", "m.txt", "--budget", "b.budget", "--html", "r.html"]) == 0
    text = capsys.readouterr().out
    assert "The budget: epsilon = 3, delta = 1e-06 for everything; all lines" in text
    assert "DPBoostClassifier" in text
    assert "The budget: epsilon = 3" in Path("r.html").read_text("utf-8")
    ask = ["report", "m.txt", "--certificate", "c.json", "--schema"]
    assert main([*ask, "d.csv"]) == 0
    assert main([*ask, "other.csv"]) == 2
    said = capsys.readouterr().err
    assert "age" in said
    assert "dose" in said


def test_dates_are_asked_about(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("since,age\n2024-01-01,3\n2024-02-01,4\n")
    assert main(["schema", "data.csv", "-o", "d.csv"]) == 0
    assert "since: the cells look like dates" in capsys.readouterr().err


def test_an_unknown_target_is_told_with_the_columns_of_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("ward,age\na,3\nb,4\n")
    Path("d.csv").write_text(
        "name,type,lower,upper,values,role\nward,text,,,,\nage,integer,0,9,,\n"
    )
    assert main(["fit", "data.csv", "--schema", "d.csv", "--epsilon", "1", "-o", "m.txt"]) == 2
    said = capsys.readouterr().err
    assert "--target COLUMN, or set the role 'target' in a line" in said
    assert "ward: is text" in said


def test_messages_of_commands_have_no_words_of_python(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(0, 90, 3000), "out": "no"})
    table.loc[:9, "out"] = "yes"
    table.to_csv("data.csv", index=False)
    Path("d.csv").write_text(
        "name,type,lower,upper,values,role\nage,integer,500,900,,\nout,category,,,no|yes,target\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["fit", "data.csv", "--schema", "d.csv", "--epsilon", "1", "-o", "m.txt"]) == 0
    said = capsys.readouterr()
    assert "within 3 standard deviations" in said.err
    assert "are at an end of the declared range" in said.err
    for word in ("Schema(", "schema=", "dpboost.train", "recipe="):
        assert word not in said.err + said.out


def test_warnings_of_arithmetic_do_not_reach_whoever_types_commands(monkeypatch, capsys):
    def run(options):
        print(np.array([np.inf]) - np.inf)

    monkeypatch.setattr(COMMANDS["budget"], "run", run)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["budget", "b.budget"]) == 0
    said = capsys.readouterr()
    assert "nan" in said.out
    assert said.err == ""


def test_a_look_at_rows_finds_the_same_in_python(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": [f"x{row}" for row in range(200)],
            "age": rng.integers(0, 90, 200),
            "ward": rng.choice(["a", "b", "c"], 200),
            "unit": rng.choice(["p", "q"], 200),
            "cost": [" " if row % 9 == 0 else str(row) for row in range(200)],
            "out": rng.choice(["no", "yes"], 200),
        }
    )
    table.to_csv("data.csv", index=False)
    Path("d.csv").write_text(
        "name,type,lower,upper,values,role\nid,text,,,,ignore\nage,integer,0,60,,\n"
        "ward,category,,,a|b,\nunit,category,,,,\ncost,number,0,100,,\n"
        "out,category,,,no|yes,target\n"
    )
    assert main(["check", "data.csv", "--schema", "d.csv"]) == 0
    found = dpboost.Schema.from_data_dictionary("d.csv").check(table)
    assert capsys.readouterr().out == f"{found}\n"
    assert {(each.column, each.what) for each in found.findings} == {
        *(("age", "clipped"), ("ward", "other"), ("unit", "learned")),
        *(("cost", "missing"), ("cost", "clipped")),
    }
