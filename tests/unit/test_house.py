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

# What holds rows or opens a handle of them: all other rooms are public.
PRIVATE_SIDE = (
    "dpboost.rows.",
    "dpboost.privacy.",
    "dpboost.cluster.partition_state",
    "dpboost.cluster.partitioned_rows",
    "dpboost.dask.dask_rows",
    "dpboost.dask.partition_tasks",
    "dpboost.spark.spark_rows",
    "dpboost.federated.party.party",
    "dpboost.federated.protocol.session",
    # The audit's simulation of parties, and what listens at the store.
    "dpboost.audit.pooled_rows",
    "dpboost.audit.call_trace",
)

# What returns raw private numbers, and the modules that may name it, with the reason.
RAW = {
    # The store behind a handle.
    "store_of": {
        "dpboost.rows.category_counts",
        "dpboost.rows.column_scores",
        "dpboost.rows.gradient_statistics",
        "dpboost.rows.tree_statistics",
    },
    "_row_store": {"dpboost.privacy.queries"},
    "_rows": set(),
    # Exact sums over all rows: wrapped as `Sensitive` at once, or a score computed from them.
    "exact": {
        "dpboost.privacy.queries",
        "dpboost.rows.column_scores",
        "dpboost.rows.gradient_statistics",
        "dpboost.rows.tree_statistics",
    },
    # Counts of categories and classes that nobody has listed: into a stability histogram.
    "tally": {"dpboost.rows.category_counts"},
    # The results of the rows of one place.
    "evaluate": {
        "dpboost.privacy.queries",
        "dpboost.cluster.partition_state",
        "dpboost.federated.protocol.session",
        "dpboost.audit.pooled_rows",
        # Queries about parts of the rows, which are read as one.
        "dpboost.rows.class_queries",
        # Metrics of rows that are public: another method of this name.
        "dpboost.estimators.evaluation_sets",
        "dpboost.estimators.kept_booster",
        "dpboost.model_selection.fold_rounds",
        "dpboost.rows.raw_rows",
    },
    # A function of what a `Sensitive` hides.
    "map": {
        "dpboost.rows.class_statistics",
        # Pick columns of scores.
        "dpboost.rows.column_scores",
        "dpboost.growing.class_selectors",
        # A method of pandas.
        "dpboost.schema.declared_types",
    },
}
# Private names in rooms that hold handles, and names that are put together at run time ("?").
OTHER_NAMES = {
    # Of an estimator.
    "dpboost.model_selection.refitting": {"_arguments", "_extra_params", "_store", "_task", "?"},
    # Fields of a schema.
    "dpboost.federated.training.agreed_fit": {"?"},
    # Fields of hyper-parameters.
    "dpboost.recipes.single_tree.dp_topdown": {"?"},
    # What the fit of a model kept of a data dictionary.
    "dpboost.evaluating.evaluate": {"?"},
}
# Which argument of a call is the name of an attribute.
LOOKUPS = {
    "getattr": slice(1, 2),
    "hasattr": slice(1, 2),
    "setattr": slice(1, 2),
    "delattr": slice(1, 2),
    "__getattribute__": slice(-1, None),
    "attrgetter": slice(0, None),
    "methodcaller": slice(0, 1),
    # The name of a command to rows.
    "apply": slice(0, 1),
    "vars": slice(0, 1),
}
# What a module imports that has to do with rows.
ROWS = ("dpboost.rows.", "dpboost.privacy.queries")
# Attributes that lead to all others.
DOORS = {"__dict__", "__self__", "__func__", "__closure__", "__getstate__", "__reduce_ex__"}


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


def is_own(node: ast.expr) -> bool:
    """Return whether an expression is the object or class whose method this is, or its parent."""
    return ast.unparse(node) in ("self", "cls", "super()")


