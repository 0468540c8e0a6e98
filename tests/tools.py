"""The table of ``docs/tools.md``: which tool around LightGBM takes our models, as tests show it.

``python -m tests.tools NAME ...`` runs the tests of some tools in the environment that it is in,
keeps what each of them showed in ``tests/integration/clients/tried.json``, and writes the page. A
tool that is not there stays as it was; one that was never tried is named as untried.
"""

from __future__ import annotations

import ast
import json
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "integration" / "clients"
RECORD, PAGE = FOLDER / "tried.json", ROOT / "docs" / "tools.md"

#: Tools by the name of their test module, with the packages whose versions matter.
TOOLS = {
    "lightgbm": ("lightgbm",),
    "mlflow": ("mlflow", "mlflow-skinny"),
    "onnxmltools": ("onnxmltools", "onnxruntime"),
    "skl2onnx": ("skl2onnx", "onnxruntime"),
    "shap": ("shap",),
    "treelite": ("treelite",),
    "lleaves": ("lleaves", "llvmlite"),
    "dtreeviz": ("dtreeviz",),
    "supertree": ("supertree",),
    "m2cgen": ("m2cgen",),
    "skops": ("skops",),
    "optuna": ("optuna",),
    "flaml": ("flaml",),
}

_HEAD = """\
# Compatible tools

Results of the tests in `tests/integration/clients`, each in the environment that the tool needs.
`python -m tests.tools` runs them and writes this page; `.ci/nightly tools lleaves` does so in
fresh environments. [Export models](howto/other-tools.md) shows the calls.

| tool | tried in version | what its tests claim | result |
| :-- | :-- | :-- | :-- |
"""


def module_of(tool: str) -> Path:
    """Return the test module of a tool."""
    return FOLDER / f"test_{'onnx' if tool == 'onnxmltools' else tool}.py"


def claims(tool: str) -> dict[str, str]:
    """Return what each test of a tool shows, by the first line of its docstring."""
    tree = ast.parse(module_of(tool).read_text(encoding="utf-8"))
    return {
        node.name: (ast.get_docstring(node) or "").partition("\n")[0]
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


class Outcomes:
    """A plugin of pytest: the outcomes of each test function, whatever its parameters."""

    def __init__(self) -> None:
        self.by_test: dict[str, set[str]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take note of a call, or of what keeps one from being made."""
        if report.when == "call" or report.outcome != "passed":
            name = report.nodeid.rpartition("::")[2].partition("[")[0]
            self.by_test.setdefault(name, set()).add(report.outcome)


def tried(tool: str) -> dict[str, Any] | None:
    """Run the tests of a tool; None where it is not installed."""
    outcomes = Outcomes()
    pytest.main(["-q", "-p", "no:cacheprovider", str(module_of(tool))], plugins=[outcomes])
    found = {
        name: "failed" if "failed" in seen else "passed"
        for name, seen in outcomes.by_test.items()
        if seen != {"skipped"}
    }
    if not found:
        return None
    return {"versions": _versions(tool), "tests": found}


def _versions(tool: str) -> dict[str, str]:
    versions = {}
    for name in (*TOOLS[tool], "lightgbm"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions | {"python": platform.python_version()}


def page_of(record: dict[str, Any]) -> str:
    """Return the page for what was tried."""
    lines = []
    for tool in TOOLS:
        known = record.get(tool)
        for name, claim in claims(tool).items():
            if known is None or name not in known["tests"]:
                lines.append(f"| {tool} | | {claim} | untried |")
                continue
            versions = ", ".join(f"{each} {number}" for each, number in known["versions"].items())
            result = "holds" if known["tests"][name] == "passed" else "**does not hold**"
            lines.append(f"| {tool} | {versions} | {claim} | {result} |")
    return _HEAD + "\n".join(lines) + "\n"


def stored() -> dict[str, Any]:
    """Return the record."""
    return dict(json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.exists() else {}


def main(names: list[str]) -> int:
    """Try some tools, all by default, and write record and page."""
    record = stored()
    for tool in names or TOOLS:
        found = tried(tool)
        if found is not None:
            record[tool] = found
    in_order = {tool: record[tool] for tool in TOOLS if tool in record}
    RECORD.write_text(json.dumps(in_order, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page_of(in_order), encoding="utf-8")
    asked = [in_order[tool]["tests"].values() for tool in names or TOOLS if tool in in_order]
    return int(any("failed" in each for each in asked))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
