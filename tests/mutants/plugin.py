"""Plants one mutant when its module is imported: ``python -m pytest -p tests.mutants.plugin``.

The variable ``DPBOOST_MUTANT`` has rule, module and number of the place, divided by ``|``; for
rebuilt kernels "kernel" and, for each, its name and file, divided by ``=``.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import sys
from collections.abc import Sequence
from types import ModuleType

from tests.mutants.rules import planted

VARIABLE = "DPBOOST_MUTANT"
#: Seconds of a processor after which the tests of one mutant end, by a signal.
SECONDS = "DPBOOST_MUTANT_SECONDS"


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a changed syntax tree; nothing of it is cached on disk."""

    rule: str
    number: int

    def get_code(self, fullname: str):  # type: ignore[no-untyped-def]
        source = self.get_source(fullname)
        assert source is not None
        tree = planted(self.rule, source, self.number)
        return compile(tree, self.get_filename(fullname), "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, rule: str, module: str, number: int) -> None:
        self.rule, self.module, self.number = rule, module, number

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        assert spec is not None
        assert spec.origin is not None
        loader = _Loader(name, spec.origin)
        loader.rule, loader.number = self.rule, self.number
        spec.loader = loader
        return spec


class _KernelFinder(importlib.abc.MetaPathFinder):
    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self.files:
            return None
        return importlib.util.spec_from_file_location(name, self.files[name])


def install() -> None:
    """Plant the mutant that the environment names."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return
    if any(name.partition(".")[0] == "dpboost" for name in sys.modules):
        raise RuntimeError("The package was imported before the mutant was planted.")
    seconds = int(os.environ.get(SECONDS, "90"))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 10))
    rule, *rest = asked.split("|")
    if rule == "kernel":
        finder: importlib.abc.MetaPathFinder = _KernelFinder(
            dict(each.split("=", 1) for each in rest)
        )
    else:
        module, number = rest
        finder = _Finder(rule, module, int(number))
    sys.meta_path.insert(0, finder)


install()
