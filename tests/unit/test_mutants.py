"""The planter of bugs plants what its rules say, at one place at a time."""

import ast
import json
from pathlib import Path

import pytest

import dpboost
from tests.mutants import __main__ as command
from tests.mutants.kernels import KERNEL_MUTANTS, changed
from tests.mutants.rules import RULES, Mutant, mutants, places, planted
from tests.mutants.tracing import traced

SOURCES = {
    "halve a sensitivity": "x = Sensitivity('l1', 4, 'why')",
    "skip a clip": "x = np.clip(y, 0, 1)",
    "skip a conversion": "x = to_integer_units(y, 0, 1)",
    "take replace for add/remove": "x = neighbors.rows * 2",
    "swap the kind of a scope": "with ledger.parallel('parts'):\n    pass",
    "take the exact value for the released one": "x = ledger.release(noise, value, label='sums')",
    "let all rows of a user in": "x = sample_rows(users, 2, words)",
    "forget a group": "x = for_group(accountant, 3)",
    "halve a charge": "x = accountant.cost(noise, bound)",
    "book no failure": "x = release(noise, value, delta=failure)",
    "shrink a constant": "x = 4 * units",
    "move a border": "x = spent > capacity",
}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_changes_its_place_and_no_other(rule):
    source = f"{SOURCES[rule]}\ny = 1\n{SOURCES[rule]}\n"
    found = places(rule, source)
    assert len(found) == 2
    first, second = (ast.unparse(planted(rule, source, number)) for number in (0, 1))
    plain = ast.unparse(ast.parse(source))
    assert len({first, second, plain}) == 3
    compile(planted(rule, source, 0), "<mutant>", "exec")


def test_a_probe_stands_before_each_line_and_changes_nothing():
    source = "def f(x):\n    if x > 1:\n        x = 2\n    else:\n        x = 3\n    return x\n"
    found = set()
    space = {"_dpboost_mutants_line": found.add}
    exec(compile(traced(source, "m", {2, 3, 5}), "m", "exec"), space)
    assert space["f"](2) == 2
    assert found == {"m:2", "m:3"}
    assert space["f"](0) == 3
    assert found == {"m:2", "m:3", "m:5"}


def test_kernels_have_each_line_that_is_changed():
    root = Path(__file__).parents[2]
    assert len({mutant.key for mutant in KERNEL_MUTANTS}) >= 20
    for mutant in KERNEL_MUTANTS:
        source = (root / "cython_ext" / mutant.source).read_text()
        assert changed(mutant, root) != source, mutant.key


def test_every_survivor_is_explained_and_nothing_else():
    survivors = {key for key, result in command.kept().items() if result["state"] != "seen"}
    reasons = json.loads(command.EXPLAINED.read_text())
    assert set(reasons) == survivors
    assert all(reasons.values())


def test_all_cases_of_the_file_that_is_named_like_the_module_are_tried():
    found = {
        "lines": {"dpboost.rows.sums:7": ["t/test_sums.py::test_a[1]", "t/test_other.py::test_b"]},
        "seconds": {
            "t/test_other.py::test_b": 0.1,
            "t/test_sums.py::test_a[1]": 0.2,
            "t/test_sums.py::test_a[2]": 0.3,
            "t/test_sums.py::test_c": 0.1,
        },
    }

    def tests(module, line):
        mutant = Mutant(rule="skip a clip", module=module, line=line, number=0, text="x")
        return command.tests_of(mutant, found)

    assert tests("dpboost.rows.sums", 7) == [
        ["t/test_sums.py::test_a"],
        ["t/test_other.py::test_b"],
        [],
    ]
    assert tests("dpboost.rows.other", 1) == [["t/test_other.py::test_b"], [], []]
    assert tests("dpboost.rows.nothing", 1) == [[], [], []]


@pytest.mark.nightly
def test_there_are_at_least_three_hundred():
    found = list(mutants(Path(dpboost.__file__).parent))
    assert len(found) >= 300
    assert {mutant.rule for mutant in found} == set(RULES)
