"""Private names of LightGBM are used in one module, and the versions allowed end where tried."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pkgutil
import re
import textwrap
from pathlib import Path

import lightgbm
import pytest

import dpboost
from dpboost.lightgbm import installed as compat

ROOT = Path(dpboost.__file__).parent
ONE_MODULE = Path(compat.__file__)
BASES = (lightgbm.LGBMClassifier, lightgbm.Booster, lightgbm.Dataset, lightgbm.CVBooster)
PRIVATE = re.compile(r"_[a-zA-Z]\w*")


def names_of_lightgbm() -> set[str]:
    """Private attributes and methods of the classes that ours derive from."""
    names = set()
    for base in BASES:
        for each in base.__mro__:
            if each.__module__.startswith("lightgbm"):
                names |= set(vars(each))
                names |= set(re.findall(r"self\.(\w+)", inspect.getsource(each)))
    return {name for name in names if PRIVATE.fullmatch(name)}


NAMES = names_of_lightgbm()


def is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def imported_or_asked_of_others(tree: ast.AST) -> list[str]:
    """Private names that are imported from LightGBM, or attributes of something else than self."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lightgbm":
            found += [alias.name for alias in node.names if PRIVATE.fullmatch(alias.name)]
        elif isinstance(node, ast.Attribute):
            text = ast.unparse(node)
            of_module = text.startswith("lightgbm.") and PRIVATE.fullmatch(node.attr)
            if of_module or (node.attr in NAMES and not is_own(node)):
                found.append(text)
    return found


def own_in_derived(text: str) -> list[str]:
    """Private names of LightGBM that a class which derives from its classes reads or defines."""
    tree = ast.parse(textwrap.dedent(text))
    own = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and is_own(node)]
    defined = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [name for name in own + defined if name in NAMES]


def derived_classes() -> set[type]:
    """Classes of ours among the bases of those that derive from LightGBM's."""
    found = set()
    for info in pkgutil.walk_packages([str(ROOT)], "dpboost."):
        if "._kernels" in info.name or info.name.endswith("__main__"):
            continue
        if info.name.endswith(".flower") and importlib.util.find_spec("flwr") is None:
            continue  # the extra 'federated' is not installed
        for each in vars(importlib.import_module(info.name)).values():
            if inspect.isclass(each) and issubclass(each, BASES + (lightgbm.LGBMModel,)):
                found |= {base for base in each.__mro__ if base.__module__.startswith("dpboost")}
    return {each for each in found if each.__module__ != compat.__name__}


def test_no_private_name_is_imported_or_asked_of_others():
    found = {
        path.relative_to(ROOT).as_posix(): names
        for path in ROOT.rglob("*.py")
        if (names := imported_or_asked_of_others(ast.parse(path.read_text(encoding="utf-8"))))
    }
    # The one module does use them.
    assert list(found) == [ONE_MODULE.relative_to(ROOT).as_posix()], found


def test_no_class_of_ours_reads_or_defines_one():
    classes = derived_classes()
    assert {"Booster", "PrivateEstimator", "DPBoostClassifier"} <= {c.__name__ for c in classes}
    found = {each.__name__: own_in_derived(inspect.getsource(each)) for each in classes}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "from lightgbm.basic import _LIB",
        "from lightgbm.sklearn import _EvalFunctionWrapper",
        "import lightgbm\nlightgbm.basic._safe_call(0)",
        "model._Booster.predict(X)",
        "booster._handle",
    ],
)
def test_a_planted_one_is_found(planted):
    assert imported_or_asked_of_others(ast.parse(planted)) != []


def test_a_planted_one_in_a_class_is_found():
    source = "class A:\n    def f(self):\n        return self._le"
    assert own_in_derived(source) == ["_le"]
    assert own_in_derived("class A:\n    def _process_params(self): ...") == ["_process_params"]
