"""Thirty wrong inputs and the messages that they get: ``python -m tests.wrong_inputs``.

Writes ``docs/reference/messages.md``; a test compares the page with what is said today. Each case
names what its message has to hold: the parameter or column, the value or type, and the cure in the
words of the interface.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import dpboost
from dpboost.cli.main import main

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "messages.md"

_HEAD = """\
# Error messages for invalid inputs

This page lists thirty invalid inputs, for the command line and for Python, with their error
messages. An input is refused before the first release, so nothing is drawn or charged. Messages
name columns and parameters. They never name a cell, a row or a count, because these are private.
`python -m tests.wrong_inputs` writes this page.

The table is `stays.csv`, with the columns patient, age, ward, dose and outcome. Its data dictionary
is `dictionary.csv`:

```text
{dictionary}```
"""

DICTIONARY = """\
name,type,lower,upper,values,role
patient,text,,,,ignore
age,integer,0,120,,
ward,category,,,eyes|surgery,
dose,number,0,50,,
outcome,category,,,no|yes,target
"""


class Command(NamedTuple):
    """A wrong command.

    Parameters
    ----------
    what : str
        What is wrong.
    line : str
        The arguments.
    holds : tuple of str
        What the message has to hold.
    dictionary : tuple of (str, str)
        What is replaced in the data dictionary first.
    """

    what: str
    line: str
    holds: tuple[str, ...]
    dictionary: tuple[tuple[str, str], ...] = ()


class Call(NamedTuple):
    """A wrong call: its lines are Python."""

    what: str
    code: str
    holds: tuple[str, ...]


_FIT = "fit stays.csv --schema dictionary.csv"
_MODEL = "--epsilon 1 -o new.txt"

COMMANDS = (
    Command("no epsilon", f"{_FIT} -o new.txt", ("--epsilon", "--budget FILE")),
    Command(
        "a negative epsilon",
        f"{_FIT} --epsilon -1 -o new.txt",
        ("--epsilon", "-1", "(0, inf]"),
    ),
    Command(
        "a budget file without a fraction",
        f"{_FIT} --budget table.budget -o new.txt",
        ("--budget", "--fraction PART"),
    ),
    Command(
        "a missing dictionary",
        f"fit stays.csv --schema absent.csv {_MODEL}",
        ("absent.csv", "cannot be read", "dpboost schema"),
    ),
    Command(
        "a target missing from the dictionary",
        f"{_FIT} --target absent {_MODEL}",
        ("target", "'absent'", "age"),
    ),
    Command(
        "text columns without a type",
        f"{_FIT} {_MODEL}",
        ("patient", "ward", "'category'", "'ignore' or 'user'"),
        (
            ("patient,text,,,,ignore", "patient,text,,,,"),
            ("ward,category,,,eyes|surgery", "ward,text,,,"),
        ),
    ),
    Command(
        "a column missing from the file",
        f"{_FIT} {_MODEL}",
        ("height", "no such column", "'ignore'"),
        (("dose,number", "height,number"),),
    ),
    Command(
        "an unknown type",
        f"{_FIT} {_MODEL}",
        ("'dose'", "'numbr'", "number, integer"),
        (("dose,number", "dose,numbr"),),
    ),
    Command(
        "only one end of a range",
        f"{_FIT} {_MODEL}",
        ("'age'", "one end", "both"),
        (("age,integer,0,120", "age,integer,0,"),),
    ),
    Command(
        "two targets",
        f"{_FIT} {_MODEL}",
        ("'dose'", "'outcome'", "'target'"),
        (("dose,number,0,50,,", "dose,number,0,50,,target"),),
    ),
    Command(
        "users without a contribution bound",
        f"{_FIT} --user patient {_MODEL}",
        ("--user", "--rows-per-user"),
    ),
    Command(
        "a holdout fraction above one",
        f"{_FIT} --holdout 1.5 {_MODEL}",
        ("--holdout", "1.5", "(0, 1)"),
    ),
    Command(
        "an existing model file",
        f"{_FIT} --epsilon 1 -o model.txt",
        ("model.txt", "--force"),
    ),
    Command(
        "a missing folder",
        f"{_FIT} --epsilon 1 -o absent/model.txt",
        ("absent", "folder"),
    ),
    Command(
        "rows without a feature of the model",
        "predict model.txt ages.csv",
        ("ages.csv", "ward, dose"),
    ),
    Command(
        "a missing identifier column",
        "predict model.txt stays.csv --id number",
        ("--id", "stays.csv", "'number'", "patient"),
    ),
    Command(
        "an unknown metric",
        "evaluate model.txt stays.csv --schema dictionary.csv --epsilon 1 --metrics acc",
        ("--metrics", "'acc'", "accuracy"),
    ),
    Command(
        "a statement without a text",
        "report model.txt --certificate c.json --state approved_by",
        ("--state approved_by", "approved_by='A. Name'"),
    ),
)


CALLS = (
    Call(
        "text instead of a number",
        'dpboost.DPBoostClassifier(epsilon="one").fit(X, y)',
        ("'epsilon'", "'one'", "number"),
    ),
    Call(
        "a misspelled parameter of the guarantee",
        "dpboost.DPBoostClassifier(epsilom=1.0).fit(X, y)",
        ("epsilom", "epsilon"),
    ),
    Call(
        "an unknown recipe",
        'dpboost.DPBoostClassifier(recipe="bst").fit(X, y)',
        ("'recipe'", "'bst'", "'best'"),
    ),
    Call(
        "a misspelled part of a schema",
        'dpboost.DPBoostClassifier(schema={"bound": {"age": (0, 120)}}).fit(X, y)',
        ("'bound'", "'bounds'"),
    ),
    Call(
        "a range with swapped ends",
        'dpboost.Schema(bounds={"age": (120, 0)})',
        ("bounds['age']", "(120, 0)", "lower"),
    ),
    Call(
        "a column missing from the table",
        'dpboost.DPBoostClassifier(schema={"bounds": {"aeg": (0, 120)}}).fit(X, y)',
        ("'bounds'", "'aeg'", "'age'"),
    ),
    Call(
        "text without declared values",
        'dpboost.DPBoostClassifier(schema=schema).fit(table[["age", "dose", "ward"]], y)',
        ("'ward'", "type object", "Schema(categories="),
    ),
    Call(
        "class labels for a regressor",
        "dpboost.DPBoostRegressor().fit(X, y)",
        ("labels y", "numbers", "DPBoostClassifier"),
    ),
    Call(
        "labels of a different length",
        "dpboost.DPBoostClassifier(schema=schema).fit(X, y[:-1])",
        ("X", "y"),
    ),
    Call(
        "a budget without a fraction",
        "dpboost.DPBoostClassifier(schema=schema).fit(X, y, budget=budget)",
        ("'fraction'", "fraction=0.5"),
    ),
    Call(
        "user ids without a contribution bound",
        'dpboost.DPBoostClassifier(schema=schema).fit(X, y, user_ids=table["patient"])',
        ("rows_per_user", "user_ids"),
    ),
    Call(
        "an evaluation without a budget",
        "dpboost.evaluate(model, X, y)",
        ("budget=", "fraction="),
    ),
)


def run_command(case: Command) -> str:
    """Return what a command says, without its name; it must be refused."""
    text = DICTIONARY
    for old, new in case.dictionary:
        assert old in text, old
        text = text.replace(old, new)
    Path("dictionary.csv").write_text(text)
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(shlex.split(case.line))
    Path("dictionary.csv").write_text(DICTIONARY)
    assert code == 2, (case.line, code, said.getvalue())
    return said.getvalue().strip().partition(": ")[2].replace(f"{os.getcwd()}/", "")


def run_call(case: Call) -> str:
    """Return what a call says; it must be refused."""
    table = pd.read_csv("stays.csv")
    # As older pandas reads text too.
    table = table.astype(dict.fromkeys(("patient", "ward", "outcome"), object))
    names = {
        "dpboost": dpboost,
        "table": table,
        "X": table[["age", "dose"]],
        "y": table["outcome"],
        "schema": {"bounds": {"age": (0, 120), "dose": (0, 50)}, "classes": ["no", "yes"]},
        "budget": dpboost.Budget(epsilon=1, delta=1e-6),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "model" in case.code:
            fitted = dpboost.DPBoostClassifier(schema=names["schema"], n_estimators=2)
            names["model"] = fitted.fit(names["X"], names["y"])
        try:
            exec(case.code, names)
        except (ValueError, TypeError) as error:
            return str(error)
    raise AssertionError(f"not refused: {case.code}")


@contextlib.contextmanager
def in_a_folder() -> Iterator[None]:
    """Work in a folder with a table, its dictionary, a model and a budget."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            rng = np.random.default_rng(0)
            n = 300
            age = rng.integers(18, 90, n)
            table = pd.DataFrame(
                {
                    "patient": [f"p{k}" for k in range(n)],
                    "age": age,
                    "ward": rng.choice(["eyes", "surgery"], n),
                    "dose": np.round(rng.uniform(0, 50, n), 1),
                    "outcome": np.where(age > 50, "yes", "no"),
                }
            )
            table.to_csv("stays.csv", index=False)
            table[["age"]].to_csv("ages.csv", index=False)
            Path("dictionary.csv").write_text(DICTIONARY)
            quiet = io.StringIO()
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                fit_it = [*shlex.split(_FIT), "--epsilon", "1", "--trees", "2", "-o", "model.txt"]
                assert main(fit_it) == 0
                assert main(["budget", "table.budget", "--epsilon", "1"]) == 0
            yield
        finally:
            os.chdir(before)


def messages() -> dict[Command | Call, str]:
    """Return what is said of every case."""
    with in_a_folder():
        said: dict[Command | Call, str] = {case: run_command(case) for case in COMMANDS}
        return said | {case: run_call(case) for case in CALLS}


def page(said: dict[Command | Call, str]) -> str:
    """Return the page."""
    parts = [_HEAD.format(dictionary=DICTIONARY)]
    for title, kind in (("On the command line", Command), ("In Python", Call)):
        parts.append(f"## {title}\n")
        parts += [_part(case, text) for case, text in said.items() if isinstance(case, kind)]
    return "\n".join(parts)


def _part(case: Command | Call, text: str) -> str:
    """Return what the page says of a case."""
    if isinstance(case, Command):
        language, given = "text", f"dpboost {case.line}"
        changed = " and ".join(f"`{new}`" for _, new in case.dictionary)
    else:
        language, given, changed = "python", case.code, ""
    note = f" (with {changed} in the dictionary)" if changed else ""
    head = f"**{case.what[0].upper()}{case.what[1:]}**{note}"
    return f"{head}\n\n```{language}\n{given}\n```\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(messages()))
