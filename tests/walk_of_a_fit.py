"""What a reader of a fit has to read: ``python -m tests.walk_of_a_fit``.

Four walks on small tables: a default fit (``DPBoostClassifier`` with declared bounds and classes),
a single tree, a fit of two parties in one process, and ``evaluate``. The noise of the default fit
is seeded, as which functions are called depends on what is released.

Files and functions: those of ``dpboost/`` that are called, in any thread. What runs when a module
is imported does not count, nor what a process does once (the walk that is counted is the second
one). Compiled kernels are no Python.

A leaf release: all that is called by the function which asks the ledger for the last release of the
default fit, that function included: from the rows to the sums, the charge, the noise and the steps.

Climbs of X: the table is where the innermost running function is to which it was handed, itself or
in an object that holds it; calls and returns move it. The floor of a file is the longest chain of
imports below it. A climb is a move to a file of a higher floor. A generator is entered once. Moves
are counted from the call of ``fit`` to the first line of the model text.

Lines: all of a folder's, blank ones and docstrings among them.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import dpboost
from dpboost.federated import FederatedBoostingClassifier

PACKAGE = Path(dpboost.__file__).parent
ROOT = f"{PACKAGE}/"
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
# An object holds the table if so many steps along attributes lead from it to the table.
STEPS = 4


class Called(NamedTuple):
    """One call: how many of the package run, and which function it is of."""

    depth: int
    file: str
    function: str
    first_line: int


def watch(function: Callable[[], Any], on_event: Callable[[FrameType, str], None]) -> None:
    """Call a function, and tell of each call and return of the package, in any thread."""

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        ours = code.co_filename.startswith(ROOT) and code.co_name != "<module>"
        if ours and event in ("call", "return"):
            on_event(frame, event)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def file_of(frame: FrameType) -> str:
    """Return the file of a frame, within the package."""
    return frame.f_code.co_filename.removeprefix(ROOT)


def calls(function: Callable[[], Any]) -> list[Called]:
    """Return the calls of functions of the package, in order."""
    found: list[Called] = []
    depth = 0

    def look(frame: FrameType, event: str) -> None:
        nonlocal depth
        depth += 1 if event == "call" else -1
        if event == "call":
            code = frame.f_code
            found.append(Called(depth, file_of(frame), code.co_name, code.co_firstlineno))

    watch(function, look)
    return found


def called_files(function: Callable[[], Any]) -> set[str]:
    """Return the files of the package of which a call runs functions."""
    return {call.file for call in calls(function)}


def last_release(found: list[Called]) -> list[Called]:
    """Return the calls of the function that asks for the last release, itself at the head."""
    asked = max(
        position
        for position, call in enumerate(found)
        if (call.file, call.function) == ("privacy/ledger.py", "release")
    )
    depth = found[asked].depth - 1
    first = max(at for at in range(asked) if found[at].depth == depth)
    after = range(first + 1, len(found))
    end = next((at for at in after if found[at].depth <= depth), len(found))
    return found[first:end]


@functools.cache
def imports() -> dict[str, set[str]]:
    """Return the files of the package that each of its files imports."""
    names = {
        ".".join(("dpboost", *path.relative_to(PACKAGE).with_suffix("").parts)): path
        for path in PACKAGE.rglob("*.py")
    }
    files = {
        name.removesuffix(".__init__"): str(path.relative_to(PACKAGE))
        for name, path in names.items()
    }
    graph: dict[str, set[str]] = {}
    for path in names.values():
        found = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {
                    whole if (whole := f"{node.module}.{alias.name}") in files else node.module
                    for alias in node.names
                }
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        own = str(path.relative_to(PACKAGE))
        graph[own] = {files[name] for name in found if name in files} - {own}
    return graph


@functools.cache
def floor(file: str) -> int:
    """Return the longest chain of imports below a file; imports have no circle."""
    return 1 + max(map(floor, imports()[file]), default=-1)


def holds(value: Any, table: Any, steps: int = STEPS) -> bool:
    """Return whether a value is the table, shares its memory, or leads to it."""
    if value is table:
        return True
    if isinstance(value, np.ndarray):
        return bool(np.may_share_memory(value, table))
    if steps == 0:
        return False
    inside: list[Any] = []
    if isinstance(value, (tuple, list)):
        inside = list(value[:20])
    elif isinstance(value, dict):
        inside = list(value.values())
    elif type(value).__module__.startswith("dpboost"):
        inside = list(getattr(value, "__dict__", {}).values())
        names = {name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())}
        for name in names - {"__weakref__"}:
            try:
                inside.append(object.__getattribute__(value, name))
            except AttributeError:
                continue
    return any(holds(each, table, steps - 1) for each in inside)


def stays(function: Callable[[], Any], table: Any) -> list[str]:
    """Return the files in which a table is, in order, up to the model text."""
    found: list[str] = []
    running: list[FrameType] = []
    generators: list[FrameType] = []
    ended = False

    def look(frame: FrameType, event: str) -> None:
        nonlocal ended
        ended = ended or file_of(frame).startswith("lightgbm/model_text/")
        if ended:
            return
        code = frame.f_code
        if event == "call":
            if code.co_flags & inspect.CO_GENERATOR:
                if any(frame is each for each in generators):
                    return
                generators.append(frame)
            taken = code.co_argcount + code.co_kwonlyargcount
            taken += bool(code.co_flags & inspect.CO_VARARGS)
            taken += bool(code.co_flags & inspect.CO_VARKEYWORDS)
            given = frame.f_locals
            if any(holds(given.get(name), table) for name in code.co_varnames[:taken]):
                running.append(frame)
        elif running and running[-1] is frame:
            running.pop()
        if running and (not found or found[-1] != file_of(running[-1])):
            found.append(file_of(running[-1]))

    watch(function, look)
    return found


def climbs(found: list[str]) -> list[str]:
    """Return the files to which a table climbs up, once for each time."""
    return [
        after
        for before, after in zip(found, found[1:], strict=False)
        if floor(after) > floor(before)
    ]


def quietly(function: Callable[[], Any]) -> Callable[[], Any]:
    """Return the function without its warnings, called once so that what is lazy has happened."""

    def call() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()

    call()
    return call


def rows(seed: int = 0) -> tuple[Any, Any]:
    """Return a small table and labels of two classes."""
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(200, 2)), rng.integers(0, 2, 200)


def default_fit(X: Any, y: Any) -> Callable[[], Any]:
    """Return a fit of an estimator with a declared schema, and all else as it is by default."""
    return quietly(
        lambda: dpboost.DPBoostClassifier(schema=SCHEMA, noise_seed=0, verbosity=-1).fit(X, y)
    )


def single_tree() -> Callable[[], Any]:
    """Return the fit of a single tree."""
    X, y = rows()
    return quietly(lambda: dpboost.DPTreeClassifier(epsilon=5.0, schema=SCHEMA).fit(X, y))


def two_parties() -> Callable[[], Any]:
    """Return a fit of two parties in one process."""
    tables = [rows(seed) for seed in range(2)]

    def fit() -> None:
        model = FederatedBoostingClassifier(epsilon=5.0, n_estimators=5, schema=SCHEMA, verbosity=0)
        model.fit(tables)

    return quietly(fit)


def evaluation() -> Callable[[], Any]:
    """Return the evaluation of a fitted model under a budget."""
    X, y = rows()
    model = quietly(
        lambda: dpboost.DPBoostClassifier(schema=SCHEMA, verbosity=-1, n_estimators=5).fit(X, y)
    )()

    def evaluate() -> None:
        budget = dpboost.Budget(epsilon=2.0, delta=1e-6)
        dpboost.evaluate(model, X, y, budget=budget, fraction=0.5)

    return quietly(evaluate)


def lines_of(room: str) -> list[int]:
    """Return the lines of each file of a room."""
    return [len(path.read_text("utf-8").splitlines()) for path in (PACKAGE / room).rglob("*.py")]


def told(name: str, found: list[Called]) -> str:
    """Return the files and functions of a walk as a line."""
    functions = {call[1:] for call in found}
    return f"{name}: {len({call.file for call in found})} files, {len(functions)} functions"


if __name__ == "__main__":
    X, y = rows()
    fit = default_fit(X, y)
    walk = calls(fit)
    print(told("default fit", walk))
    print(told("  its last leaf release", last_release(walk)))
    moves = stays(fit, X)
    up = climbs(moves)
    print(f"  X: {len(moves)} stays, {len(up)} climbs:", *up, sep="\n    ")
    print(told("single tree", calls(single_tree())))
    print(told("two parties", calls(two_parties())))
    print(told("evaluate", calls(evaluation())))
    lines = lines_of("federated")
    print(f"{sum(lines):,} lines in {len(lines)} files of dpboost/federated")
