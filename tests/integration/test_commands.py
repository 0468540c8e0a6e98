"""Every command of the README, the documents and the examples is run by a test or at night.

A new command fails here until it stands in one of the tables below, which say who runs it, or why
nobody does.
"""

import filecmp
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import __main__ as benchmarks
from benchmarks.registry import runs
from dpboost.cli.main import COMMANDS, main
from tests.commands import ROOT, commands_of, shown
from tests.install.test_readme import commands as commands_of_the_readme
from tests.integration.test_build import PROJECT

#: Run below, in a folder with a table, its dictionary and a model; "..." stands for `REST`.
HERE = (
    "dpboost fit ... --holdout 0.2",
    "dpboost fit ... --user patient --rows-per-user 4",
    "dpboost predict model.txt new.csv -o predictions.csv",
    "dpboost evaluate model.txt other.csv --schema dictionary.csv --epsilon 1",
    "dpboost report model.txt --html report.html",
    "dpboost report model.txt --certificate certificate.json",
    "dpboost check data.csv --schema dictionary.csv",
    "dpboost parity",
    "dpboost parity num_leaves bagging_fraction cv",
    "dpboost parity --config train.conf",
    "dpboost parity --kind refused",
    "dpboost party --new-identity identity0",
    "python -m benchmarks list",
    "python -m benchmarks list accuracy",
    'python -m timeit -s "from dpboost.federated.secagg.secret_shares import PRIME, values"'
    ' "values([PRIME - 1] * 26, 50)"',
)
REST = "data.csv --target income --schema dictionary.csv --epsilon 1 --force -o again.txt"

#: Run below, at night, in a folder of their own.
AT_NIGHT = (
    "dpboost audit --quick",
    "python examples/02_audit.py --runs 20000",
    "python examples/04_local_reports.py --devices 50000 --epsilon 1",
    "python examples/05_single_tree.py --epsilon 0.5 --recipe diffp_c45",
    "python examples/07_methods_side_by_side.py --rows 50000 --plot methods.png",
    "python examples/08_in_lightgbms_place.py --plot rounds.png",
    "python examples/09_dask.py --workers 4 --rows 1000000",
    "python examples/10_whom_to_trust.py --rows 50000 --plot trust.png",
    "python examples/13_spark.py --files 4 --rows 1000000",
    "python examples/12_own_recipe.py --epsilon 0.5 --features 2",
)

#: Run below, at night, in a copy of the checkout, because they write into it. What they write is
#: what the checkout has, where a folder or file is named.
IN_A_COPY = {
    "python -m benchmarks pages": "benchmarks/results",
    "python -m benchmarks pages --figures": None,
    "python -m benchmarks.readme_picture": None,
    "python -m benchmarks.best_picture": None,
    "python -m tests.golden": "tests/golden_texts",
}

DOCUMENTS = "tests/integration/test_documents.py::test_a_page_runs_as_it_stands"
README = "tests/integration/test_documents.py::test_the_commands_of_the_readme_run"
EXAMPLES = "tests/integration/test_examples.py::test_example"
OF_THE_PROGRAM = "tests/unit/cli/test_main.py"
DEPLOYMENT = "tests/integration/test_deployment_page.py::test_five_hospitals_follow_the_page"
FLOWER = (
    "tests/integration/test_flower_example.py"
    "::test_a_network_of_processes_gives_the_model_of_one_process"
)
NVFLARE = "tests/integration/test_nvflare_example.py::test_its_model_is_that_of_one_process"

