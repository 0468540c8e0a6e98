"""The one way of drawing."""

from __future__ import annotations

import pytest

from benchmarks.harness.colors import MAIN
from benchmarks.harness.results import Result
from benchmarks.harness.style import Panel, color, draw, line_style, panels_of, spread


def rows(method="m", values=(0.1, 0.2), x="1"):
    return [
        Result(data="d", method=method, x=x, repeat=repeat, measure="m", value=value)
        for repeat, value in enumerate(values)
    ]


def test_a_method_has_one_color_and_its_variants_too():
    assert color("DPBoost") == color("DPBoost, logistic") == color("DPBoost*")
    assert color("Max") != color("Gini")
    assert color("nobody knows") == color("nobody knows, at all")
    assert [line_style(name) for name in ("Max", "Max, pruned", "CART, not private")] == [
        "-", "--", ":"
    ]  # fmt: skip
    uniform, bare = "DP-TopDown, uniform budget", "DP-TopDown, without noise"
    assert len({line_style(name) for name in ("DP-TopDown", uniform, bare)}) == 3
    assert line_style("Max, numeric") != line_style("Max, 10 bins")
    of_holders = (
        "a table for each split, trusted sum",
        "secure sum",
        "every holder all of the noise",
    )
    assert len({line_style(f"NoisyCounts, {name}") for name in of_holders}) == 3


def test_no_two_main_methods_have_one_color():
    assert len(set(MAIN.values())) == len(MAIN)
    assert {color(name) for name in MAIN} == set(MAIN.values())
    assert color("LightGBM") == color("NP, logistic") == MAIN["NP"]


@pytest.mark.parametrize("n_panels", [2, 12])
def test_lines_are_named_at_their_ends_or_once_for_many_panels(n_panels, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    made = []
    original = figure.Figure.savefig
    monkeypatch.setattr(
        figure.Figure, "savefig", lambda own, *a, **k: (made.append(own), original(own, *a, **k))
    )
    published = [row for x in ("1", "2") for row in rows("SEQ", (0.3,), x)]
    panel = Panel(
        title="t", x_label="x", y_label="y", rows=[*rows("SEQ"), *rows("SEQ", x="2")],
        published=published,
    )  # fmt: skip
    draw([panel] * n_panels)
    (image,) = made
    axes = image.axes[0]
    named = {text.get_text(): text.get_color() for text in axes.texts}
    assert named["paper"] == MAIN["SEQ"]
    assert ("SEQ" in named) == (n_panels == 2)
    assert bool(image.legends) == (n_panels == 12)
    dashed, plain = axes.get_lines()
    assert {line.get_color() for line in (dashed, plain)} == {MAIN["SEQ"]}
    assert (dashed.get_linestyle(), plain.get_linestyle()) == ("--", "-")


def test_names_stand_apart_and_stay_near():
    assert spread([0.2, 0.8], 0.1) == pytest.approx([0.2, 0.8])
    assert spread([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
    for shares in ([0.0, 0.0, 0.0], [1.0, 1.0], [0.1, 0.11, 0.5, 0.52, 0.9]):
        found = spread(shares, 0.1)
        assert min(found) >= -1e-9
        assert max(found) <= 1 + 1e-9
        assert all(b - a >= 0.1 - 1e-9 for a, b in zip(found, found[1:], strict=False))
    assert spread([], 0.1) == []


def test_an_image_is_a_thousand_pixels_wide_and_small():
    pytest.importorskip("matplotlib")
    published = Result(data="d", method="m", x="1", measure="published m", value=0.15)
    panels = [
        Panel(
            title="t",
            x_label="x",
            y_label="y",
            rows=[*rows(), *rows(x="2"), *rows("far", (9.0, 9.5)), *rows("flat", x="")],
            published=[published],
            limits=(0.0, 1.0),
            ticks=True,
        ),
        *panels_of(rows(), "x", "y", log_x=True),
        Panel(title="nothing", x_label="x", y_label="y", rows=[]),
    ]
    image = draw(panels)
    assert image.startswith(b"\x89PNG")
    assert int.from_bytes(image[16:20], "big") == 1000
    assert len(image) < 200_000
