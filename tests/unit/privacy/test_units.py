"""An epsilon and a cost in an accountant's unit are two types for the type checker."""

import pytest

PROLOGUE = """
from fractions import Fraction
from dpboost.privacy.accounting import GDPAccountant
from dpboost.privacy.exact_arithmetic import cost_of, epsilon_of, pure_cost
from dpboost.privacy.mechanisms import DiscreteLaplace
epsilon, cost = epsilon_of(Fraction(1)), cost_of(Fraction(1))
accountant, delta = GDPAccountant(), Fraction(1, 10**6)
"""


@pytest.fixture(scope="module")
def type_errors(tmp_path_factory):
    api = pytest.importorskip("mypy.api")
    cache = tmp_path_factory.mktemp("cache")

    def errors(line):
        file = cache / "snippet.py"
        file.write_text(PROLOGUE + line + "\n", encoding="utf-8")
        found, _, _ = api.run([str(file), "--cache-dir", str(cache), "--no-error-summary"])
        return found

    return errors


def test_units_that_are_right_pass(type_errors):
    right = "accountant.capacity(epsilon, delta) - cost, DiscreteLaplace(epsilon=epsilon / 2)"
    assert type_errors(right + ", cost + pure_cost(epsilon), cost * 3 > 0") == ""


@pytest.mark.parametrize(
    "wrong",
    [
        "cost + epsilon",
        "epsilon < cost",
        "accountant.capacity(cost, delta)",
        "accountant.noise(epsilon)",
        "DiscreteLaplace(epsilon=cost)",
        "cost + Fraction(1)",
        "cost * epsilon",
    ],
)
def test_mixing_units_is_a_type_error(type_errors, wrong):
    assert "error:" in type_errors(wrong)