#: Patterns of commands, and the test that runs them or the stage of ``.ci/nightly``.
ELSEWHERE = {
    r"dpboost \w+ .*stays\.csv.*|dpboost forecast --rows 12000 .*": DOCUMENTS,
    r"dpboost refit .*|dpboost fit march\.csv .*": (
        "tests/unit/cli/test_refit_and_intervals.py::test_leaves_are_learned_again_under_a_budget"
    ),
    r"dpboost (fit|evaluate|report) .*--scores .*": (
        f"{OF_THE_PROGRAM}::test_scores_are_kept_for_the_certificate"
    ),
    r"python -m tests\.wrong_inputs": (
        "tests/integration/test_wrong_inputs.py::test_the_page_is_what_is_said"
    ),
    r"dpboost report model\.txt --html report\.html --certificate .*": DOCUMENTS,
    r"dpboost report model\.txt --certificate .* --state .*": (
        f"{OF_THE_PROGRAM}::test_a_certificate_says_what_was_declared_and_who_approved"
    ),
    r"dpboost report model\.txt --certificate .* --sign .*": DOCUMENTS,
    r"dpboost (keygen|verify) .*|dpboost report model\.txt --registry .*": DOCUMENTS,
    r"dpboost budget .*|dpboost (fit|evaluate) .* --budget .*": (
        f"{OF_THE_PROGRAM}::test_a_budget_is_charged_by_fits_and_scores_and_refuses_more"
    ),
    r"dpboost predict model\.txt new\.csv .* --id patient .*": (
        f"{OF_THE_PROGRAM}::test_three_commands_from_a_table_to_a_certificate"
    ),
    r"dpboost schema data\.csv -o dictionary\.csv": README,
    r"dpboost fit data\.csv --target income .* -o model\.txt": README,
    r"dpboost forecast .* --like public\.csv": (
        f"{OF_THE_PROGRAM}::test_a_forecast_from_public_rows"
    ),
    r"dpboost parity --figure": f"{OF_THE_PROGRAM}::test_the_engine_without_noise_is_near_lightgbm",
    r"openssl .*|dpboost coordinate .*|dpboost party --(new-identity identity\.?\w*|config .*)": (
        DEPLOYMENT
    ),
    r"curl .*/health": DEPLOYMENT,
    r"cd examples/06_federated_flower|python prepare\.py work": FLOWER,
    r"python -m hospitals\.party work \d": FLOWER,
    r"(python -m hospitals\.warm )?flower-su\w+ .*|flwr run \. .*": FLOWER,
    r"cd examples/06_federated_nvflare|python prepare\.py work 11": NVFLARE,
    r"python examples/\w+\.py": EXAMPLES,
    r"python -m pip install -e '\.\[docs\]'|make -C docs html": ".ci/nightly docs",
    r"apt-get install .* coq ocaml-nox|make -C proofs|git diff proofs/tables": (
        ".ci/nightly proofs"
    ),
    r"python -m pytest tests/unit/privacy/test_machine_checked\.py": ".ci/nightly proofs",
    r"python -m tests\.fuzz --minutes 10": ".ci/nightly rest",
    r"python -m dpboost\.audit|python -u -m dpboost\.audit .*": ".ci/nightly audit",
    r"python -m dpboost\.audit --minutes 10": (
        "tests/audit/test_main.py::test_random_fits_are_replayed_for_some_minutes"
    ),
    r"python -m dpboost\.audit\.record": (
        "tests/unit/reporting/test_certificate.py::test_a_run_is_taken_into_a_file"
    ),
    r"python -m pytest --replay": ".ci/nightly replay",
    r"dpboost compact .*": (
        "tests/unit/compacting/test_compact.py"
        "::test_the_command_writes_a_text_that_its_transcript_gives_again"
    ),
    r"python -m benchmarks lightgbm-suite FOLDER": ".ci/nightly suite",
    r"python -m tests\.mutants (map|run|page)": ".ci/nightly mutants",
    r"python -m benchmarks\.timing_leak": (
        "tests/benchmarks/test_timing_leak.py::test_everything_is_measured_and_written"
    ),
    r"python -m benchmarks\.transcript_cost": (
        "tests/benchmarks/test_transcript_cost.py::test_it_is_measured_and_written"
    ),
    r"python -m benchmarks\.https_cost": (
        "tests/benchmarks/test_https_cost.py::test_it_is_measured_and_written"
    ),
    r"python -m tests\.oracles( .*)?": (
        "tests/oracles/test_oracles.py::test_a_recipe_is_not_worse_than_the_literal_algorithm"
    ),
    r"python -m tests\.audit\.bug_hunt": ("tests/audit/test_planted_bugs.py::test_the_bug_is_seen"),
    r"python -m tests\.tools": ".ci/nightly tools",
    r"python -m tests\.walk_of_a_fit": (
        "tests/unit/federated/test_size.py::test_files_and_lines_of_a_fit_of_two_parties"
    ),
    r"python -m benchmarks\.first_hour": (
        "tests/install/test_first_hour.py::test_a_model_in_at_most_five_commands_and_five_minutes"
    ),
    r"\.ci/sanitize": ".ci/nightly sanitize",
    r"(bash )?\.ci/release( vVERSION benchmarks/results/release\.txt)?": ".ci/nightly release",
    r"python -m tests\.stored names": (
        "tests/unit/test_public_names.py::test_the_page_is_that_of_the_package"
    ),
    r"python -m tests\.stored": (
        "tests/integration/test_stored_formats.py::test_there_are_stored_files"
    ),
    r"python -m tests\.numbered": (
        "tests/unit/test_deviations.py::test_the_page_has_the_tables_of_the_marks"
    ),
    r"python -m pytest tests/audit": ".ci/nightly lowest",
}

