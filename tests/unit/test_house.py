"""The plan of the house: no circle of imports, a small root, raw numbers where they may be."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "dpboost"
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
MOST_AT_THE_ROOT = 15
MOST_LINES_OF_THE_STORY = 150

# What returns raw private numbers, and the modules that may call it, with the reason.
RAW = {
    # Exact sums over all rows: wrapped as `Sensitive` at once, or a score computed from them.
    "exact": {
        "dpboost.privacy.queries",
        "dpboost.federated.training.pooled_rows",
        "dpboost.rows.gradient_statistics",
        "dpboost.rows.tree_statistics",
    },
    # Counts of categories and classes that nobody has listed: into a stability histogram.
    "tally": {"dpboost.training.public_schema"},
    # The answers of the rows of one place.
    "evaluate": {
        "dpboost.privacy.queries",
        "dpboost.dask.worker_state",
        "dpboost.federated.party.party",
        "dpboost.federated.training.pooled_rows",
        # Metrics of rows that are public: another method of this name.
        "dpboost.lightgbm.evaluation",
        "dpboost.lightgbm.kept_booster",
        "dpboost.rows.class_queries",
        "dpboost.rows.raw_rows",
    },
}


def imports(source: str) -> set[str]:
    """Return the modules of the package that a source imports, type checking included."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {
                name if (name := f"{node.module}.{alias.name}") in MODULES else node.module
                for alias in node.names
            }
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(MODULES)


def circles(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules that import themselves over others."""
    left = {name: set(others) - {name} for name, others in graph.items()}
    while leaves := [name for name, others in left.items() if not others & set(left)]:
        for name in leaves:
            del left[name]
    return sorted(left)


def callers(source: str, names: set[str]) -> set[str]:
    """Return the names among these that a source calls as methods."""
    return {
        node.func.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
    }


def test_no_import_closes_a_circle():
    graph = {name: imports(path.read_text()) for name, path in MODULES.items()}
    assert circles(graph) == []


def test_a_planted_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()}) == ["a", "b", "c"]


def test_the_root_is_small():
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_AT_THE_ROOT


def test_the_story_of_a_fit_is_one_page():
    story = MODULES["dpboost.training.fit"].read_text()
    assert len(story.splitlines()) <= MOST_LINES_OF_THE_STORY


@pytest.mark.parametrize("name", sorted(RAW))
def test_raw_private_numbers_are_asked_for_where_they_may_be(name):
    found = {module for module, path in MODULES.items() if callers(path.read_text(), {name})}
    assert found == RAW[name]


def test_a_planted_caller_is_found():
    source = "def size(rows):\n    return rows.exact(NodeSizes(nodes=[0]))\n"
    assert callers(source, set(RAW)) == {"exact"}


def test_tests_mirror_modules():
    # A folder of tests is a folder of the package; helpers and whole-house tests lie at the top.
    unit = Path(__file__).parent
    folders = {path.relative_to(unit) for path in unit.rglob("*") if path.is_dir()}
    rooms = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.is_dir()}
    strays = {
        folder
        for folder in folders
        if folder.parts[0] not in ("kernels", "__pycache__")
        and "__pycache__" not in folder.parts
        and folder not in rooms
    }
    assert strays == set()