def names_used(source: str) -> set[str]:
    """Return what a source names of other objects and modules, however it is spelt.

    A name that is put together at run time is "?".
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(ROWS):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and not is_own(node.value):
            found.add("?" if node.attr in DOORS else node.attr)
        elif isinstance(node, ast.MatchClass):
            found |= set(node.kwd_attrs)
        elif isinstance(node, ast.Call) and not (node.args and is_own(node.args[0])):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            for word in node.args[LOOKUPS.get(name, slice(0))]:
                text = word.value if isinstance(word, ast.Constant) else "?"
                found |= set(str(text).split("."))
    return found


def behind_handles(source: str) -> set[str]:
    """Return the names by which a source of a public room may reach what a handle hides."""
    used = names_used(source)
    holds = any(name.startswith(ROWS) for name in imports(source))
    hidden = {name for name in used if name == "?" or (name[0] == "_" and name[:2] != "__")}
    return used & set(RAW) | (hidden if holds else set())


def stores() -> set[str]:
    """Return the classes of the package that have exact sums."""
    return {
        node.name
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and {"exact", "apply"} <= {each.name for each in node.body if hasattr(each, "name")}
    }


def kept_stores(source: str, classes: set[str]) -> list[str]:
    """Return where a source names a store other than to put it behind a handle at once."""
    tree = ast.parse(source)
    hidden = {
        id(node.args[0].func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "RowHandle"
        and node.args
        and isinstance(node.args[0], ast.Call)
    }
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if getattr(node, "id", getattr(node, "attr", "")) in classes and id(node) not in hidden
    ]


def test_no_import_closes_a_circle():
    graph = {name: imports(path.read_text()) for name, path in MODULES.items()}
    assert circles(graph) == []


def test_a_planted_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()}) == ["a", "b", "c"]


def imported_by_name(source: str) -> set[str]:
    """Return what a source imports by a name that the linter of imports cannot see."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_module", "__import__"):
                name = node.args[0] if node.args else None
                found.add(name.value if isinstance(name, ast.Constant) else "?")
    return found


def test_no_room_is_imported_by_name():
    # The root reaches Dask's estimators only when they are asked for.
    allowed = {"dpboost": {"dpboost.dask"}}
    for module, path in MODULES.items():
        hidden = {
            name
            for name in imported_by_name(path.read_text())
            if name == "?" or str(name).split(".")[0] == "dpboost"
        }
        assert hidden == allowed.get(module, set()), module


def test_a_planted_import_by_name_is_found():
    source = "import importlib\nv = importlib.import_module('dpboost').x\n__import__(name)\n"
    assert imported_by_name(source) == {"dpboost", "?"}


# Folders that hold what another folder holds, for rows that lie elsewhere, under the same name.
MIRRORS = ("dask", "federated", "local", "spark")
MIRRORED = {"cross_validation.py", "estimators.py", "evaluation.py", "fit.py"}


def twins(sources: dict[str, str]) -> dict[str, list[str]]:
    """Return file names and public class names that mean two things, with their files."""
    found: dict[str, list[str]] = {}
    for path, source in sorted(sources.items()):
        room, name = path.split("/")[0], path.split("/")[-1]
        special = name in ("__init__.py", "__main__.py")
        if not special and not (room in MIRRORS and name in MIRRORED):
            found.setdefault(name, []).append(path)
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_every_name_is_one_thing():
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in MODULES.values()}
    assert twins(sources) == {}


def test_planted_twins_are_found():
    sources = {"rows/sums.py": "class Sum: ...", "trees/sums.py": "class _Own: ..."}
    assert twins(sources) == {"sums.py": ["rows/sums.py", "trees/sums.py"]}
    sources = {"rows/sums.py": "class Sum: ...", "trees/tree.py": "class Sum: ..."}
    assert twins(sources) == {"Sum": ["rows/sums.py", "trees/tree.py"]}
    mirrored = {"dask/fit.py": "class _Own: ...", "training/fit.py": "class _Own: ..."}
    assert twins(mirrored) == {}


def test_the_root_is_small():
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_AT_THE_ROOT


def test_the_story_of_a_fit_is_one_page():
    story = MODULES["dpboost.training.fit"].read_text()
    assert len(story.splitlines()) <= MOST_LINES_OF_THE_STORY


@pytest.fixture(scope="module")
def used():
    return {module: names_used(path.read_text()) for module, path in MODULES.items()}


@pytest.mark.parametrize("name", sorted(RAW))
def test_raw_private_numbers_are_named_where_they_may_be(name, used):
    found = {module for module, names in used.items() if name in names}
    assert found == RAW[name]


@pytest.fixture(scope="module")
def public_rooms():
    return {
        module: path.read_text()
        for module, path in MODULES.items()
        if not module.startswith(PRIVATE_SIDE)
    }