#: Patterns of commands that nobody runs, and why.
NOT_RUN = {
    r"(python -m )?pip (install|download) .*": "fetches from the index; extras are compared below",
    r'git (log|ls-files) .*"(dpboost|tests)/\*\.py".*': "counts lines of a checkout with history",
    r"python -m tests\.oracles\.leaf_labels": "needs Adult; tests/oracles tests its laws",
    r"python -m tests\.oracles\.federated_curves .*": "an hour; tests/oracles compares its points",
    r"dpboost --help": "tests/unit/cli prints the help of every command",
    r'python -c "import dpboost; print\(dpboost\.__version__\)"': "every test imports it",
    r"python setup\.py build_ext --inplace": "builds; tests/integration/test_build.py",
    r"python -m benchmarks run .*": "hours; arguments are read below, code runs on small data",
    r"python examples/01_quickstart\.py --data adult .*": "downloads Adult",
    r"python -m timeit -s .* Shamir.*": "needs pycryptodome, of no extra",
    r"python job\.py work": "needs nvflare, of no extra; its test has stand-ins for that",
    r"python examples/11_audit_your_own\.py --estimator .*": "needs diffprivlib, of no extra",
    r"(bash )?\.ci/(run|nightly)( .*)?": "runs these very tests",
    r"pre-commit install": "writes into .git of the checkout",
    r"ulimit -c 0": "a setting of the user's shell",
    r"docker (build|run) .*": "needs a daemon of containers",
    r"git (tag|push) .*VERSION": "makes a release",
    r"(python -m )?dpboost( \w+)?|flwr run|pip install( -e)?": "the name of a program",
}


@pytest.fixture(scope="module")
def commands():
    return shown()


def is_of_the_readme(command):
    return command in commands_of_the_readme()


def keeper_of(command):
    """Return the pattern of `ELSEWHERE` or `NOT_RUN` that a command is of."""
    tables = (ELSEWHERE, NOT_RUN)
    found = (each for table in tables for each in table if re.fullmatch(each, command))
    return next(found, None)


def known(command):
    by_name = (*HERE, *AT_NIGHT, *IN_A_COPY)
    return command in by_name or is_of_the_readme(command) or keeper_of(command) is not None


def test_every_command_is_run_or_says_why_not(commands):
    assert {each: pages for each, pages in commands.items() if not known(each)} == {}


def test_a_new_command_would_be_seen():
    text = "Type `dpboost fit a.csv --new` or\n\n    python -m dpboost.new --all  # soon\n\n"
    text += "```console\n$ dpboost new \\\n    --x 1\n```\n```python\ndpboost new --y\n```\n"
    found = list(commands_of(text))
    assert found == ["dpboost new --x 1", "python -m dpboost.new --all", "dpboost fit a.csv --new"]
    assert not any(map(known, found))


def test_the_tables_hold_nothing_else(commands):
    by_name = [*HERE, *AT_NIGHT, *IN_A_COPY]
    assert [each for each in by_name if each not in commands] == []
    used = {keeper_of(each) for each in commands}
    assert [each for each in (*ELSEWHERE, *NOT_RUN) if each not in used] == []


