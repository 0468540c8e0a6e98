"""Programs and commands of the README and of the documents run as they stand."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpboost import DataDictionary
from dpboost.cli.main import main
from dpboost.recipes import BEST

pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Blocks that need servers or tools of theirs.
NEEDS = {
    "more-rows.md": ("distributed", "pyspark", "pyarrow"),
    "other-tools.md": ("onnxmltools", "skl2onnx"),
}


def blocks(path: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path)], ids=lambda p: p.stem)
def test_a_page_runs_as_it_stands(path, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    for name in NEEDS.get(path.name, ()):
        pytest.importorskip(name)
    if "pyspark" in NEEDS.get(path.name, ()):
        if shutil.which("java") is None:
            pytest.skip("there is no Java runtime")
        # Spark keeps the folder that it was started in, perhaps by another test.
        program = "\n".join(text for _, text in blocks(path))
        subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
        return
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for kind, text in blocks(path):
        if kind == "python":
            exec(compile(text, str(path), "exec"), names)
            continue
        for line in text.splitlines():
            assert line.startswith("$ dpboost "), line
            assert main(shlex.split(line)[2:]) == 0, line


def test_the_dictionary_of_the_page_on_bounds_is_read():
    page = (ROOT / "docs" / "howto" / "declare-bounds.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    dictionary = DataDictionary.from_csv_text(text)
    assert {entry.type for entry in dictionary.entries} == {"integer", "category", "date", "text"}
    assert dictionary.user_column == "patient"
    assert "note" not in dictionary.features
    assert dictionary.schema_parts()["classes"] == ("no", "yes")


def test_the_recipe_of_the_contributing_page_trains():
    (text,) = [body for kind, body in blocks(ROOT / "CONTRIBUTING.md") if kind == "python"]
    names: dict = {"schema": {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}}
    exec(compile(text, "CONTRIBUTING.md", "exec"), names)
    X = np.random.default_rng(0).uniform(size=(300, 1))
    model = names["model"].set_params(n_estimators=3).fit(X, X[:, 0])
    assert model.max_depth_ == 2


class TheirRegressor:
    """Stands for an estimator of the reader: it tells noise alone."""

    def __init__(self, epsilon, bounds):
        self.noise = np.random.default_rng()

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.noise.normal(size=len(X))


@pytest.mark.nightly
def test_the_page_on_audits_runs_with_what_a_reader_brings():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    names: dict = {
        "X": X,
        "y": X[:, 0],
        "TheirRegressor": TheirRegressor,
        "MINE": replace(BEST, name="mine"),
        "mine": lambda y, p: (np.clip(p - y, -1, 1), np.ones(len(y))),
    }
    path = ROOT / "docs" / "auditing-your-own.md"
    for _, text in blocks(path):
        exec(compile(text, str(path), "exec"), names)
    assert not names["found"].violations


def test_the_pages_have_programs():
    assert len([path for path in PAGES if blocks(path)]) > 15


def test_the_report_of_the_readme_is_the_one_that_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (code,) = [body for kind, body in blocks(ROOT / "README.md") if kind == "python"]
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith(shown)


def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    dpboost (.*)$", text, re.MULTILINE)
    assert [shlex.split(command)[0] for command in commands] == ["schema", "fit"]
    rng = np.random.default_rng(0)
    age = rng.integers(18, 91, 2000)
    income = np.where(age + rng.normal(0, 10, 2000) > 50, "high", "low")
    pd.DataFrame({"age": age, "income": income}).to_csv("data.csv", index=False)
    assert main(shlex.split(commands[0])) == 0
    # What a person does in between: fill the dictionary in.
    text = Path("dictionary.csv").read_text()
    text = text.replace("age,integer,,", "age,integer,18,90")
    text = text.replace("income,text,,,,", "income,category,,,high|low,")
    Path("dictionary.csv").write_text(text)
    assert main(shlex.split(commands[1])) == 0
    assert Path("model.txt").is_file()
