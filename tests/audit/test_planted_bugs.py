"""The audit of the whole library sees the planted bugs that it is said to see."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pytest

from tests.audit.bug_hunt import NOW, TRIES, kept, page, steps
from tests.audit.planted_bugs import BUGS

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
SEEN = {name: found for name, found in kept(NOW).items() if found["check"]}


@pytest.fixture(scope="module")
def by_name():
    return dict(steps())


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.name in SEEN], ids=lambda bug: bug.name)
def test_the_bug_is_seen(bug, by_name):
    check = by_name[SEEN[bug.name]["where"]]
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for patch in bug.patches():
            stack.enter_context(mock.patch.object(*patch))
        # What some bugs do depends on the noise.
        seen = any(
            SEEN[bug.name]["check"] in {violation.check for violation in check()}
            for _ in range(TRIES)
        )
    assert seen


def test_the_page_is_that_of_the_kept_lines():
    assert (RESULTS / "planted-bugs.txt").read_text() == page() + "\n"


def test_every_bug_has_a_name_of_its_own_and_was_hunted():
    assert len({bug.name for bug in BUGS}) == len(BUGS)
    assert set(kept(NOW)) == {bug.name for bug in BUGS}
