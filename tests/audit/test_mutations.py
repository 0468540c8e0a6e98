"""Every planted bug turns a named check red, which is green without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.audit.mutations import MUTATIONS, table

README = Path(__file__).parents[2] / "dpboost" / "audit" / "README.md"

# The first bug of each setting stands for the run without a bug.
SETTINGS = list({mutation.setting(): mutation for mutation in reversed(MUTATIONS)}.values())[::-1]

each = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)


@each
def test_the_bug_is_caught(mutation):
    assert mutation.check in mutation.found(planted=True)


@pytest.mark.parametrize("mutation", SETTINGS, ids=lambda mutation: mutation.name)
def test_nothing_is_found_where_nothing_is_planted(mutation):
    assert mutation.found(planted=False) == set()


def test_the_table_in_the_readme_is_that_of_the_mutations():
    assert table(MUTATIONS) in README.read_text(), "print it by: python -m tests.audit.mutations"


def test_names_are_different():
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)
