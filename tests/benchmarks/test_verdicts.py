from __future__ import annotations

import dataclasses

import pytest

from benchmarks.experiments import Comparison, Method, Target
from benchmarks.rows import Cell, Row
from benchmarks.summary import Summary, listed, span, summarize
from benchmarks.verdicts import comparison_lines, finding, target_lines, verdict


def rows_of(method, epsilon, values, seconds=1.0):
    return [
        Row(
            cell=Cell(problem="ramp", method=method, epsilon=epsilon, split=split),
            metric="RMSE",
            value=value,
            fit_seconds=seconds,
            n_trees=1,
            epsilon_spent=epsilon,
            n_train_rows=16,
            n_test_rows=4,
        )
        for split, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("mean", "error", "expected"),
    [
        (0.0, 0.1, "yes"),
        (-0.1, 0.06, "within two standard errors"),
        (-0.1, 0.04, "**no**"),
        (-0.1, float("nan"), "**no**"),
    ],
)
def test_a_shortfall_is_judged_by_its_standard_error(mean, error, expected):
    assert verdict(Summary(mean=mean, standard_error=error)) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(3.0, "yes"), (2.9, "within two standard errors"), (1.0, "**no**")]
)
def test_a_target_of_an_error_is_reached_from_above(experiment, bench, value, expected):
    wanted = dataclasses.replace(
        experiment, targets=(Target(problem="ramp", method="shifted", epsilon=0.5, value=value),)
    )
    lines = target_lines(rows_of("shifted", 0.5, [2.8, 3.2]), wanted, bench.problems)
    assert lines[-2].endswith(f"| 3.0000 ± 0.2000 | {value:g} | {expected} |")


def test_a_target_of_right_classes_is_judged_by_their_share(experiment, bench):
    target = Target(problem="ramp", method="shifted", epsilon=0.5, value=0.8, of_classes=True)
    wanted = dataclasses.replace(experiment, targets=(target,))
    rows = [
        dataclasses.replace(row, accuracy=accuracy)
        for row, accuracy in zip(rows_of("shifted", 0.5, [2.8, 3.2]), (0.8, 0.9), strict=True)
    ]
    line = target_lines(rows, wanted, bench.problems)[-2]
    assert line.endswith("| accuracy | 0.8500 ± 0.0500 | 0.8 | yes |")


def test_targets_without_rows_are_left_out(experiment, bench):
    wanted = dataclasses.replace(
        experiment, targets=(Target(problem="ramp", method="shifted", epsilon=9.0, value=1.0),)
    )
    assert target_lines(rows_of("shifted", 0.5, [1.0]), wanted, bench.problems) == []


def compare(experiment, bench, comparison, mine, others):
    compared = dataclasses.replace(experiment, epsilons=(0.5,), comparisons=(comparison,))
    rows = rows_of("shifted", 0.5, *mine) + rows_of("constant", None, *others)
    return comparison_lines(rows, compared, comparison, bench.problems)[-2]


def test_methods_are_compared_split_by_split(experiment, bench):
    comparison = Comparison(method="shifted", reference="constant")
    line = compare(experiment, bench, comparison, [[1.0, 3.0]], [[2.0, 4.0]])
    assert line.endswith("| +1.0000 ± 0.0000 | yes |")
    line = compare(experiment, bench, comparison, [[2.0, 4.0]], [[1.0, 3.0]])
    assert line.endswith("| -1.0000 ± 0.0000 | **no** |")


def test_a_margin_forgives_on_one_side_or_binds_both(experiment, bench):
    comparison = Comparison(method="shifted", reference="constant", margin=0.5)
    assert compare(experiment, bench, comparison, [[2.4, 2.4]], [[2, 2]]).endswith("| yes |")
    assert compare(experiment, bench, comparison, [[2.6, 2.6]], [[2, 2]]).endswith("| **no** |")
    assert compare(experiment, bench, comparison, [[1.0, 1.0]], [[2, 2]]).endswith("| yes |")
    both = dataclasses.replace(comparison, two_sided=True)
    assert compare(experiment, bench, both, [[1.0, 1.0]], [[2, 2]]).endswith("| **no** |")


