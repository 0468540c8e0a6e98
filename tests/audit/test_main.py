"""The command: what it prints and how it ends."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dpboost.audit import __main__ as command
from dpboost.audit import boosting_audit, parts, recipe_audit
from dpboost.audit.random_audit import random_audit
from dpboost.audit.recorded_calls import recorded_calls
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.queries import store_of
from dpboost.training import local_fit
from tests.audit.kernel_bugs import cut_selection
from tests.audit.positions import found, planted


@pytest.fixture(autouse=True)
def one_process(monkeypatch):
    monkeypatch.setattr(command, "_n_processors", lambda: 1)


@pytest.fixture
def few_witnesses(monkeypatch):
    def few(witnesses):
        return [w for w in witnesses if w.name.startswith(("one-row leaf", "lone row, level 0"))][
            :4
        ]

    bank, tree_bank = parts.bank, parts.tree_bank
    monkeypatch.setattr(parts, "bank", lambda: few(bank()))
    monkeypatch.setattr(parts, "tree_bank", lambda *arguments: few(tree_bank(*arguments)))


def run(capsys, *arguments):
    code = command.main(["--quick", "--runs", "30", *arguments])
    return code, capsys.readouterr().out


def test_a_sound_library_passes(capsys, few_witnesses):
    code, out = run(capsys, "--recipe", "seq", "--recipe", "best", "--epsilon", "0.5")
    assert code == 0
    assert "every claim stands" in out
    assert "replay: largest total loss" in out
    assert "black box" in out
    assert "0.500" in out
    assert "VIOLATION" not in out
    assert not any(line.startswith("para") for line in out.splitlines())


def test_what_is_left_out_stands_beside_the_verdict(capsys, few_witnesses):
    _, out = run(capsys, "--recipe", "seq")
    verdict, _, rest = out.partition("every claim stands\n")
    assert verdict
    assert rest.startswith("not audited:\n  Dask\n  Spark\n")
    assert (
        "not asked for: best, budget session, dpboost, non-interference, other fits, para" in rest
    )
    assert "more than 30 fits a table" in rest
    # The long run leaves out no recipe.
    assert len(parts.plan(parts.Request()).left_out) == 2


def test_witnesses_on_which_fits_end_in_an_error_are_told(capsys, few_witnesses, monkeypatch):
    audit = parts.replay_recipe

    def stopped(*arguments, **options):
        result = audit(*arguments, **options)
        result.skipped.append(("<a witness>", "some error"))
        return result

    monkeypatch.setattr(parts, "replay_recipe", stopped)
    assert "stopped by an error: seq, <a witness>" in run(capsys, "--recipe", "seq")[1]


def test_trees_are_audited_too(capsys, few_witnesses):
    code, out = run(capsys, "--recipe", "tree:best", "--epsilon", "0.5")
    assert code == 0
    assert "leaf counts, part of its charge" in out
    assert "black box, max_depth 0" in out


def test_everything_has_a_part():
    names = {part.name for part in parts.plan(parts.Request()).parts}
    assert {
        "samplers",
        "non-interference",
        "budget session",
        "best",
        "best, delta 0",
        "seq",
        "tree:histograms_saving",
    } <= names
    assert any(name.startswith("other fits") for name in names)


def test_calls_are_replayed_without_rows(capsys, monkeypatch):
    few = [call for call in recorded_calls(quick=True) if call.name == "best, regressor"]
    monkeypatch.setattr(parts, "recorded_calls", lambda **_: few)
    code, out = run(capsys, "--recipe", "non-interference")
    assert code == 0
    assert re.search(r"far tables: recipes +16 +[\d.]+  ok", out)
    fit = local_fit.fit

    def telling(rows, *arguments):
        print(len(store_of(rows)._rows.labels))
        return fit(rows, *arguments)

    monkeypatch.setattr(local_fit, "fit", telling)
    code, out = run(capsys, "--recipe", "non-interference")
    assert code == 1
    assert "far table: recorded outcomes" in out


def test_a_broken_library_fails(capsys, few_witnesses, monkeypatch):
    draw = DiscreteLaplace.draw
    monkeypatch.setattr(
        DiscreteLaplace,
        "draw",
        lambda self, value, bound, entropy: draw(
            self, value, replace(bound, constant=max(1, bound.constant // 2)), entropy
        ),
    )
    code, out = run(capsys, "--recipe", "seq")
    assert code == 1
    assert "VIOLATION" in out
    assert "entry cost" in out


def test_a_violation_in_the_black_box_fails_too(capsys, few_witnesses, monkeypatch):
    monkeypatch.setattr(recipe_audit.BoxAudit, "violated", True)
    assert run(capsys, "--recipe", "dpboost")[0] == 1


def test_the_long_run_fits_as_often_as_it_takes(capsys, few_witnesses, monkeypatch):
    asked = []

    def black_box(recipe, setting, *, n_runs, **options):
        asked.append((recipe, n_runs))
        return boosting_audit.black_box(recipe, setting, n_runs=10, **options)

    monkeypatch.setattr(parts, "black_box", black_box)
    monkeypatch.setattr(parts, "replay_recipe", lambda *_, **__: parts.RecipeAudit("best", 1.0))
    assert command.main(["--recipe", "best", "--recipe", "seq"]) == 0
    one_tree, ensembles = asked[::2], asked[1::2]
    assert one_tree == [("best", 100_000)] * 2 + [("seq", 20_000)]
    assert ensembles == [("best", 10_000)] * 2 + [("seq", 2_000)]
    assert capsys.readouterr().out.count("n_estimators 5") == 3


def test_a_sampler_that_leaves_out_what_is_rare_fails(capsys, monkeypatch):
    bug = cut_selection(found("selection kernel")[2], 20)
    monkeypatch.setattr(*planted("selection kernel", bug))
    for slower in ("dependent_noise", "sampler_laws", "local_reports"):
        monkeypatch.setattr(parts, slower, list)
    code, out = run(capsys, "--recipe", "samplers")
    assert code == 1
    assert "rare outcome: permute-and-flip" in out


def test_parts_run_in_processes_of_their_own(capsys, few_witnesses, monkeypatch):
    monkeypatch.setattr(command, "_n_processors", lambda: 2)
    code, out = run(capsys, "--recipe", "seq", "--recipe", "para")
    assert code == 0
    lines = [line.split()[0] for line in out.splitlines() if "replay:" in line]
    assert lines == ["seq", "para"]


def test_random_fits_are_replayed_for_some_minutes(capsys):
    assert command.main(["--minutes", "0.02", "--seed", "3"]) == 0
    assert "seed 3: " in capsys.readouterr().out


def test_a_bug_shows_in_random_fits(capsys, monkeypatch):
    draw = DiscreteLaplace.draw
    monkeypatch.setattr(
        DiscreteLaplace,
        "draw",
        lambda self, value, bound, entropy: draw(
            replace(self, epsilon=2 * self.epsilon), value, bound, entropy
        ),
    )
    assert command.main(["--minutes", "0.05", "--seed", "3"]) == 1
    assert "entry cost" in capsys.readouterr().out


def test_random_fits_repeat_by_their_seed():
    first, second = (random_audit(n_replays=6, seed=11) for _ in range(2))
    assert (first.n_replays, first.n_refused) == (second.n_replays, second.n_refused)
    assert first.violations == second.violations == []


def test_unknown_recipes_are_refused(capsys):
    with pytest.raises(SystemExit) as caught:
        command.main(["--recipe", "nonsense"])
    assert caught.value.code == 2
    assert "nonsense" in capsys.readouterr().err