def test_public_rooms_reach_nothing_behind_a_handle(public_rooms):
    allowed = {module: {name for name in RAW if module in RAW[name]} for module in public_rooms}
    found = {
        module: behind_handles(source) - allowed[module] for module, source in public_rooms.items()
    }
    assert {module: names for module, names in found.items() if names} == OTHER_NAMES


def test_public_rooms_keep_no_store(public_rooms):
    classes = stores()
    own = {"LocalRows", "PartitionedRows", "DaskRows", "PartyRowStore", "Sites"}
    assert classes == own | {"RowStore"}
    found = {module: kept_stores(source, classes) for module, source in public_rooms.items()}
    assert {module: names for module, names in found.items() if names} == {}


PUBLIC = "from dpboost.privacy.queries import RowHandle\ndef size(handle, name, query):\n    "


@pytest.mark.parametrize(
    "planted",
    [
        "return handle.exact(query)",
        "return handle.exact",
        "read = handle.tally",
        "return handle._rows.scores",
        "return handle._row_store",
        "return queries.store_of(handle)",
        "from dpboost.privacy.queries import store_of",
        "from dpboost.privacy.queries import store_of as quiet",
        "return query.evaluate(handle)",
        "return getattr(handle, '_row_store').exact(query)",
        "return getattr(handle, 'exact', None)",
        "return getattr(handle, name)",
        "return getattr(handle, '_row' + '_store')",
        "return object.__getattribute__(handle, '_row_store')",
        "return handle.__getattribute__(name)",
        "return attrgetter('_row_store.exact')(handle)",
        "return operator.methodcaller('exact', query)(handle)",
        "return vars(handle)",
        "return handle.ask.__self__",
        "handle.apply(name)",
        "handle.apply('exact', query=query)",
        "match handle:\n        case RowHandle(_row_store=store):\n            return store",
        "seen = []\n    handle.ask(query, name).map(seen.append, bounds=())",
        "return handle._anything",
    ],
)
def test_a_planted_look_behind_a_handle_is_found(planted):
    assert behind_handles(PUBLIC + planted)


@pytest.mark.parametrize(
    "planted",
    [
        "handle.apply('take', index=1)\n    return handle.ask(query, name), handle.one_place",
        "return getattr(query, 'unit', 1.0)",
        "self._rows = 1\n    return getattr(self, name), super()._fit(query)",
    ],
)
def test_queries_and_commands_are_no_looks(planted):
    assert behind_handles(PUBLIC + planted) == set()


@pytest.mark.parametrize(
    "planted",
    [
        "rows = LocalRows(name)\n    return rows",
        "return RowHandle(store := LocalRows(name))",
        "def of(rows: RowStore): ...",
        "return isinstance(handle, queries.LocalRows)",
    ],
)
def test_a_planted_store_is_found(planted):
    assert kept_stores(PUBLIC + planted, stores())
    assert kept_stores(PUBLIC + "return RowHandle(LocalRows(name))", stores()) == []


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
CONVERTING_ROOMS = ("cluster", "data", "dask", "evaluating", "federated", "local", "losses")
CONVERTING_ROOMS += ("privacy", "rows", "spark", "training")
INTEGER_TYPES = {f"{sign}int{size}" for sign in ("", "u") for size in ("", 8, 16, 32, 64, "p")}
INTEGER_TYPES |= {"int_", "uint_", "integer", "intc", "longlong"}
MAKES_ARRAYS = {"array", "asarray", "ascontiguousarray", "asfortranarray", "fromiter", "require"}
CASTS = {"safe", "same_kind"}
# Modules that make integers in another way, and why no float of a row comes there.
OTHER_INTEGERS = {
    "dpboost.data.binner": "public lists of codes",
    "dpboost.data.feature_bins": "public tables of bins",
    "dpboost.data.labels": "whole numbers below 2^63 that name classes",
    "dpboost.data.users": "numbers of users, given out by Python",
    "dpboost.local.partition": "a public tree from JSON",
    "dpboost.privacy.mechanisms": "released integers, for the audit",
    "dpboost.privacy.stability_histogram": "counts by Python",
    "dpboost.privacy.randomness": "random words",
    "dpboost.rows.column_scores": "public cells of bins, NumPy's integers",
    "dpboost.rows.boosting_state": "the public start of a loss, Python's integers",
    "dpboost.rows.linear_sums": "sums of products of integers, exact as doubles",
    "dpboost.training.fitted_model": "the public start of a loss, Python's integers",
    "dpboost.training.private_bins": "public positions of features",
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
