"""Every release and every mechanism has a page of proof; pages and code name each other."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from dpboost.reporting import proof_pages

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS, FOLDER = ROOT / "dpboost", ROOT / "tests", ROOT / "docs" / "proofs"

# What the gate is called by, and functions that hand a label on from their own callers.
GATE = ("release", "release_together", "release_parts", "each", "Release")
HANDED_ON = {
    "_occupied_cells": "release_bounds and release_magnitude name theirs",
    "release_bounds": "the schema names it",
    "release_magnitude": "the schema names it",
    "release_label_range": "the schema names it",
    "release_categories": "the schema names it",
    "_release": "histograms that save budget name theirs",
    "ClassStatistics.each": "whoever asks the sites names it",
    "ClassStatistics.release_parts": "whoever asks about parts names it",
    "TrainingRows.released": "a linear model names its sums",
    "PartyRowStore.release": "as the class statistics",
    "_Counts.release": "the schema names it, by way of release_label_range",
    "Gate.release": "the figures of an evaluation name theirs",
    "_Gate.release": "the figures of an evaluation name theirs",
}
# A question that asks another one, whose bounds it returns.
PASSED_ON = "Meant"
SECRET_KERNELS = ("noise", "shares", "selection", "runselection", "coins", "entropy")
OF_RELEASES = ("Statement", "Neighbors and norm", "Proof")
OF_THE_REST = ("Statement", "Proof")


@dataclass
class Code:
    """Where names of the package are defined, and the documentation around each of them."""

    links: dict[str, list[str]] = field(default_factory=dict)
    # Labels, each with the function that gives it and what that function calls.
    labels: set[tuple[str, str, str]] = field(default_factory=set)
    sensitivities: set[str] = field(default_factory=set)
    mechanisms: set[str] = field(default_factory=set)
    accountants: set[str] = field(default_factory=set)
    strays: set[str] = field(default_factory=set)


@dataclass
class Page:
    """The table at the head of a page."""

    name: str
    rows: dict[str, str]
    headings: tuple[str, ...]

    def ticked(self, row: str) -> list[str]:
        return re.findall(r"`([^`]+)`", self.rows.get(row, ""))

    @property
    def releases(self) -> list[str]:
        return self.ticked("Releases")

    @property
    def named(self) -> list[str]:
        return [name for row in ("Sensitivity", "Released by", "Code") for name in self.ticked(row)]


def read_page(name: str, text: str) -> Page:
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line[:1] == "|"]
    rows = {cells[0].strip(): cells[1].strip() for cells in lines if len(cells) == 2}
    return Page(name, rows, tuple(re.findall(r"^## (.+)$", text, re.MULTILINE)))


def last_name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def label_of(node: ast.expr | None) -> str | None:
    """Return a constant label, with * for what a formatted one fills in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "*" for part in node.values]
        return "".join(map(str, parts))
    return None


def read_source(code: Code, source: str) -> None:
    """Take down what a module defines, releases and bounds."""
    tree = ast.parse(source)

    def visit(node: ast.AST, path: tuple[str, ...], docs: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                own = (*path, child.name)
                around = docs + (ast.get_docstring(child) or "")
                # A function inside a function goes by the name of the outer one.
                outer = isinstance(node, ast.FunctionDef)
                name = ".".join(path if outer else own)
                code.links.setdefault(name, []).append(around)
                classify(child, name)
                visit(child, path if outer else own, around)
            else:
                if isinstance(child, (ast.Assign, ast.AnnAssign)) and not path:
                    targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                    for target in targets:
                        code.links.setdefault(ast.unparse(target), []).append(docs)
                look(child, ".".join(path))
                visit(child, path, docs)

    def classify(node: ast.AST, name: str) -> None:
        if not isinstance(node, ast.ClassDef):
            return
        bases = {last_name(base) for base in node.bases}
        methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        if "Protocol" in bases or any(
            last_name(mark) == "abstractmethod"
            for method in methods.values()
            for mark in method.decorator_list
        ):
            return
        if {"draw", "log_probability"} <= set(methods):
            code.mechanisms.add(name)
        if {"cost", "capacity", "epsilon"} <= set(methods):
            code.accountants.add(name)
        # Questions that rows answer, and formulas over their answers.
        asked = methods.get("bounds") if "evaluate" in methods else methods.get("bound")
        if asked and "neighbors" in [word.arg for word in asked.args.args] and name != PASSED_ON:
            code.sensitivities.add(name)

    def look(node: ast.AST, position: str) -> None:
        value = getattr(node, "value", None)
        bound = isinstance(value, ast.Call) and last_name(value.func) == "Sensitivity"
        if isinstance(node, ast.Assign) and bound and not position:
            code.sensitivities.add(ast.unparse(node.targets[0]))
        if not isinstance(node, ast.Call):
            return
        called = last_name(node.func)
        if called == "Sensitivity" and position:
            # Of a question the class has the page.
            code.sensitivities.add(position.removesuffix(".bounds"))
        ends = {name.rpartition(".")[2] for name in HANDED_ON}
        given = [word.value for word in node.keywords if word.arg == "label"]
        if called in GATE or called in ends:
            given += [one for one in node.args if label_of(one)]
            for one in given:
                label = label_of(one)
                if label is not None:
                    code.labels.add((label, position, called))
                elif position not in HANDED_ON:
                    code.strays.add(position)

    module = ast.get_docstring(tree) or ""
    visit(tree, (), module)


def read_package() -> Code:
    code = Code()
    for path in sorted(PACKAGE.rglob("*.py")):
        # The audit plays releases again and makes none.
        if path.relative_to(PACKAGE).parts[0] != "audit":
            read_source(code, path.read_text())
    for path in sorted((ROOT / "cython_ext").glob("*.pyx")):
        code.links[path.name] = [head_of(path.read_text())]
    return code


def head_of(text: str) -> str:
    """Return the documentation at the head of a kernel."""
    found = re.match(r'r?"""(.*?)"""', text, re.DOTALL)
    return found.group(1) if found else ""


def read_tests() -> dict[str, set[str]]:
    """Return the tests of every file, by the file's name."""
    found: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        names = found.setdefault(path.name, set())
        names |= {
            node.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef)
        }
    return found


