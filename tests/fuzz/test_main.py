"""The command that goes on trying."""

import subprocess
from types import SimpleNamespace

import pytest

from tests.fuzz import __main__ as command


@pytest.fixture
def rounds(monkeypatch):
    """Commands that were run; the third one fails."""
    commands = []

    def run(arguments, *, check):
        commands.append(arguments)
        return SimpleNamespace(returncode=int(len(commands) == 3))

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_rounds_have_seeds_of_their_own_and_end_with_the_first_failure(rounds, capsys):
    assert command.main(["--minutes", "5"]) == 1
    assert len(rounds) == 3
    seeds = {argument for round_ in rounds for argument in round_ if "seed=" in argument}
    assert len(seeds) == 3
    assert capsys.readouterr().out.splitlines()[-1].startswith("failed; again: python -m tests.fuz")


def test_it_stops_after_the_minutes_and_repeats_a_seed(rounds):
    assert command.main(["--minutes", "0"]) == 0
    assert len(rounds) == 1
    assert command.main(["--seed", "7", "tests/fuzz/test_fit.py"]) == 0
    assert rounds[1][-2:] == ["--hypothesis-seed=7", "tests/fuzz/test_fit.py"]
