"""Keeps which test runs the line of which mutant, and how long it takes: a plugin of pytest.

A call before each statement that a rule may change notes its line; the modules are otherwise as
they are, so that the tests take about the time that they take without it.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.mutants.rules import mutants

VARIABLE = "DPBOOST_MUTANTS_TRACE"
_PROBE = "_dpboost_mutants_line"
_hits: set[str] = set()
_found: dict[str, dict[str, Any]] = {}


def traced(source: str, module: str, lines: set[int]) -> ast.Module:
    """Return the syntax tree of a source with a probe before each statement on these lines."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and isinstance(node, ast.stmt):
                inside = [part for each in block for part in _with_probe(each, module, lines)]
                setattr(node, name, inside)
    return ast.fix_missing_locations(tree)


def _with_probe(statement: ast.stmt, module: str, lines: set[int]) -> Iterator[ast.stmt]:
    """Yield a statement, after a probe where it is on one of the lines."""
    inner = getattr(statement, "body", None)
    last = inner[0].lineno - 1 if inner else statement.end_lineno
    own = sorted(lines & set(range(statement.lineno, (last or statement.lineno) + 1)))
    docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    if own and not docstring:
        for line in own:
            call = ast.parse(f"{_PROBE}({f'{module}:{line}'!r})").body[0]
            yield ast.copy_location(call, statement)
    yield statement


class _Loader(importlib.machinery.SourceFileLoader):
    lines: set[int]

    def get_code(self, fullname: str):  # type: ignore[no-untyped-def]
        source = self.get_source(fullname)
        assert source is not None
        tree = traced(source, fullname, self.lines)
        return compile(tree, self.get_filename(fullname), "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, lines: dict[str, set[int]]) -> None:
        self.lines = lines

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self.lines:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(name, spec.origin)
        spec.loader.lines = self.lines[name]
        return spec


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Collect the lines of one test, with its fixtures."""
    _hits.clear()
    yield
    _found[item.nodeid] = {"lines": sorted(_hits), "seconds": 0.0}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up setup, call and teardown; drop a test that did not pass."""
    _seconds[report.nodeid] += report.duration
    if report.outcome != "passed":
        _failed.add(report.nodeid)


_seconds: defaultdict[str, float] = defaultdict(float)
_failed: set[str] = set()


def pytest_sessionfinish() -> None:
    """Write what was found to a file of this process, in the folder that the environment names."""
    own = {
        test: {**found, "seconds": _seconds[test]}
        for test, found in _found.items()
        if test not in _failed
    }
    if own:
        folder = Path(os.environ[VARIABLE])
        (folder / f"trace-{os.getpid()}.json").write_text(json.dumps(own))


def install() -> None:
    """Trace the modules that have mutants, where the environment asks for it."""
    if VARIABLE not in os.environ:
        return
    if any(name.partition(".")[0] == "dpboost" for name in sys.modules):
        raise RuntimeError("The package was imported before it could be traced.")
    lines: dict[str, set[int]] = defaultdict(set)
    for mutant in mutants(Path(__file__).parents[2] / "dpboost"):
        lines[mutant.module].add(mutant.line)
    setattr(builtins, _PROBE, _hits.add)
    sys.meta_path.insert(0, _Finder(dict(lines)))


install()