def test_times_are_compared_by_their_medians(experiment, bench):
    comparison = Comparison(method="shifted", reference="constant", measure="seconds")
    line = compare(experiment, bench, comparison, [[1.0, 1.0], 0.5], [[1.0, 1.0], 2.0])
    assert line.endswith("| 0.500 s | 2.000 s | 0.25 | yes |")
    line = compare(experiment, bench, comparison, [[1.0, 1.0], 2.5], [[1.0, 1.0], 2.0])
    assert line.endswith("| 1.25 | **no** |")


def test_a_summary_of_one_value_has_no_error():
    assert f"{summarize([1.0]):2}" == "1.00"


def said(experiment, bench, rows):
    return finding([row for own in rows for row in own], experiment, bench.problems)


def test_a_finding_is_how_the_first_private_method_stands(experiment, bench):
    plain = dataclasses.replace(experiment.methods[0], library="constant")
    one = dataclasses.replace(
        experiment, epsilons=(1.0, 2.0), methods=(plain, experiment.methods[1])
    )
    rows = [rows_of("constant", None, [3.0, 3.2])]
    rows += [rows_of("shifted", epsilon, [2.8, 3.1]) for epsilon in (1.0, 2.0)]
    assert said(one, bench, rows) == (
        "Shifted is at least as good as a constant prediction in 2 of 2 comparisons (one for "
        "each table and epsilon), and worse by more than two standard errors in 0 of them."
    )


def test_a_finding_says_what_privacy_costs_and_names_peers(experiment, bench):
    methods = (
        Method(name="best", library="fake", settings={"recipe": "best"}),
        Method(name="best, pure epsilon", library="fake", settings={"recipe": "best"}),
        Method(name="other", library="fake"),
        Method(name="LightGBM", library="lightgbm_np", private=False),
    )
    target = Target(problem="ramp", method="best", epsilon=1.0, value=2.5)
    many = dataclasses.replace(experiment, methods=methods, epsilons=(1.0, 2.0), targets=(target,))
    rows = [rows_of("LightGBM", None, [2.0, 2.0])]
    for epsilon, other in ((1.0, [3.1, 3.3]), (2.0, [1.0, 1.1])):
        rows += [rows_of("best", epsilon, [3.0, 3.0]), rows_of("other", epsilon, other)]
    assert said(many, bench, rows) == (
        "`best` is at least as good as other in 1 of 2 comparisons (one for each table and "
        "epsilon), and worse by more than two standard errors in 1 of them; at epsilon 1 `best` "
        "differs from LightGBM without privacy by +50.0 % in RMSE; 0 of 1 target figures are met."
    )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"measure": "seconds"}, "Shifted takes 2.00 times as long to fit as constant."),
        ({}, "Shifted has RMSE 3.0000 ± 0.0000, and constant 4.0000 ± 0.0000 (ramp, "),
        ({"margin": 0.5}, "Shifted is at most 0.5 worse than constant in 2 of 2 comparisons."),
        (
            {"margin": 0.5, "two_sided": True},
            "Shifted is within 0.5 of constant in 0 of 2 comparisons.",
        ),
    ],
)
def test_a_finding_says_what_was_asked(experiment, bench, more, words):
    comparison = Comparison(method="shifted", reference="constant", **more)
    epsilons = (0.5, 2.0) if "margin" in more else (0.5,)
    own = dataclasses.replace(experiment, comparisons=(comparison,), epsilons=epsilons)
    rows = [rows_of("constant", None, [4.0, 4.0])]
    rows += [rows_of("shifted", epsilon, [3.0, 3.0], seconds=2.0) for epsilon in epsilons]
    assert said(own, bench, rows).startswith(words)


def test_a_list_and_a_span_are_as_long_as_they_must_be():
    assert [listed(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert [span(numbers, ".1f") for numbers in ((2.0, 1.0), (1.01, 1.02))] == ["1.0 to 2.0", "1.0"]
