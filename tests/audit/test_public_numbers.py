"""Public code is handed the same numbers on both tables, whether or not these show in the end."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from dpboost.audit.fit_variety import other_cases
from dpboost.audit.pair_replay import replay_pair
from dpboost.audit.public_numbers import CHECK, first_difference, hearing
from dpboost.growing.shrunken_leaves import value_gains
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.trees.constraints import Constraints
from tests.audit.planted_bugs import BUGS


def calls_of(function, *arguments):
    calls = []
    with hearing(calls):
        function(*arguments)
    return calls


def test_numbers_of_public_functions_are_told_apart():
    values = np.arange(4.0)
    found = calls_of(value_gains, values, 0.0)
    assert found[0][0] == "dpboost.growing.shrunken_leaves.value_gains"
    assert first_difference(found, calls_of(value_gains, values.copy(), 0.0)) is None
    for other in ((values + [0, 0, 0, 1e-12], 0.0), (values, 1e-300), (values[:2], 0.0)):
        assert first_difference(found, calls_of(value_gains, *other)) == 0


def test_another_number_of_calls_differs():
    call, other = ("a", 1), ("b", 1)
    assert first_difference([call], [call]) is None
    assert first_difference([call], [call, other]) == 1
    assert first_difference([call, other], [call]) == 1


def test_other_code_and_calls_of_private_rooms_are_not_listened_to():
    assert calls_of(Constraints.of, None, None, ["a"], "X") == []
    private = SimpleNamespace(value_gains=value_gains, np=np)
    source = "def of_rows():\n    return value_gains(np.arange(4.0), 0.0)"
    names = {**vars(private), "__name__": "dpboost.rows.any"}
    exec(compile(source, "rows.py", "exec"), names)
    assert calls_of(names["of_rows"]) == []


def test_records_of_public_rooms_are_looked_into():
    @dataclass
    class Record:
        number: float

    for module, differs in (("dpboost.trees.any", True), ("dpboost.rows.any", False)):
        Record.__module__ = module
        found, other = (calls_of(_handed, Record(number)) for number in (1.0, 2.0))
        assert (first_difference(found, other) is not None) == differs


def _handed(record):
    names = {"__name__": "dpboost.growing.any"}
    exec(compile("def public(record):\n    return None", "public.py", "exec"), names)
    names["public"](record)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 12.0])
def test_a_preference_by_exact_gains_is_seen_every_time(epsilon):
    bug = next(bug for bug in BUGS if bug.name == "features preferred by exact gains")
    cases = other_cases(Neighbors.ADD_REMOVE, epsilon=epsilon)
    witness, fit = next(case for case in cases if case[0].name == "multiclass, wrong class")
    for planted in (True, False):
        with ExitStack() as stack, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for patch in bug.patches() if planted else ():
                stack.enter_context(mock.patch.object(*patch))
            for _ in range(3):
                found = {violation.check for violation in replay_pair(fit, witness.pair).violations}
                assert (CHECK in found) == planted
