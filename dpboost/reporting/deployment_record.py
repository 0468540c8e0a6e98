"""Record of a model for OpenDP's registry of deployments of differential privacy.

The registry has one YAML file for each deployment. A fit determines 20 of its 34 fields; the others
are comments, which the publisher of the model fills in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dpboost.reporting.plain_words import assumptions
from dpboost.reporting.terms import ReportTerms

_MODELS = {"central": "Central", "parties": "Federated", "local": "Local"}
_DETAILS = {
    "central": "One data holder trains the model on all rows and adds the noise.",
    "parties": "Data holders keep their rows. Their noisy sums are added under masks.",
    "local": "Every device randomizes its own report before it sends it.",
}


def registry_record(report: ReportTerms, certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the registry, None for values that only the publisher knows.

    The certificate is that of the report, with the hash of the model. Fields are in the order of
    the registry's template.
    """
    claim, identity = certificate["claim"], certificate["identity"]
    kind = certificate["trust_model"]["kind"]
    parameters = {"epsilon": claim["epsilon"], "delta": claim["delta"]}
    if claim["definition"] == "pure":
        del parameters["delta"]
    conditions = certificate["conditions"]
    unprotected = (
        f"Assumed public: {', '.join(conditions['assumed_public']) or 'nothing'}. "
        f"Declared public: {conditions['declared_public']}. "
        f"Rows taken as public: {conditions['taken_as_public']}."
    )
    relation = {
        "add_remove": "Adjacent tables differ by",
        "replace": "Adjacent tables have equally many rows and differ by",
    }[claim["neighbours"]]
    mechanisms = sorted({name for line in claim["releases"] for name in _names(line)})
    return {
        "url_slug": None,
        "status": "Draft",
        "tier": 2,
        "deployment": {
            "basic": {
                "name": None,
                "data_curators": None,
                "intended_use": None,
                "data_product_type": "Machine learning model",
                "data_product_region": None,
                "description": (
                    f"Gradient boosted trees in LightGBM's text format, trained by dpboost "
                    f"{identity['version']}, recipe {identity['recipe']}. SHA-256 of the model: "
                    f"{identity['model_sha256']}."
                ),
                "publication_date": None,
                "data_product_sector": None,
            },
            "dp_variant": {
                "variant_name": "Pure DP" if claim["definition"] == "pure" else "Approximate DP",
                "data_domain": (
                    f"Tables with the columns that the model names. {' '.join(assumptions(report))}"
                ).strip(),
                "unprotected_quantities": unprotected,
            },
            "privacy_loss": {
                "privacy_unit": "Record-level" if report.rows_per_user is None else "User-level",
                "privacy_unit_details": f"{relation} {claim['unit']}.",
                "privacy_parameters": parameters,
                "privacy_parameters_details": claim["sentence"],
            },
            "deployment_model": {
                "model_name": _MODELS[kind],
                "model_name_details": _DETAILS[kind],
                "actors": " ".join(certificate["trust_model"]["from_whom"]),
                "release_type": None,
                "release_type_details": None,
                "data_source_type": None,
                "data_source_type_details": None,
                "access_type": "Non-interactive",
                "access_type_details": "The model is a file; it gives no access to the rows.",
            },
            "accounting": {
                "post_processing": (
                    "Model text, report, importances and predictions are computed from released "
                    "numbers alone."
                ),
                "composition": (
                    f"{claim['number_of_releases']} releases, added up in {claim['accountant']} "
                    "accounting; releases about disjoint rows count once, by the largest. The "
                    "certificate lists each with its noise."
                ),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": None,
                "mechanisms": (
                    f"{', '.join(mechanisms)}; dpboost {identity['version']}. Sums are exact "
                    "integers and samplers are exact on the integers, so that floating-point "
                    "attacks have nothing to work on. Time and memory are not protected."
                ),
                "justification": None,
            },
            "administrative": {
                "sources": (
                    "The certificate of the model; the proofs, docs/proofs in the sources of "
                    f"dpboost {identity['version']}."
                ),
                "registry_authors": None,
            },
        },
    }


def registry_yaml(record: Mapping[str, Any]) -> str:
    """Return a record as YAML; unknown fields are comments.

    The record is one of `registry_record`.
    """
    return "\n".join(_lines(record, "")) + "\n"


def _lines(record: Mapping[str, Any], indent: str) -> list[str]:
    lines = []
    for name, value in record.items():
        if value is None:
            lines.append(f"{indent}# {name}: to be filled in")
        elif isinstance(value, Mapping):
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ")]
        else:
            # JSON scalars are YAML scalars, except 1e-06, which YAML 1.1 reads as text.
            scalar = json.dumps(value, ensure_ascii=False)
            if isinstance(value, float) and "e" in scalar and "." not in scalar:
                scalar = scalar.replace("e", ".0e")
            lines.append(f"{indent}{name}: {scalar}")
    return lines


def _names(line: Mapping[str, Any]) -> list[str]:
    return [name.strip() for name in line["mechanism"].split(",")]
