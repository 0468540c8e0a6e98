"""The checker of the schema, keyword by keyword."""

import math

import pytest

from dpboost.reporting.certificate import schema
from dpboost.reporting.certificate_form import CertificateError, check_form

KNOWN = {"$schema", "$defs", "$ref", "title", "type", "properties", "required", "items"}
KNOWN |= {"additionalProperties", "const", "enum", "pattern", "minimum", "maximum", "minItems"}
KNOWN |= {"maxItems", "anyOf"}

GOOD_AND_BAD = [
    ({"type": "string"}, "x", 1),
    ({"type": "integer"}, 1, True),
    ({"type": "integer"}, 1, 1.5),
    ({"type": "number"}, 1.5, "1"),
    ({"type": ["number", "null"]}, None, "x"),
    ({"type": "boolean"}, True, 1),
    ({"const": "a"}, "a", "b"),
    ({"enum": ["a", "b"]}, "b", "c"),
    ({"type": "string", "pattern": "^a$"}, "a", "b"),
    ({"type": "number", "minimum": 0}, 0, -1),
    ({"type": "number", "minimum": 0}, 0.0, math.nan),
    ({"type": "number", "maximum": 1}, 1, 2),
    ({"type": "array", "items": {"type": "integer"}}, [1], ["x"]),
    ({"type": "array", "minItems": 1}, [1], []),
    ({"type": "array", "maxItems": 1}, [1], [1, 2]),
    ({"type": "object", "required": ["a"]}, {"a": 1}, {}),
    ({"type": "object", "properties": {"a": {"type": "null"}}}, {"a": None}, {"a": 1}),
    ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}, {"b": 1}),
    ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None, 1),
    ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "null"}}}, None, 1),
]


@pytest.mark.parametrize(("rule", "good", "bad"), GOOD_AND_BAD)
def test_what_a_keyword_allows_and_refuses(rule, good, bad):
    check_form(good, rule, rule)
    with pytest.raises(CertificateError, match="does not match its schema"):
        check_form(bad, rule, rule)


def test_it_names_the_place():
    rule = {"properties": {"a": {"items": {"type": "integer"}}}}
    with pytest.raises(CertificateError, match="/a/1 must be of type integer"):
        check_form({"a": [1, "x"]}, rule, rule)


def test_the_schema_of_certificates_uses_no_other_keyword():
    def keywords(rule):
        assert set(rule) <= KNOWN
        for name in ("properties", "$defs"):
            for each in rule.get(name, {}).values():
                keywords(each)
        for each in [*rule.get("anyOf", []), *([rule["items"]] if "items" in rule else [])]:
            keywords(each)

    keywords(schema())
