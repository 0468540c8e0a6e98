"""The figures of the README and of the page of results are those of the measurements."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest

from benchmarks import best_picture, readme_picture
from benchmarks.harness.results import read, values
from benchmarks.harness.run import RESULTS

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "explanation" / "results.md"

MEASURES = {"adult": "AUC", "bank": "AUC", "cod_rna": "AUC", "abalone": "RMSE"}


def tables(path: Path) -> list[list[list[str]]]:
    """Return the tables of a page as lines of cells."""
    found: list[list[list[str]]] = []
    inside = False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            if not inside:
                found.append([])
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        inside = line.startswith("|")
    return found


def table(path: Path, head: str) -> list[list[str]]:
    """Return the one table whose first cell is this."""
    (found,) = (each for each in tables(path) if each[0][0] == head)
    return found


def measured(name: str, data: str, method: str, epsilon: float, measure: str) -> list[float]:
    """Return one number a repeat; a method without privacy has one for every epsilon."""
    rows = read(RESULTS / f"{name}.csv").measured()
    wanted = {"data": data, "method": method, "measure": measure}
    return values(rows, **wanted, epsilon=epsilon) or values(rows, **wanted, epsilon=None)


def with_error(numbers: list[float], digits: int = 4) -> str:
    error = statistics.stdev(numbers) / len(numbers) ** 0.5
    return f"{statistics.fmean(numbers):.{digits}f} ± {error:.{digits}f}"


HEAD = "mean ± standard error"

#: Method and run of each line of the first table, by what stands before its number of splits.
LINES = {
    "`best`": ("best", "best"),
    "LightGBM, no privacy": ("LightGBM", "best"),
    "constant prediction": ("constant", "best"),
}


def test_the_first_table_of_the_readme_is_what_was_measured():
    assert tables(README)[0][0][0] == HEAD
    head, _, *lines = tables(README)[0]
    assert [line[0].rpartition(", ")[0] for line in lines] == list(LINES)
    for line in lines:
        name, _, splits = line[0].rpartition(", ")
        method, run = LINES[name]
        for column, cell in zip(head[1:], line[1:], strict=True):
            data, _, epsilon = column.lower().partition(", epsilon ")
            numbers = measured(run, data, method, float(epsilon), MEASURES[data])
            assert splits == f"{len(numbers)} splits"
            assert cell == with_error(numbers), (method, column)


def test_the_pictures_results_are_those_of_the_table():
    assert readme_picture.made_of(readme_picture.PICTURE.read_bytes()) == readme_picture.digest(), (
        "draw it again: python -m benchmarks.readme_picture"
    )


def test_the_picture_is_drawn_again_of_the_results():
    image = readme_picture.picture()
    assert image.startswith(b"\x89PNG")
    assert readme_picture.made_of(image) == readme_picture.digest()
    assert readme_picture.made_of(b"no image") is None
    rows = read(readme_picture.SOURCE).measured()
    assert {row.method for row in readme_picture.shown(rows, "adult", "AUC")} == {
        "best",
        "DP-EBM",
        "LightGBM",
    }


def test_the_picture_of_a_fit_is_drawn(monkeypatch):
    monkeypatch.setattr(best_picture, "N_ROWS", 500)
    assert best_picture.picture().startswith(b"\x89PNG")
    assert best_picture.PICTURE.read_bytes().startswith(b"\x89PNG")


NAMES = {"Adult": "adult", "Bank": "bank", "cod-rna": "cod_rna", "Abalone": "abalone"}


def test_best_at_each_epsilon_is_what_was_measured():
    head, _, *lines = table(PAGE, "`best`, delta 1e-5")
    assert len(lines) == len(NAMES)
    for line in lines:
        name, _, rest = line[0].partition(",")
        measure, without = re.fullmatch(
            r" (\w+) \(LightGBM without privacy ([0-9.]+)\)", rest
        ).groups()
        data = NAMES[name]
        assert measure == MEASURES[data]
        assert (
            without == f"{statistics.fmean(measured('best', data, 'LightGBM', 1.0, measure)):.4f}"
        )
        for epsilon, cell in zip(head[1:], line[1:], strict=True):
            found = measured("best", data, "best", float(epsilon), measure)
            assert cell == f"{statistics.fmean(found):.4f}", (name, epsilon)


def test_the_recipes_of_the_paper_are_what_was_measured():
    head, _, *lines = table(PAGE, "5 splits 80/20, mean ± standard error")
    for line in lines:
        method = line[0].replace('`preset="paper"`', "preset paper")
        for column, cell in zip(head[1:], line[1:], strict=True):
            data, measure, _, epsilon = column.lower().replace(",", "").split()
            found = measured("smoke", data, method, float(epsilon), measure.upper())
            assert cell == with_error(found), (line[0], column)


CLASSES = {
    "letter (26)": "letter",
    "MNIST (10)": "mnist",
    "covtype (7)": "covtype_7",
    "KDDCup99 (23)": "kddcup99_23",
}


def test_several_classes_are_what_was_measured():
    head, _, *lines = table(PAGE, "several classes, accuracy at epsilon 1")
    methods = {
        "`best`, delta 1e-5": "best",
        "diffprivlib's random forest": "diffprivlib forest",
        "LightGBM, no privacy": "LightGBM",
    }
    for line in lines:
        for column, cell in zip(head[1:], line[1:], strict=True):
            found = measured("best-multiclass", CLASSES[column], methods[line[0]], 1.0, "accuracy")
            assert cell == f"{statistics.fmean(found):.3f}", (line[0], column)


ATTACKS = ROOT / "docs" / "explanation" / "attacks.md"


def test_fits_take_the_part_of_lightgbms_time_that_was_measured():
    head, _, *lines = table(PAGE, "time relative to LightGBM, same number of trees, 2 threads")
    _, _, *pages = tables(RESULTS / "speed.md")[0]
    assert len(lines) >= 5
    for line in lines:
        for method, cell in zip(head[1:], line[1:], strict=True):
            own = [each for each in pages if each[0].startswith(line[0]) and each[1] == method]
            assert [each[2] for each in own] == [cell], (line[0], method)


def test_the_attacks_won_what_was_measured():
    rows = read(RESULTS / "attacks.csv").measured()
    for part, (head, _, *lines) in zip(("membership", "attribute"), tables(ATTACKS), strict=True):
        assert len(lines) == 4
        for line in lines:
            name, _, epsilon = line[0].partition(", epsilon ")
            own = {"method": name.strip("`"), "epsilon": float(epsilon) if epsilon else None}
            for kind, cell in zip(head[1:3], line[1:3], strict=True):
                found = values(rows, part=part, data=kind, measure="advantage", **own)
                assert cell == with_error(found, digits=3)
            if part == "membership" and epsilon:
                bounds = values(rows, measure="bound of the advantage", data=head[1], **own)
                assert line[3] == f"{max(bounds):.3f}"


SINGLE_TREES = ROOT / "docs" / "howto" / "single-trees.md"


def test_single_trees_reach_what_was_measured():
    told = re.search(
        r"ours has an AUC of\s([\d.]+), `diffp_c45` ([\d.]+), diffprivlib's [\w ]+ ([\d.]+) ",
        SINGLE_TREES.read_text(encoding="utf-8"),
    )
    assert told is not None
    for shown, method in zip(
        told.groups(), ("best tree", "DiffPC4.5", "diffprivlib tree"), strict=True
    ):
        found = measured("trees", "adult", f"{method}, depth 4", 1.0, "AUC")
        assert shown == f"{statistics.fmean(found):.3f}"


FEDERATED_ATTACKS = ROOT / "docs" / "explanation" / "attacks-on-federated-trees.md"


def test_the_attacks_on_parties_found_what_was_measured():
    shown = tables(FEDERATED_ATTACKS)
    measured_ones = tables(RESULTS / "federated-attacks.md")
    assert len(shown) == len(measured_ones)
    assert all(each in measured_ones for each in shown)


def test_the_readme_is_short():
    text = re.sub(r"```.*?```", "", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(text.split()) <= 900


PAGES = [
    path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if path.relative_to(ROOT / "docs").parts[0] not in ("_build", "gallery", "outside")
]


@pytest.mark.parametrize(
    "path", [README, *PAGES], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_links_lead_to_files(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"https?:|mailto:|#", link):
            assert (path.parent / link.partition("#")[0]).exists(), link
