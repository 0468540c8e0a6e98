"""The page of wrong inputs says what is said today, and every message names what it must."""

import re

import pytest

from tests.wrong_inputs import CALLS, COMMANDS, PAGE, Call, messages, page


@pytest.fixture(scope="module")
def said():
    return messages()


def test_there_are_thirty():
    assert len({*COMMANDS, *CALLS}) == 30


@pytest.mark.parametrize("case", [*COMMANDS, *CALLS], ids=lambda case: case.what)
def test_a_message_names_what_is_wrong_and_its_cure(case, said):
    for part in case.holds:
        assert part in said[case]
    assert "Traceback" not in said[case]
    # In the words of the interface in use.
    if isinstance(case, Call):
        assert "--" not in said[case]
    else:
        assert not re.search(r"parameter of|DPBoost\w+", said[case])


def test_the_page_is_what_is_said(said):
    assert PAGE.read_text() == page(said), "python -m tests.wrong_inputs writes it again"
