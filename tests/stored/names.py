"""What a version promises to keep: names, parameters, methods, attributes, options.

``python -m tests.stored names`` writes the tables of docs/reference/public-names.md.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpboost.cli import main as command_line

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "public-names.md"

#: Modules whose ``__all__`` is promised, and of one more the names that are.
PUBLIC = ("dpboost", "dpboost.dask", "dpboost.spark", "dpboost.federated", "dpboost.local")
OF_AUDIT = ("audit_estimator", "estimate_epsilon", "replay_budget", "replay_estimator")

#: Members without an underscore that the library calls itself, and that are not promised.
INTERNAL = {
    "Agreement": (
        *("continuation", "continued", "declared", "entropy", "honest", "learns", "ledger"),
        *("listed", "noise_variance_ratio", "relation", "rows_of_user", "warn", "weights"),
    ),
    "Booster": ("of_ensemble", "of_written_text"),
    "Budget": (
        *("account", "accountant", "agrees", "check_process", "close", "count_in"),
        *("failure_delta", "held_out", "hold", "is_named_by", "key", "knows", "left_of_periods"),
        *("mark", "of_terms", "of_this_process", "overlap", "promise", "record", "remember"),
        *("terms", "title", "reserve"),
    ),
    "DataDictionary": ("from_lines", "learned", "numbers", "schema_parts", "with_role"),
    "Hub": ("bodies", "end", "gather", "n_replies", "reply", "wait_until_heard"),
    "PrivacyReport": ("from_ledger",),
    "PrivacyWarning": ("every_time",),
    "Schema": ("coerce", "or_dictionary", "resolve"),
    "Transcript": ("recording",),
}

_ATTRIBUTES = re.compile(r"^Attributes\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", re.MULTILINE | re.DOTALL)


def own_classes(thing: type) -> list[type]:
    """Return those of the classes that a class is made of that are of this package."""
    return [each for each in thing.__mro__ if each.__module__.partition(".")[0] == "dpboost"]


def parameters(thing: Any) -> list[str]:
    """Return the names of what a callable takes, if it says so."""
    try:
        found = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return []
    return [name for name in found if name not in ("self", "cls")]


def members(thing: type) -> dict[str, list[str]]:
    """Return methods with their parameters, and attributes, that begin with no underscore.

    Those of this package: what LightGBM, scikit-learn and PySpark give an estimator is theirs. The
    parameters of an estimator are not repeated.
    """
    found: dict[str, list[str]] = {}
    for each in own_classes(thing):
        described = _ATTRIBUTES.search(inspect.cleandoc(each.__doc__ or ""))
        lines = re.findall(r"^(\w+(?:, \w+)*)(?: :.*)?$", described[1] if described else "", re.M)
        names = [*vars(each), *inspect.get_annotations(each), *", ".join(lines).split(", ")]
        for name in names:
            value = inspect.getattr_static(thing, name, None)
            takes = inspect.isroutine(value) or isinstance(value, (classmethod, staticmethod))
            found[name] = parameters(getattr(thing, name)) if takes else []
    is_estimator = hasattr(thing, "get_params") or hasattr(thing, "params")
    left_out = {name for each in own_classes(thing) for name in INTERNAL.get(each.__name__, ())}
    left_out |= set(parameters(thing)) if is_estimator else set()
    return {
        name: found[name]
        for name in sorted(found, key=str.lower)
        if name.isidentifier()
        and not name.startswith("_")
        and not re.fullmatch("set_.*_request", name)  # scikit-learn makes them
        and name not in left_out
    }


def things() -> Iterator[tuple[str, str, Any]]:
    """Yield the module, the name and the thing of everything that is promised."""
    for module in (*PUBLIC, "dpboost.audit"):
        here = importlib.import_module(module)
        for name in OF_AUDIT if module == "dpboost.audit" else here.__all__:
            yield module, name, getattr(here, name)


def options() -> dict[str, list[str]]:
    """Return the commands with their options, and their other arguments in capitals."""
    found = {}
    for name, parser in command_line._parsers()[1].items():
        if name in command_line.COMMANDS:
            found[name] = [
                said
                for action in parser._actions
                if not isinstance(action, argparse._HelpAction)
                for said in (action.option_strings or [action.dest.upper()])
            ]
    return found


def public_names() -> dict[str, list[str]]:
    """Return every name that is promised, with what it takes if it takes anything."""
    found = {}
    for module, name, thing in things():
        found[f"{module}.{name}"] = parameters(thing)
        if inspect.isclass(thing):
            found |= {f"{module}.{name}.{each}": takes for each, takes in members(thing).items()}
    return found | {f"the command {name}": given for name, given in options().items()}


def _quoted(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def tables() -> dict[str, list[str]]:
    """Return the rows of each table of the page by the line that it begins with."""
    modules = {module: importlib.import_module(module).__all__ for module in PUBLIC}
    modules = {name: sorted(names, key=str.lower) for name, names in modules.items()}
    modules["dpboost.audit"] = list(OF_AUDIT)
    classes: dict[str, list[str]] = {}
    shown = set()
    for module, name, thing in things():
        if inspect.isclass(thing) and thing not in shown and members(thing):
            shown.add(thing)
            classes[name if module == "dpboost" else f"{module}.{name}"] = list(members(thing))
    return {
        "| module | names |": [
            *(f"| `{name}` | {_quoted(names)} |" for name, names in modules.items()),
            f"| the command `dpboost` | {_quoted(command_line.COMMANDS)} |",
        ],
        "| class | methods and attributes |": [
            f"| `{name}` | {_quoted(names)} |" for name, names in classes.items()
        ],
        "| command | arguments and options |": [
            f"| `dpboost {name}` | {_quoted(given)} |" for name, given in options().items()
        ],
        "| class | what the library itself calls |": [
            f"| `{name}` | {_quoted(names)} |" for name, names in INTERNAL.items()
        ],
    }


def page() -> str:
    """Return the page with its tables as the package has them."""
    text = PAGE.read_text(encoding="utf-8")
    for head, rows in tables().items():
        before, found, after = text.partition(head + "\n")
        if not found:
            raise ValueError(f"{PAGE.name} has no table that begins with {head!r}")
        rest = after.splitlines(keepends=True)
        while rest and rest[0].startswith("|"):
            rest.pop(0)
        text = (
            f"{before}{head}\n| :-- | :-- |\n" + "".join(f"{row}\n" for row in rows) + "".join(rest)
        )
    return text
