"""Validation of a certificate against its JSON schema."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class CertificateError(ValueError):
    """A certificate is malformed, of another model, not signed as stated, or claims too much."""


def check_form(
    value: Any, rule: Mapping[str, Any], schema: Mapping[str, Any], at: str = ""
) -> None:
    """Raise if a value violates a rule of a JSON schema.

    ``value`` is as ``json.loads`` returns it, ``rule`` has the keywords that
    ``certificate.schema.json`` uses, ``schema`` is the whole schema, to resolve ``$ref``, and
    ``at`` says where the value is. The CertificateError names the first violation.
    """
    if "$ref" in rule:
        *_, name = rule["$ref"].split("/")
        check_form(value, schema["$defs"][name], schema, at)
        return
    if "anyOf" in rule:
        if not any(_keeps(value, each, schema) for each in rule["anyOf"]):
            raise _fault(at, "matches none of the forms in the schema")
        return
    names = rule.get("type", [])
    types = [names] if isinstance(names, str) else names
    # A boolean is an integer in Python, but not in JSON.
    if types and not any(
        isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
        for name in types
    ):
        raise _fault(at, f"must be of type {' or '.join(types)}")
    if "const" in rule and value != rule["const"]:
        raise _fault(at, f"must be {rule['const']!r}")
    if "enum" in rule and value not in rule["enum"]:
        raise _fault(at, f"must be one of {rule['enum']}")
    if "pattern" in rule and re.search(rule["pattern"], value) is None:
        raise _fault(at, f"must match {rule['pattern']}")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Comparisons with NaN are false, so NaN is refused.
    if number and not rule.get("minimum", -math.inf) <= value <= rule.get("maximum", math.inf):
        raise _fault(at, "is outside its range")
    if isinstance(value, list):
        if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
            raise _fault(at, "has a wrong length")
        for position, each in enumerate(value):
            check_form(each, rule.get("items", {}), schema, f"{at}/{position}")
    if isinstance(value, dict):
        _check_object(value, rule, schema, at)


def _check_object(
    value: Mapping[str, Any], rule: Mapping[str, Any], schema: Mapping[str, Any], at: str
) -> None:
    known = rule.get("properties", {})
    for name in rule.get("required", ()):
        if name not in value:
            raise _fault(f"{at}/{name}", "is missing")
    for name, each in value.items():
        if name in known:
            check_form(each, known[name], schema, f"{at}/{name}")
        elif not rule.get("additionalProperties", True):
            raise _fault(f"{at}/{name}", "is unknown")


def _keeps(value: Any, rule: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    try:
        check_form(value, rule, schema)
    except CertificateError:
        return False
    return True


def _fault(at: str, fault: str) -> CertificateError:
    return CertificateError(f"The certificate does not match its schema: {at or 'it'} {fault}.")