def read_bugs() -> set[str]:
    """Return the names of the planted bugs."""
    return {
        word.value.value
        for path in (TESTS / "audit").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg == "name" and isinstance(word.value, ast.Constant)
    }


def mistakes(page: Page, code: Code, tests: dict[str, set[str]], bugs: set[str]) -> list[str]:
    """Return what a page says that is not so, and what it lacks."""
    found = []
    link = f"docs/proofs/{page.name}"
    sections = OF_RELEASES if page.releases else OF_THE_REST
    found += [f"no section {name!r}" for name in sections if name not in page.headings]
    for name in page.named:
        if name not in code.links:
            found.append(f"there is no {name}")
    for name in page.ticked("Sensitivity") + page.ticked("Code"):
        if not any(link in docs for docs in code.links.get(name, [link])):
            found.append(f"{name} does not name the page")
    for row in ("Tests", "Planted bugs"):
        for name in page.ticked(row):
            file, _, test = name.partition("::")
            if not test or test not in tests.get(file, ()):
                found.append(f"there is no test {name}")
    planted = re.findall(r'"([^"]+)"', page.rows.get("Planted bugs", ""))
    found += [f"there is no planted bug {name!r}" for name in planted if name not in bugs]
    if not page.ticked("Tests"):
        found.append("names no test")
    if not planted and not page.ticked("Planted bugs"):
        found.append("names no planted bug")
    if not page.named:
        found.append("names no code")
    return found


CODE, NAMES, BUGS = read_package(), read_tests(), read_bugs()
PAGES = {
    path.name: read_page(path.name, path.read_text())
    for path in sorted(FOLDER.glob("*.md"))
    if path.name != "README.md"
}
FILES = set(PAGES)


def links_to_nowhere(page_names: set[str]) -> set[str]:
    """Return links in the code that lead nowhere."""
    texts = [path.read_text() for path in PACKAGE.rglob("*.py")]
    texts += [path.read_text() for path in (ROOT / "cython_ext").glob("*.p*")]
    linked = {name for text in texts for name in re.findall(r"docs/proofs/([\w-]+\.md)", text)}
    return linked - page_names


def unproved(code: Code, pages: dict[str, Page]) -> list[str]:
    """Return releases and bounds of the code that no page is about."""
    found = [f"{position} hands a label on" for position in sorted(code.strays)]
    bounded = {name for page in pages.values() for name in page.ticked("Sensitivity")}
    coded = {name for page in pages.values() for name in page.named}
    for label, position, called in sorted(code.labels):
        right = [page for page in pages.values() if label in page.releases]
        if not right:
            found.append(f"no page is about {label!r}")
        elif not any({position, called} & set(page.ticked("Released by")) for page in right):
            found.append(f"no page about {label!r} names {position}")
    found += [f"no page proves {name}" for name in sorted(code.sensitivities - bounded)]
    found += [
        f"no page is about {name}" for name in sorted((code.mechanisms | code.accountants) - coded)
    ]
    return found


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_says_what_is_so(name):
    assert mistakes(PAGES[name], CODE, NAMES, BUGS) == []


def test_every_release_has_its_page():
    assert unproved(CODE, PAGES) == []


def test_every_label_of_a_page_is_released():
    labels = {label for label, *_ in CODE.labels}
    assert {label for page in PAGES.values() for label in page.releases} == labels


