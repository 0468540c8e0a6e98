"""Orderings: intervals, words and counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.harness.claims import (
    CONFIRMED,
    EQUIVALENT,
    FEW,
    FEW_AGREE,
    FEW_DISAGREE,
    HOLDS_MARGIN,
    NOT_MEASURED,
    ONE_REPEAT,
    REFUTED,
    UNDECIDED,
    Claim,
    Kind,
    counts,
    finding,
    judge,
    judged,
    sections,
)
from benchmarks.harness.results import Result


def rows_of(numbers, part="figure 1", data="d"):
    """Results by method, position and repeat."""
    return [
        Result(
            part=part, data=data, x=str(x), method=method, repeat=repeat, measure="m", value=value
        )
        for method, by_x in numbers.items()
        for x, repeats in by_x.items()
        for repeat, value in enumerate(repeats)
    ]


def claim(above="a", below="b", **more):
    return Claim(part="figure 1", text=f"{above} above {below}", above=above, below=below, **more)


FEW_ROWS = rows_of(
    {
        "a": {1: [0.8, 0.6, 0.7], 2: [0.5, 0.5, 0.5]},
        "b": {1: [0.7, 0.5, 0.61], 2: [0.6, 0.61, 0.6]},
    }
)


def test_repeats_are_compared_pair_by_pair():
    verdict = judge(claim(where=lambda data, x: x == 1), FEW_ROWS)
    differences = np.array([0.1, 0.1, 0.09])
    assert verdict.mean == pytest.approx(differences.mean())
    reach = 4.3027 * differences.std(ddof=1) / 3**0.5
    assert verdict.high - verdict.mean == pytest.approx(reach, rel=1e-3)
    assert (verdict.word, verdict.reason) == (UNDECIDED, FEW_AGREE)
    assert judge(claim(where=lambda data, x: x == 2), FEW_ROWS).reason == FEW_DISAGREE
    assert judge(claim(), FEW_ROWS).reason == FEW
    one = [row for row in FEW_ROWS if row.repeat == 0]
    assert judge(claim(), one).told == f"{UNDECIDED}: {ONE_REPEAT}"
    nothing = judge(Claim(part="figure 2", text="", above="a", below="b"), FEW_ROWS)
    assert nothing.told == NOT_MEASURED


def test_ten_repeats_confirm_and_refute():
    a = {1: [0.5 + repeat / 100 for repeat in range(10)]}
    b = {1: [0.4 + repeat / 100 + repeat % 2 / 1000 for repeat in range(10)]}
    assert judge(claim(), rows_of({"a": a, "b": b})).word == CONFIRMED
    assert judge(claim(), rows_of({"a": b, "b": a})).word == REFUTED
    nine = rows_of({"a": {1: a[1][:9]}, "b": {1: b[1][:9]}})
    assert judge(claim(), nine).reason == FEW_AGREE


def test_an_interval_is_wide_enough_for_all_claims_of_its_kind():
    where = {"where": lambda data, x: x == 1}
    alone = judge(claim(**where), FEW_ROWS)
    absent = claim(above="nobody")
    other = claim(source="another sentence", **where)
    (first, *_) = judged([claim(**where)] * 5 + [absent, claim(ours=True, **where)], FEW_ROWS)
    # Five at .05 in all: the .995 point of Student's t with two degrees of freedom.
    assert (first.high - first.mean) / (alone.high - alone.mean) == pytest.approx(
        9.9248 / 4.3027, rel=1e-3
    )
    assert judged([claim(ours=True, **where), claim(**where)], FEW_ROWS)[0].high == alone.high
    # What comes of another sentence of the paper is no part of it.
    assert judged([claim(**where), other], FEW_ROWS)[0].high == alone.high


def test_smaller_errors_are_better_and_draws_are_averaged():
    row = Result(part="figure 1", x="1", measure="m", value=0.0)
    rows = [
        replace(row, method=method, repeat=repeat, draw=draw, value=error)
        for method, repeats in {"a": [[0.1, 0.3], [0.2]], "b": [[0.5], [0.5]]}.items()
        for repeat, draws in enumerate(repeats)
        for draw, error in enumerate(draws)
    ]
    verdict = judge(claim(lower_is_better=True), rows)
    assert (verdict.n, verdict.mean) == (2, pytest.approx(0.3))


def test_a_number_without_a_position_counts_at_every_position():
    rows = rows_of({"a": {1: [0.3, 0.4], 2: [0.5, 0.6]}})
    rows += [
        Result(part="figure 1", data="d", method="b", repeat=repeat, measure="m", value=0.2)
        for repeat in range(2)
    ]
    assert judge(claim(where=lambda data, x: x == 2), rows).mean == pytest.approx(0.35)


def test_a_claim_on_one_set_looks_at_no_other():
    rows = rows_of({"a": {1: [1.0, 1.1]}, "b": {1: [0.5, 0.5]}}, data="other")
    assert judge(claim(data="d"), [*FEW_ROWS, *rows]).n == 3


def test_the_sections_count_ours_apart():
    where = {"where": lambda data, x: x == 1}
    found = judged([claim(data="d", **where), claim("b", "a", ours=True, **where)], FEW_ROWS)
    text = "\n".join(sections(found))
    assert counts(found) == (f"2 undecided (1 {FEW_AGREE}; 1 {FEW_DISAGREE})")
    assert counts(found, reasons=False) == "2 undecided"
    assert text.index("## What the paper reports") < text.index("## What we add")
    assert f"Claims: 1 undecided (1 {FEW_AGREE})." in text
    assert f"Claims: 1 undecided (1 {FEW_DISAGREE})." in text
    assert "of 1 sets" not in text  # claims of one set have their line in the table alone
    assert Kind.REPEATS.value in text
    assert Kind.DRAWS.value not in text
    assert "| b above a | figure 1 | 3 |" in text


def test_a_claim_may_be_about_one_of_several_measures():
    other = [replace(row, measure="nodes", value=-row.value) for row in FEW_ROWS]
    where = {"where": lambda data, x: x == 1}
    alone = judge(claim(**where), FEW_ROWS)
    assert judge(claim(measure="m", **where), [*FEW_ROWS, *other]).mean == alone.mean
    assert judge(claim(measure="nodes", **where), [*FEW_ROWS, *other]).mean == -alone.mean


def test_a_finding_counts_the_claims_of_the_paper_and_ours():
    rows = rows_of(
        {"a": {1: [5 + n / 10 for n in range(10)]}, "b": {1: [n / 9 for n in range(10)]}}
    )
    paper = [claim(), claim(above="b", below="a")]
    ours = [claim(ours=True)]
    assert finding(judged(paper, rows)) == (
        "Of 2 claims of the paper, 1 is confirmed and 1 refuted."
    )
    assert finding(judged(ours, rows)) == "The one claim of our own is confirmed."
    assert finding(judged([*ours, claim(), claim()], rows)) == (
        "All 2 claims of the paper are confirmed; the one claim of our own is confirmed."
    )
    assert finding([]) == ""


def ten(base, step=0.001, measure="m"):
    """Ten repeats of a point, a little apart."""
    return [base + step * (repeat % 3) for repeat in range(10)]


def compared(above, below, **more):
    return judge(claim(**more), rows_of({"a": {1: above}, "b": {1: below}}))


@pytest.mark.parametrize(
    ("apart", "margin", "word"),
    [(0.02, 0.0, CONFIRMED), (0.02, 0.01, CONFIRMED), (0.003, 0.01, EQUIVALENT),
     (-0.003, 0.01, EQUIVALENT), (-0.02, 0.01, REFUTED)],
)  # fmt: skip
def test_a_difference_within_the_margin_is_none(apart, margin, word):
    assert compared(ten(0.5 + apart), ten(0.5, 0.0011), margin=margin).word == word


def test_no_difference_in_any_repeat_is_none_without_a_margin():
    assert compared(ten(0.5), ten(0.5)).word == EQUIVALENT
    assert compared(ten(0.5), [*ten(0.5)[:-1], 0.6]).word == UNDECIDED
    assert compared(ten(0.5)[:5], ten(0.5)[:5]).word == UNDECIDED


@pytest.mark.parametrize(
    ("apart", "step", "word"),
    [(-0.003, 0.001, CONFIRMED), (-0.03, 0.001, REFUTED), (0.03, 0.001, CONFIRMED),
     (-0.045, 0.04, UNDECIDED)],
)  # fmt: skip
def test_what_reaches_is_within_the_margin_below(apart, step, word):
    verdict = compared(ten(0.5 + apart, step), ten(0.5, 0.0), margin=0.01, reaches=True)
    assert verdict.word == word
    assert verdict.reason == (HOLDS_MARGIN if word == UNDECIDED else "")


def test_two_one_sided_tests_have_an_interval_of_twice_the_error():
    numbers = ten(0.5, 0.01), ten(0.4, 0.0)
    wide = compared(*numbers, margin=0.3)
    narrow = compared(*numbers, margin=0.3, reaches=True)
    # Student's t with nine degrees of freedom: the .95 point over the .975 point.
    ratio = (narrow.high - narrow.mean) / (wide.high - wide.mean)
    assert ratio == pytest.approx(1.8331 / 2.2622, rel=1e-3)


def test_an_equality_without_a_margin_is_refused():
    with pytest.raises(ValueError, match="has no margin"):
        claim(reaches=True)


def test_a_margin_may_be_a_share_of_the_level():
    assert compared(ten(51.0), ten(50.0), margin=0.1, relative=True).margin == pytest.approx(
        5, 1e-3
    )


def test_an_interval_of_accuracies_is_no_wider_than_they_are():
    for measure, low in (("accuracy", -1.0), ("test error", -1.0), ("RMSE", -5.0)):
        rows = [
            replace(row, measure=measure)
            for row in rows_of({"a": {1: [0.9, 0.1]}, "b": {1: [0, 1]}})
        ]
        verdict = judge(claim(), rows)
        assert verdict.low == low if measure != "RMSE" else verdict.low < low


def test_the_signed_rank_test_is_that_of_scipy():
    random = np.random.default_rng(0)
    for shift in (0.0, 0.2, 0.35, 0.5, 1.0):
        a, b = random.normal(size=30), random.normal(size=30) - shift
        verdict = compared(list(a), list(b), test=Kind.SIGNED_RANK)
        p_value = stats.wilcoxon(a, b, method="asymptotic", correction=False).pvalue
        assert (verdict.word == CONFIRMED) == (p_value < 0.05 and verdict.mean > 0)
    many = [claim(test=Kind.SIGNED_RANK, source=f"sentence {n // 9}") for n in range(9)]
    rows = rows_of({"a": {1: list(a)}, "b": {1: list(b)}})
    # The paper's test is at .05 a claim.
    assert judged(many, rows)[0].high == judge(many[0], rows).high


def fits(numbers):
    """Results by method, fold and draw, at one epsilon; a method without noise has none."""
    return [
        Result(
            part="figure 1",
            data="d",
            method=method,
            epsilon=None if method == "NP" else 1.0,
            repeat=fold,
            draw=draw,
            measure="m",
            value=value,
        )
        for method, folds in numbers.items()
        for fold, draws in enumerate(folds)
        for draw, value in enumerate(draws)
    ]


def test_draws_are_the_units_where_rows_are_fixed():
    random = np.random.default_rng(1)
    # Folds are far apart, noise is small: over folds nothing is known.
    folds = [0.0, 3.0]
    a = [list(fold + 0.1 + random.normal(scale=0.02, size=6)) for fold in folds]
    b = [list(1.1 * fold + random.normal(scale=0.02, size=6)) for fold in folds]
    rows = fits({"a": a, "b": b, "NP": [[0.05], [3.1]]})
    drawn, repeated = (judge(claim(test=test), rows) for test in (Kind.DRAWS, Kind.REPEATS))
    assert (drawn.n, repeated.n) == (12, 2)
    assert drawn.mean == pytest.approx(repeated.mean)
    variance = sum(np.var(own, ddof=1) / 6 for own in (*a, *b)) / 4
    assert (drawn.high - drawn.mean) / variance**0.5 == pytest.approx(2.09, abs=0.1)
    assert (drawn.word, repeated.reason) == (REFUTED, FEW)
    # Without noise there is nothing to vary: the draws of the other count.
    assert judge(claim(below="NP", test=Kind.DRAWS), rows).n == 12


def test_one_draw_a_fold_is_judged_over_the_folds():
    rows = fits({"a": [[0.3], [0.5], [0.4]], "b": [[0.1], [0.4], [0.2]]})
    alone = judge(claim(), rows)
    for test in (Kind.DRAWS, Kind.FITS):
        drawn = judge(claim(test=test), rows)
        assert (drawn.low, drawn.high) == (alone.low, alone.high)


def test_fits_are_compared_within_folds_and_their_points_go_together():
    random = np.random.default_rng(2)
    # Folds are far apart, and a fit is off by the same at all of its points.
    by_fold = [
        {"a": fold + 0.1 + random.normal(scale=0.02, size=5), "b": [fold] * 1}
        for fold in (0.0, 3.0)
    ]
    once = fits({m: [list(own[m]) for own in by_fold] for m in ("a", "b")})
    rows = [replace(row, x=x) for row in once for x in ("1", "2", "4")]
    verdict = judge(claim(test=Kind.FITS), rows)
    assert (verdict.n, verdict.word) == (10, CONFIRMED)
    assert verdict.mean == pytest.approx(0.1, abs=0.03)
    variance = sum(np.var(own["a"], ddof=1) / 5 for own in by_fold) / 4
    assert verdict.high - verdict.mean == pytest.approx(stats.t.ppf(0.975, 8) * variance**0.5)
    # More points of the same fits are no more fits.
    assert judge(claim(test=Kind.FITS, where=lambda d, x: x == 1), rows).high == pytest.approx(
        verdict.high
    )
