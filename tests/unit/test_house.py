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
        "dpboost.audit.pooled_rows",
        "dpboost.rows.gradient_statistics",
        "dpboost.rows.tree_statistics",
    },
    # Counts of categories and classes that nobody has listed: into a stability histogram.
    "tally": {"dpboost.training.public_schema"},
    # The answers of the rows of one place.
    "evaluate": {
        "dpboost.privacy.queries",
        "dpboost.dask.worker_state",
        "dpboost.federated.protocol.session",
        "dpboost.audit.pooled_rows",
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


# Where private floats are: the one conversion to integers is `to_integer_units`. Integers that
# change their width say casting="safe" or "same_kind", with which numpy refuses floats.
CONVERTING_ROOMS = ("data", "dask", "evaluating", "federated", "local", "losses", "privacy", "rows")
CONVERTING_ROOMS += ("training",)
INTEGER_TYPES = {f"{sign}int{size}" for sign in ("", "u") for size in ("", 8, 16, 32, 64, "p")}
INTEGER_TYPES |= {"int_", "uint_", "integer", "intc", "longlong"}
MAKES_ARRAYS = {"array", "asarray", "ascontiguousarray", "asfortranarray", "fromiter", "require"}
CASTS = {"safe", "same_kind"}
# Modules that make integers in another way, and why no float of a row comes there.
OTHER_INTEGERS = {
    "dpboost.data.binner": "public lists of codes",
    "dpboost.data.feature_bins": "public tables of bins",
    "dpboost.data.labels": "whole numbers below 2^63 that name classes",
    "dpboost.data.thresholds": "public positions of features",
    "dpboost.data.users": "numbers of users, given out by Python",
    "dpboost.local.partition": "a public tree from JSON",
    "dpboost.local.tree_growth": "a public tree",
    "dpboost.privacy.mechanisms": "released integers, for the audit",
    "dpboost.privacy.stability_histogram": "counts by Python",
    "dpboost.privacy.randomness": "random words",
    "dpboost.rows.boosting_state": "the public start of a loss, Python's integers",
    "dpboost.training.fitted_model": "the public start of a loss, Python's integers",
    "dpboost.training.private_bins": "public positions of features",
    "dpboost.training.private_stopping": "the public start of a loss, Python's integers",
}


def is_integer_type(node: ast.expr | None) -> bool:
    """Return whether an expression names a type of integers."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.lstrip("<>=|")[:1] in ("i", "u", "b")
    return getattr(node, "attr", getattr(node, "id", "")) in INTEGER_TYPES


def integers_made(source: str) -> list[str]:
    """Return the calls of a source that may turn floats into integers, unchecked."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        words = {word.arg: word.value for word in node.keywords}
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        first = node.args[0] if node.args else None
        casting = words.get("casting")
        cast = isinstance(casting, ast.Constant) and casting.value in CASTS
        literal = isinstance(first, (ast.List, ast.Tuple, ast.ListComp))
        if (
            (name == "astype" and is_integer_type(words.get("dtype", first)) and not cast)
            or (name in MAKES_ARRAYS and is_integer_type(words.get("dtype")) and not literal)
            or (isinstance(casting, ast.Constant) and casting.value == "unsafe")
        ):
            found.append(ast.unparse(node))
    return found


def test_floats_become_integers_in_one_way():
    rooms = {
        name: path
        for name, path in MODULES.items()
        if name.split(".")[1:2] and name.split(".")[1] in CONVERTING_ROOMS
    }
    found = {name for name, path in rooms.items() if integers_made(path.read_text())}
    assert found == set(OTHER_INTEGERS)


@pytest.mark.parametrize(
    "planted",
    [
        "np.rint(change * units).astype(np.int64)",
        "values.astype(dtype='<i8')",
        "values.astype(int, copy=False)",
        "np.asarray(np.rint(values), dtype=np.int32)",
        "np.add(values, 0, dtype=np.int64, casting='unsafe')",
    ],
)
def test_a_planted_conversion_is_found(planted):
    assert integers_made(f"def evaluate(values):\n    return {planted}\n") != []
    allowed = "counts.astype(np.int64, casting='safe') + to_integer_units(values, 0, 1)"
    assert integers_made(allowed) == []