def test_every_kernel_of_the_gate_has_its_page():
    named = {name for page in PAGES.values() for name in page.named}
    assert {f"{kernel}.pyx" for kernel in (*SECRET_KERNELS, "local_reports")} <= named


def test_stored_reports_hold_no_release_without_a_page():
    labels = [label for page in PAGES.values() for label in page.releases]
    for path in (TESTS / "golden_texts").glob("*.json"):
        for line in json.loads(path.read_text()).get("releases", ()):
            assert any(fnmatchcase(line["label"], label) for label in labels), line["label"]


def test_certificates_name_the_pages():
    told = {label: set(pages) for label, pages in proof_pages.PAGES.items()}
    assert told == {
        label: {page.name for page in PAGES.values() if label in page.releases}
        for label, *_ in CODE.labels
    }
    assert set(proof_pages.OF_ALL) < {page.name for page in PAGES.values() if not page.releases}


def test_links_of_the_code_lead_to_pages():
    assert links_to_nowhere(FILES) == set()


def test_the_index_lists_every_page():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "README.md").read_text())
    assert set(listed) >= FILES
    texts = {path: path.read_text() for path in FOLDER.glob("*.md")}
    for path, text in texts.items():
        for link in re.findall(r"\]\(([^)#:]+\.md)\)", text):
            assert (path.parent / link).exists(), f"{path.name}: {link}"


# -- the checks can fail ------------------------------------------------------------------------

SOURCE = '''
def bound():
    """Proof: docs/proofs/toy.md."""
    return Sensitivity("l1", 1, "a row")

class Toy:
    def draw(self): ...
    def log_probability(self): ...

class Records:
    def cost(self): ...
    def capacity(self): ...
    def epsilon(self): ...

def leave(ledger, noise, value):
    return ledger.release(noise, value, label="toys")
'''
PAGE = """
| | |
| --- | --- |
| Releases | `toys` |
| Sensitivity | `bound` |
| Released by | `leave` |
| Tests | `test_toy.py::test_toy` |
| Planted bugs | "half a toy" |

## Statement

## Neighbors and norm

## Proof
"""


def planted(source: str = SOURCE, page: str = PAGE) -> list[str]:
    code = Code()
    read_source(code, source)
    read = read_page("toy.md", page)
    found = mistakes(read, code, {"test_toy.py": {"test_toy"}}, {"half a toy"})
    return found + unproved(code, {"toy.md": read})


ALONE = ["no page is about Records", "no page is about Toy"]


def test_what_agrees_is_found_to_agree():
    assert planted() == ALONE
    assert planted(page=PAGE.replace("| Tests", "| Code | `Toy`, `Records` |\n| Tests")) == [
        "Toy does not name the page",
        "Records does not name the page",
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("`bound`", "`bounds`", "there is no bounds"),
        ("`leave`", "`leaves`", "there is no leaves"),
        ("test_toy.py::test_toy", "test_toy.py::test_toys", "test_toy.py::test_toys"),
        ("test_toy.py::test_toy", "test_tin.py::test_toy", "test_tin.py::test_toy"),
        ("`test_toy.py::test_toy`", "", "names no test"),
        ('"half a toy"', '"no toy"', "there is no planted bug 'no toy'"),
        ('"half a toy"', "", "names no planted bug"),
        ("`toys`", "`tins`", "no page is about 'toys'"),
        ("`leave`", "`bound`", "no page about 'toys' names leave"),
        ("## Neighbors and norm", "", "no section 'Neighbors and norm'"),
    ],
)
def test_a_page_that_is_wrong_is_found(old, new, expected):
    found = planted(page=PAGE.replace(old, new))
    assert any(expected in line for line in found), found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"toys")', '"tins")', "no page is about 'tins'"),
        ('"toys")', 'f"tin {value}")', "no page is about 'tin *'"),
        ('label="toys")', "label=noise.name)", "leave hands a label on"),
        ("docs/proofs/toy.md", "docs", "bound does not name the page"),
        ("def bound", "def other", "no page proves other"),
        ("def leave", "def somewhere_else", "no page about 'toys' names somewhere_else"),
    ],
)
def test_code_that_is_new_is_found(old, new, expected):
    found = planted(source=SOURCE.replace(old, new))
    assert any(expected in line for line in found), found


def test_a_bound_at_the_head_of_a_module_is_found():
    assert "no page proves ONE" in planted(source=SOURCE + '\nONE = Sensitivity("l1", 1, "x")\n')


def test_a_release_inside_a_function_goes_by_the_outer_name():
    source = SOURCE.replace("def leave(", "def leave(ledger, noise, value):\n    def inner(")
    source = source.replace("    return ledger.release", "        return ledger.release")
    code = Code()
    read_source(code, source)
    assert code.labels == {("toys", "leave", "release")}


def test_links_that_lead_nowhere_are_found():
    assert links_to_nowhere(FILES - {"leaf-sums.md"}) >= {"leaf-sums.md"}
