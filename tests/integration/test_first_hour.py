"""From a table as it was published to model, scores and certificate: three commands, no Python.

With DPBOOST_DATA the tables are those of their publishers, else ones of the same columns.
"""

import csv
import json
import os
import re
import shutil
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from dpboost.cli.main import main

N_ROWS = 3000
YES_NO = ("Yes", "No")
#: What the columns of the two tables hold: words, or the ends of a range of whole numbers.
CHURN = {
    "customerID": "id",
    "gender": ("Female", "Male"),
    "SeniorCitizen": (0, 1),
    "Partner": YES_NO,
    "Dependents": YES_NO,
    "tenure": (0, 72),
    "PhoneService": YES_NO,
    "MultipleLines": (*YES_NO, "No phone service"),
    "InternetService": ("DSL", "Fiber optic", "No"),
    **dict.fromkeys(
        ("OnlineSecurity", "OnlineBackup", "DeviceProtection", "TechSupport", "StreamingTV"),
        (*YES_NO, "No internet service"),
    ),
    "StreamingMovies": (*YES_NO, "No internet service"),
    "Contract": ("Month-to-month", "One year", "Two year"),
    "PaperlessBilling": YES_NO,
    "PaymentMethod": ("Electronic check", "Mailed check", "Bank transfer", "Credit card"),
    "MonthlyCharges": (18, 119),
    "TotalCharges": (0, 8700),
}
CREDIT = {
    "ID": "id",
    "LIMIT_BAL": (10_000, 800_000),
    "SEX": (1, 2),
    "EDUCATION": (0, 6),
    "MARRIAGE": (0, 3),
    "AGE": (21, 79),
    **dict.fromkeys(("PAY_0", *(f"PAY_{k}" for k in range(2, 7))), (-2, 8)),
    **{f"BILL_AMT{k}": (-50_000, 900_000) for k in range(1, 7)},
    **{f"PAY_AMT{k}": (0, 800_000) for k in range(1, 7)},
}


def made(path, columns, target, labels, of_rows):
    """Write a table of these columns, whose label follows one of them."""
    rng = np.random.default_rng(3)

    def drawn(kind):
        if kind == "id":
            return [f"{k}-XYZ" if target == "Churn" else k for k in range(N_ROWS)]
        if isinstance(kind[0], str):
            return rng.choice(kind, N_ROWS).tolist()
        return rng.integers(kind[0], kind[1] + 1, N_ROWS).tolist()

    cells = {name: drawn(kind) for name, kind in columns.items()}
    if "TotalCharges" in cells:
        cells["TotalCharges"][::500] = [" "] * len(cells["TotalCharges"][::500])
    risk = np.array([of_rows(cells, row) for row in range(N_ROWS)])
    cells[target] = [labels[int(hit)] for hit in rng.random(N_ROWS) < risk]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(cells)
        rows.writerows(zip(*cells.values(), strict=True))


def table(name, path):
    """Copy the published table, or make one of its columns."""
    folder = os.environ.get("DPBOOST_DATA")
    published = {
        "telco_churn": "telco_churn/Telco_Customer_Churn.csv",
        "default_credit": "default_credit/UCI_Credit_Card.csv",
    }
    if folder is not None:
        shutil.copyfile(Path(folder) / published[name], path)
    elif name == "telco_churn":

        def leaves(cells, row):
            monthly = cells["Contract"][row] == "Month-to-month"
            return 0.8 - cells["tenure"][row] / 120 if monthly else 0.05

        made(path, CHURN, "Churn", ("No", "Yes"), leaves)
    else:
        made(
            path,
            CREDIT,
            "class",
            (0, 1),
            lambda cells, row: 0.7 if cells["PAY_0"][row] > 1 else 0.1,
        )


def filled_in(text):
    """Return the dictionary as somebody fills it in who knows the table, in an editor."""
    lines = []
    for line in text.splitlines():
        name, *rest = line.split(",")
        if name == "Churn":
            line = "Churn,category,,,No|Yes,target,"
        elif rest[:1] == ["text"] and "ignore" not in rest:
            line = line.replace(",text,", ",category,", 1)
        lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "more"),
    [("telco_churn", []), ("default_credit", ["--target", "class", "--task", "classification"])],
)
def test_three_commands_lead_to_model_scores_and_certificate(
    name, more, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    table(name, Path("data.csv"))
    assert main(["schema", "data.csv", "-o", "dictionary.csv"]) == 0
    text = Path("dictionary.csv").read_text()
    if name == "telco_churn":
        Path("dictionary.csv").write_text(filled_in(text))
    fit_it = ["fit", "data.csv", "--schema", "dictionary.csv", *more, "--epsilon", "4"]
    fit_it += ["--holdout", "0.3", "--scores", "scores.json", "-o", "model.txt"]
    assert main(fit_it) == 0
    # An identifier is no feature, and every other column is one.
    assert re.search(r"^(ID|customerID),\w+,,,,ignore,", text, re.MULTILINE)
    columns = {line.split(",")[0] for line in text.splitlines() if ",ignore," not in line}
    found = set(lightgbm.Booster(model_file="model.txt").feature_name())
    assert found == {c for c in columns if not c.startswith(("#", "name", "Churn", "class"))}
    printed = capsys.readouterr().out
    assert "rows held out of the fit:" in printed
    assert float(re.search(r"^  auc\s+([0-9.]+)", printed, re.MULTILINE)[1]) > 0.65
    ask = ["report", "model.txt", "--scores", "scores.json", "--certificate"]
    assert main([*ask, "certificate.json"]) == 0
    # With the page, and what whoever receives the model does.
    assert main([*ask, "certificate.html"]) == 0
    assert main(["verify", "certificate.json", "model.txt"]) == 0
    found = json.loads(Path("certificate.json").read_text())
    assert found["claim"]["epsilon"] == 4
    assert {score["metric"] for score in found["scores"]} > {"auc", "accuracy", "log_loss"}
    assert all(score["held_out"] and score["in_the_budget"] for score in found["scores"])
    page = Path("certificate.html").read_text("utf-8")
    assert "all rows, held out of the fit" in page
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {
        *("data.csv", "dictionary.csv", "model.txt", "scores.json"),
        *("certificate.json", "certificate.html"),
    }
