"""The command: what it prints and how it ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpboost.audit import __main__ as command
from dpboost.audit import boosting_audit
from dpboost.privacy.mechanisms import DiscreteLaplace
from tests.audit.kernel_bugs import cut_selection
from tests.audit.places import found, planted


def run(capsys, *arguments):
    code = command.main(["--quick", "--runs", "30", "--recipe", "seq", *arguments])
    return code, capsys.readouterr().out


def test_a_sound_library_passes(capsys):
    code, out = run(capsys, "--epsilon", "0.5")
    assert code == 0
    assert "every claim stands" in out
    assert "replay: largest total loss" in out
    assert "black box" in out
    assert "0.500" in out
    assert "VIOLATION" not in out
    assert not any(line.startswith("para") for line in out.splitlines())


def test_trees_are_audited_too(capsys):
    options = ["--quick", "--runs", "10", "--recipe", "tree:diffp_id3", "--epsilon", "0.5"]
    assert command.main(options) == 0
    out = capsys.readouterr().out
    assert "tree:diffp_id3" in out
    assert "leaf counts, part of its charge" in out
    assert "black box, max_depth 0" in out
    assert "every claim stands" in out


def test_a_broken_library_fails(capsys, monkeypatch):
    draw = DiscreteLaplace.draw
    monkeypatch.setattr(
        DiscreteLaplace,
        "draw",
        lambda self, value, bound, entropy: draw(
            self, value, replace(bound, constant=max(1, bound.constant // 2)), entropy
        ),
    )
    code, out = run(capsys)
    assert code == 1
    assert "VIOLATION" in out
    assert "entry cost" in out


def test_a_violation_in_the_black_box_fails_too(capsys, monkeypatch):
    monkeypatch.setattr(boosting_audit.BoxAudit, "violated", True)
    monkeypatch.setattr(command, "bank", lambda **options: [])
    assert run(capsys)[0] == 1


def test_the_long_run_fits_as_often_as_it_takes(capsys, monkeypatch):
    asked = []

    def black_box(recipe, setting, *, n_runs, **options):
        asked.append((recipe, n_runs))
        return boosting_audit.black_box(recipe, setting, n_runs=10, **options)

    monkeypatch.setattr(command, "black_box", black_box)
    monkeypatch.setattr(command, "bank", lambda **options: [])
    assert command.main(["--recipe", "best", "--recipe", "seq"]) == 0
    one_tree, ensembles = asked[::2], asked[1::2]
    assert one_tree == [("best", 100_000)] * 2 + [("seq", 20_000)]
    assert ensembles == [("best", 10_000)] * 2 + [("seq", 2_000)]
    assert capsys.readouterr().out.count("n_estimators 5") == 3


def test_a_sampler_that_leaves_out_what_is_rare_fails(capsys, monkeypatch):
    monkeypatch.setattr(command, "bank", lambda **options: [])
    monkeypatch.setattr(
        *planted("selection kernel", cut_selection(found("selection kernel")[2], 20))
    )
    code, out = run(capsys)
    assert code == 1
    assert "rare outcome: permute-and-flip" in out


def test_unknown_recipes_are_refused(capsys):
    with pytest.raises(SystemExit) as caught:
        command.main(["--recipe", "nonsense"])
    assert caught.value.code == 2
    assert "nonsense" in capsys.readouterr().err
