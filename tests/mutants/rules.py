"""The rules: what is changed at each place of the package that they fit.

A mutant is one change at one place. It changes the syntax tree when its module is imported, so
that nothing is built again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: The folders in which a wrong number breaks the guarantee.
ROOMS = (
    "budgeting",
    "data",
    "evaluating",
    "growing",
    "losses",
    "model_selection",
    "privacy",
    "rows",
    "training",
)

Change = Callable[[ast.AST], ast.AST | None]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One planted bug.

    Parameters
    ----------
    rule : str
    module : str
        Dotted name.
    line : int
    number : int
        Which of the rule's places on this line.
    text : str
        The source there.
    """

    rule: str
    module: str
    line: int
    number: int
    text: str

    @property
    def key(self) -> str:
        """Name that the results are kept by; lines may move, texts rarely do."""
        return f"{self.rule}|{self.module}|{self.text}|{self.number}"


def _call_of(node: ast.AST, *names: str) -> bool:
    """Return whether a node calls a function or method of one of these names."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in names


def _helper(name: str) -> ast.expr:
    """Return an expression for a function of `tests.mutants.helpers`."""
    module = "__import__('tests.mutants.helpers', fromlist=['x'])"
    return ast.parse(f"{module}.{name}", mode="eval").body


def _within(node: ast.AST, function: str) -> ast.Call:
    """Return a call of a helper with the node as argument."""
    assert isinstance(node, ast.expr)
    return ast.Call(func=_helper(function), args=[node], keywords=[])


def _sensitivity(node: ast.AST) -> ast.AST | None:
    """Halve a sensitivity where it is made."""
    return _within(node, "halved") if _call_of(node, "Sensitivity") else None


def _clip(node: ast.AST) -> ast.AST | None:
    """Leave out a clip."""
    if _call_of(node, "clip") and isinstance(node, ast.Call) and node.args:
        return node.args[0]
    return None


def _conversion(node: ast.AST) -> ast.AST | None:
    """Convert floats to integers without the check."""
    if _call_of(node, "to_integer_units") and isinstance(node, ast.Call):
        node.func = _helper("unchecked_units")
        return node
    return None


def _rows(node: ast.AST) -> ast.AST | None:
    """Take every relation for add/remove."""
    if isinstance(node, ast.Attribute) and node.attr == "rows" and isinstance(node.ctx, ast.Load):
        owner = node.value
        name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
        if name == "neighbors":
            return ast.Constant(1)
    return None


def _scopes(node: ast.AST) -> ast.AST | None:
    """Open another kind of scope."""
    for own, other in (("parallel", "sequential"), ("sequential", "parallel")):
        if not _call_of(node, own) or not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            node.func.attr = other
            return node
    return None


def _released(node: ast.AST) -> ast.AST | None:
    """Take the exact value in the place of what a ledger released."""
    if _call_of(node, "release") and ast.unparse(node).startswith(("ledger.", "self.ledger.")):
        assert isinstance(node, ast.Call)
        return ast.Call(
            func=ast.Attribute(
                value=_within(ast.Constant(0), "module"), attr="exact", ctx=ast.Load()
            ),
            args=[node, node.args[1]],
            keywords=[],
        )
    return None


def _users(node: ast.AST) -> ast.AST | None:
    """Let all rows of a user take part."""
    if _call_of(node, "sample_rows") and isinstance(node, ast.Call):
        return _within(node.args[0], "all_rows")
    return None


def _group(node: ast.AST) -> ast.AST | None:
    """Forget that a user has several rows, or that a fit is a part."""
    if _call_of(node, "for_group", "for_part") and isinstance(node, ast.Call):
        return node.args[0]
    return None


def _charge(node: ast.AST) -> ast.AST | None:
    """Charge half."""
    called = _call_of(node, "cost", "lattice_error", "failure_delta")
    if called and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return ast.BinOp(left=node, op=ast.Div(), right=ast.Constant(2))
    return None


def _delta(node: ast.AST) -> ast.AST | None:
    """Book no failure."""
    if (
        isinstance(node, ast.keyword)
        and node.arg == "delta"
        and not isinstance(node.value, ast.Constant)
    ):
        return ast.keyword(arg="delta", value=ast.Constant(0))
    return None


def _constants(node: ast.AST) -> ast.AST | None:
    """Shrink a number of a formula of the gate by one."""
    small = isinstance(node, ast.Constant) and type(node.value) is int and 2 <= node.value <= 16
    return ast.Constant(node.value - 1) if small else None


def _comparison(node: ast.AST) -> ast.AST | None:
    """Let a check pass at its border, or the reverse."""
    other = {ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Lt: ast.LtE, ast.LtE: ast.Lt}
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in other:
        node.ops[0] = other[type(node.ops[0])]()
        return node
    return None


_GATE = ("ledger", "accounting", "stability_histogram")
_FORMULAS = ("accounting", "exact_arithmetic", "mechanisms")
#: Name of a rule, where it is applied, and the change.
RULES: dict[str, tuple[tuple[str, ...], Change]] = {
    "halve a sensitivity": (ROOMS, _sensitivity),
    "skip a clip": (("data", "evaluating", "losses", "rows", "training"), _clip),
    "skip a conversion": (ROOMS, _conversion),
    "take replace for add/remove": (ROOMS, _rows),
    "swap the kind of a scope": (ROOMS, _scopes),
    "take the exact value for the released one": (ROOMS, _released),
    "let all rows of a user in": (ROOMS, _users),
    "forget a group": (ROOMS, _group),
    "halve a charge": (("budgeting", "privacy"), _charge),
    "book no failure": (("privacy", "training"), _delta),
    "shrink a constant": (
        ("privacy/sensitivity", *(f"privacy/{name}.py" for name in _FORMULAS)),
        _constants,
    ),
    "move a border": (
        (
            "budgeting",
            *(f"privacy/{name}.py" for name in _GATE),
            "rows/cell_counts.py",
            "training/label_range.py",
            "training/private_bounds.py",
            "training/private_stopping.py",
            "training/conformal.py",
        ),
        _comparison,
    ),
}


class _Planter(ast.NodeTransformer):
    """Applies one rule at one place, or lists its places."""

    def __init__(self, change: Change, wanted: int | None = None) -> None:
        self._change = change
        self._wanted = wanted
        self.places: list[tuple[int, str]] = []

    def visit(self, node: ast.AST) -> ast.AST:
        """Visit children first, so that places keep their order."""
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            body = node.body
            if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
                rest = ast.Module(body=body[1:], type_ignores=[])
                self.generic_visit(rest)
                node.body = [body[0], *rest.body]
                return node
        node = super().generic_visit(node)
        source = ast.unparse(node) if not isinstance(node, ast.Module) else ""
        line = getattr(node, "lineno", 0)
        changed = self._change(node)
        if changed is None:
            return node
        self.places.append((line, source))
        if len(self.places) - 1 == self._wanted:
            return ast.copy_location(changed, node)
        # The change may have touched the node itself: take it back by its source.
        if isinstance(node, ast.keyword):
            return node
        again = ast.parse(source, mode="eval").body
        for inner in ast.walk(again):
            ast.copy_location(inner, node)
        return again


def places(rule: str, source: str) -> list[tuple[int, str]]:
    """Return line and text of every place that a rule fits in a source."""
    planter = _Planter(RULES[rule][1])
    planter.visit(ast.parse(source))
    return planter.places


def planted(rule: str, source: str, number: int) -> ast.Module:
    """Return the syntax tree of a source with a rule applied at one of its places."""
    planter = _Planter(RULES[rule][1], number)
    tree = planter.visit(ast.parse(source))
    assert isinstance(tree, ast.Module)
    return ast.fix_missing_locations(tree)


def mutants(package: Path) -> Iterator[Mutant]:
    """Yield every mutant of a package.

    Parameters
    ----------
    package : Path
        Folder of `dpboost`.
    """
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package).as_posix()
        for rule, (rooms, _) in RULES.items():
            if not any(inside == room or inside.startswith(f"{room}/") for room in rooms):
                continue
            module = ".".join((package.name, *path.relative_to(package).with_suffix("").parts))
            for number, (line, text) in enumerate(places(rule, path.read_text())):
                yield Mutant(rule=rule, module=module, line=line, number=number, text=text[:200])
