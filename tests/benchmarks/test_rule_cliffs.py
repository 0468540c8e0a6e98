"""The run that compares the rules of best on both sides of their jumps."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pandas")

from benchmarks import rule_cliffs  # noqa: E402
from benchmarks.harness.results import Result, Results  # noqa: E402
from benchmarks.harness.run import Request  # noqa: E402
from dpboost import DPBoostClassifier  # noqa: E402
from dpboost.recipes.best import BEST  # noqa: E402


def test_every_jump_of_the_rules_is_tried():
    tried = {(case.kind, case.jump) for case in rule_cliffs.cases()}
    for kind, (rules, _, _) in rule_cliffs.KINDS.items():
        assert {(kind, jump) for jump in rule_cliffs.jumps(rules)} <= tried
        for jump in rule_cliffs.jumps(rules):
            assert rule_cliffs.names_of(kind, jump)
    assert all(case.epsilon <= 8 for case in rule_cliffs.cases())


def test_a_side_has_the_rules_of_its_rows_and_the_fit_its_own():
    X, y = np.linspace(0, 1, 200)[:, np.newaxis], np.arange(200) % 2
    schema = {"bounds": {0: (0, 1)}, "classes": [0, 1]}
    rounds = []
    for recipe in (BEST, rule_cliffs.with_rules_at(8_000), rule_cliffs.with_rules_at(32_000)):
        model = DPBoostClassifier(recipe=recipe, schema=schema, noise_seed=0, verbosity=-1)
        with pytest.warns(UserWarning, match="noise_seed|private"):
            rounds.append(model.fit(X, y).booster_.num_trees())
    assert rounds == [400, 400, 800]


@pytest.mark.parametrize(
    ("above", "swing", "verdict"),
    [(0.803, 0.001, "within"), (0.82, 0.001, "**cliff**"), (0.8, 0.012, "not decided")],
)
def test_the_page_says_what_is_a_cliff(above, swing, verdict):
    rows = [
        Result(
            part="two classes",
            data="adult",
            method=side,
            epsilon=1.0,
            x="8000",
            repeat=split,
            measure="AUC",
            value=value + swing * (split % 2) * (side == rule_cliffs.ABOVE),
        )
        for split in range(10)
        for side, value in ((rule_cliffs.BELOW, 0.8), (rule_cliffs.ABOVE, above))
    ]
    facts = {"splits": "10", "two classes, from 8000": "max_depth"}
    page = "\n".join(rule_cliffs.body(Results(facts=facts, rows=rows)))
    assert f"{verdict} |" in page
    assert "| max_depth | adult |" in page


def test_a_plan_knows_which_rules_jump(monkeypatch):
    digests = {name: {} for name in rule_cliffs.PROBLEMS}
    for name in digests:
        monkeypatch.setattr(type(rule_cliffs.PROBLEMS[name]), "local_digests", lambda self: {})
    plan = rule_cliffs.plan(Request(quick=True))
    assert len(plan.units) == 2 * len(list(rule_cliffs.cases()))
    assert "n_estimators" in plan.facts["two classes, from 150000"]
