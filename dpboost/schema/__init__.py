"""Public declarations: schemas, data dictionaries, and checks of tables."""

from __future__ import annotations

from dpboost.schema.data_dictionary import DataDictionary
from dpboost.schema.schema import (
    MAX_VALUE_BINS,
    Category,
    Column,
    DictionarySchema,
    ResolvedSchema,
    Schema,
    lightgbm_name,
)
from dpboost.schema.table_check import SchemaCheck
from dpboost.schema.template import schema_template

__all__ = [
    "MAX_VALUE_BINS",
    "Category",
    "Column",
    "DataDictionary",
    "DictionarySchema",
    "ResolvedSchema",
    "Schema",
    "SchemaCheck",
    "lightgbm_name",
    "schema_template",
]
