"""Only the gate may draw: walk the sources for imports of the kernels that do."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "dpboost"
KERNELS = "dpboost._kernels"
SECRET_KERNELS = ("noise", "shares", "selection", "runselection", "coins", "entropy")
REVEALING = ("_reveal", "_draw", "_value")


def may_draw(path):
    return path.relative_to(PACKAGE).parts[0] == "privacy"


def resolve(node, module):
    """Return the absolute module name that an import-from statement starts at."""
    if not node.level:
        return node.module or ""
    package = module.split(".")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def names_secret_kernel(name):
    return any(
        name == f"{KERNELS}.{k}" or name.startswith(f"{KERNELS}.{k}.") for k in SECRET_KERNELS
    )


def violations(source, module):
    """Return line numbers at which a source reaches for a secret kernel, by any spelling."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            bad = any(names_secret_kernel(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve(node, module)
            bad = names_secret_kernel(base) or any(
                names_secret_kernel(f"{base}.{alias.name}")
                or (base == KERNELS and alias.name == "*")
                for alias in node.names
            )
        elif isinstance(node, ast.Attribute):
            chain = ast.unparse(node)
            bad = any(chain.endswith(f"_kernels.{kernel}") for kernel in SECRET_KERNELS)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # For importlib: a whole string that is such a name, absolute or relative.
            text = node.value.strip(".")
            bad = names_secret_kernel(text) or text in {f"_kernels.{k}" for k in SECRET_KERNELS}
        elif isinstance(node, ast.Call):
            bad = builds_a_module_name(node)
        else:
            bad = False
        if bad:
            found.append(node.lineno)
    return found


def builds_a_module_name(call):
    """Dynamic imports of anything about the kernels: the name may be put together at run time."""
    function = ast.unparse(call.func).rsplit(".", 1)[-1]
    if function not in ("import_module", "__import__", "find_spec", "reload", "getattr"):
        return False
    text = " ".join(ast.unparse(argument) for argument in [*call.args, *call.keywords])
    return "_kernels" in text


def reveals(source):
    """Return line numbers at which a source uses what only the gate may."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Attribute) and node.attr in REVEALING)
        or (isinstance(node, ast.ImportFrom) and any(a.name in REVEALING for a in node.names))
    ]


def outside_sources():
    files = sorted(path for path in PACKAGE.rglob("*.py*") if path.suffix in (".py", ".pyi"))
    return [path for path in files if not may_draw(path)]


def module_of(path):
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def test_only_the_gate_imports_the_secret_kernels():
    sources = outside_sources()
    assert PACKAGE / "_utils" / "validation.py" in sources
    found = {
        module_of(path): lines
        for path in sources
        if path.parent != PACKAGE / "_kernels"
        and (lines := violations(path.read_text(), module_of(path)))
    }
    # The audit hands bits of its own to the samplers: it holds no private number.
    assert set(found) == {"dpboost.audit.rare_outcomes"}


def test_only_the_ledger_reveals():
    found = {
        module_of(path)
        for path in sorted(PACKAGE.rglob("*.py"))
        if reveals(path.read_text()) and path != PACKAGE / "privacy" / "queries.py"
    }
    assert found == {"dpboost.privacy.ledger"}


def test_the_walk_sees_the_imports_of_the_gate():
    gate = PACKAGE / "privacy" / "mechanisms.py"
    assert violations(gate.read_text(), module_of(gate))


SPELLINGS = [
    "from dpboost._kernels import {kernel}",
    "from dpboost._kernels import histogram, {kernel} as quiet",
    "from dpboost._kernels.{kernel} import something",
    "from dpboost._kernels import *",
    "from dpboost._kernels.{kernel} import *",
    "import dpboost._kernels.{kernel}",
    "import dpboost._kernels.{kernel} as quiet",
    "import os, dpboost._kernels.{kernel}",
    "from .._kernels import {kernel}",
    "from .._kernels.{kernel} import something",
    "def f():\n    from dpboost._kernels import {kernel}",
    "try:\n    import dpboost._kernels.{kernel}\nexcept ImportError:\n    pass",
    "import dpboost\nuse = dpboost._kernels.{kernel}",
    "from dpboost import _kernels\nuse = _kernels.{kernel}",
    "import importlib\nimportlib.import_module('dpboost._kernels.{kernel}')",
    "from importlib import import_module as load\nload('dpboost._kernels.{kernel}')",
    "import importlib\nimportlib.import_module('.{kernel}', 'dpboost._kernels')",
    "import importlib\nimportlib.import_module('._kernels.{kernel}', package='dpboost')",
    "import importlib\nname = '{kernel}'\nimportlib.import_module(f'dpboost._kernels.{{name}}')",
    "__import__('dpboost._kernels.{kernel}')",
    "import sys\nuse = sys.modules['dpboost._kernels.{kernel}']",
    "from dpboost import _kernels\nuse = getattr(_kernels, '{kernel}')",
]


def test_planted_imports_are_found():
    planted = [each.format(kernel=kernel) for each in SPELLINGS for kernel in SECRET_KERNELS]
    assert [each for each in planted if not violations(each, "dpboost.trees.planted")] == []


@pytest.mark.parametrize(
    "source",
    [
        "from dpboost._kernels import histogram, gain",
        "import dpboost._kernels.histogram",
        "import importlib\nimportlib.import_module('dpboost.trees')",
        "from dpboost.privacy.mechanisms import DiscreteLaplace\nnoise = entropy = 'noise'",
        "from dpboost.privacy.randomness import Entropy\nentropy.bit_generator",
    ],
)
def test_other_imports_are_not(source):
    assert violations(source, "dpboost.trees.planted") == []


@pytest.mark.parametrize(
    "source",
    [
        "from dpboost.privacy.queries import Sensitive, _reveal",
        "from dpboost.privacy import sensitive\nsensitive._reveal(x)",
        "look = hidden._value",
        "ledger._draw(entry, value)",
    ],
)
def test_planted_looks_are_found(source):
    assert reveals(source)