@pytest.mark.parametrize("where", sorted(set(ELSEWHERE.values())))
def test_who_runs_a_command_is_there(where):
    if where.startswith(".ci/nightly"):
        stage = where.partition(" ")[2]
        text = (ROOT / ".ci" / "nightly").read_text(encoding="utf-8")
        (body,) = re.findall(rf"^stage_{stage}\(\) \{{(.*?)^\}}", text, re.MULTILINE | re.DOTALL)
        body = body.replace(".ci/tests", "python -m pytest")
        mine = [each for each in shown() if ELSEWHERE.get(keeper_of(each)) == where]
        for word in {part for each in mine for part in re.findall(r"-m (\S+)|(make .*)", each)}:
            assert "".join(word) in body
        return
    path, _, name = where.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_extras_that_the_pages_install_are_there(commands):
    extras = set(PROJECT["project"]["optional-dependencies"])
    found = {
        name
        for command in commands
        for listed in re.findall(r"pip install .*\[([\w,-]+)\]", command)
        for name in listed.split(",")
    }
    assert {"dask", "pandas", "plot", "test"} <= found <= extras


def test_runs_of_the_pages_are_there(commands):
    parser, names = benchmarks.parser(), runs()
    shown = [each for each in commands if "-m benchmarks run " in each and "run NAME" not in each]
    asked = [shlex.split(each)[3:] for each in shown]
    assert len(asked) > 20
    for arguments in asked:
        assert parser.parse_args(arguments).run in names, arguments


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("commands")
    rng = np.random.default_rng(0)
    n = 1500
    age = rng.integers(18, 91, n)
    income = np.where(age + rng.normal(0, 10, n) > 50, "high", "low")
    table = pd.DataFrame({"age": age, "income": income, "patient": rng.integers(0, 700, n)})
    for name in ("data.csv", "other.csv"):
        table.to_csv(where / name, index=False)
    table[["age"]].to_csv(where / "new.csv", index=False)
    lines = ["name,type,lower,upper,values,role", "age,integer,18,90,,"]
    lines += ["income,category,,,low|high,target", "patient,text,,,,ignore"]
    (where / "dictionary.csv").write_text("\n".join(lines) + "\n")
    (where / "train.conf").write_text("num_trees = 50\nbagging_fraction = 0.5\n")
    rest = shlex.split(REST.replace("again.txt", "model.txt"))
    previous = Path.cwd()
    os.chdir(where)
    try:
        assert main(["fit", *rest]) == 0
    finally:
        os.chdir(previous)
    return where


@pytest.mark.parametrize("command", HERE)
@pytest.mark.filterwarnings("ignore")
def test_a_command_runs(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    program, *words = shlex.split(command.replace("...", REST))
    if program == "dpboost":
        assert main(words) == 0
    elif words[:2] == ["-m", "benchmarks"]:
        assert benchmarks.main(words[2:]) == 0
    else:
        run(command, folder)


def words_of(command, root):
    """Return what runs a command of a checkout, from any folder."""
    program, *words = shlex.split(command.replace("examples/", f"{root}/examples/"))
    return [sys.executable, *(["-m", "dpboost"] if program == "dpboost" else []), *words]


def run(command, folder, root=ROOT):
    settings = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        words_of(command, root), cwd=folder, env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.nightly
@pytest.mark.parametrize("command", AT_NIGHT)
def test_a_long_command_runs(command, tmp_path):
    run(command, tmp_path)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    target = tmp_path_factory.mktemp("copy") / "checkout"
    left_out = (".git", "build", "_build", "dist", "outside", ".hypothesis", "__pycache__")
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*left_out))
    return target


@pytest.mark.nightly
@pytest.mark.parametrize("command", IN_A_COPY)
def test_a_command_that_writes_into_the_checkout_runs(command, copy):
    run(command, copy, copy)
    place = IN_A_COPY[command]
    if place is not None:
        names = [path.name for path in (ROOT / place).iterdir() if path.is_file()]
        same, *others = filecmp.cmpfiles(ROOT / place, copy / place, names, shallow=False)
        assert (sorted(same), others) == (sorted(names), [[], []])


def test_bare_names_are_commands(commands):
    named = {each.split(" ")[1] for each in commands if re.fullmatch(r"dpboost \w+", each)}
    assert named <= {*COMMANDS, "audit"}
