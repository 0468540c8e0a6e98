"""Files of released scores, for the certificate of a model."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpboost._utils.files import write_atomically
from dpboost._utils.json_text import parse_json
from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.reporting.terms import ReportTerms

#: Terms that identify a budget.
_TERMS = ("epsilon", "delta", "pure_epsilon", "conversion_delta")


def scores_record(evaluation: Any, model_sha256: str) -> dict[str, Any]:
    """Return the scores of an evaluation as plain data.

    ``model_sha256`` is the hash of the evaluated model text.
    """
    blocks = {"all rows": evaluation.metrics, **evaluation.groups}
    return {
        "model_sha256": model_sha256,
        "figures": [
            {
                "metric": name,
                "group": str(group),
                "held_out": evaluation.held_out,
                **{
                    part: None if figure.too_few else _plain(getattr(figure, part))
                    for part in ("value", "low", "high")
                },
            }
            for group, figures in blocks.items()
            for name, figure in figures.items()
        ],
        "report": evaluation.report.to_dict(),
    }


def write_scores(path: str, evaluation: Any, model_sha256: str) -> None:
    """Write the scores of an evaluation to a file for a certificate."""
    text = json.dumps(scores_record(evaluation, model_sha256), indent=1, allow_nan=False)
    write_atomically(path, f"{text}\n".encode())


def listed_scores(
    given: Any, model_sha256: str, budget: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Return the scores that a certificate lists, each with the charge of its evaluation.

    ``given`` are evaluations, or paths of their files. ``model_sha256`` is the hash of the model of
    the certificate, ``budget`` that of the fit, as in the report.
    """
    found = []
    for each in given:
        is_path = isinstance(each, (str, os.PathLike))
        record = _read(each) if is_path else scores_record(each, model_sha256)
        if record["model_sha256"] != model_sha256:
            raise InvalidParameterError(
                f"The 'scores' of a certificate must be of its model: {os.fspath(each)!r} is of "
                f"the model with SHA-256 {record['model_sha256']}."
            )
        report = ReportTerms.from_dict(record["report"])
        epsilon, delta = report.own
        inside = is_inside(report, budget)
        found += [
            {
                **figure,
                "own_epsilon": "inf" if epsilon == math.inf else epsilon,
                "own_delta": delta,
                "in_the_budget": inside,
                "private": report.private,
            }
            for figure in record["figures"]
        ]
    return found


def is_inside(report: ReportTerms, budget: Mapping[str, Any] | None) -> bool:
    """Return whether an evaluation is under the budget of a fit."""
    own = report.budget
    return (
        own is not None and budget is not None and all(own[name] == budget[name] for name in _TERMS)
    )


def outside_total(given: Any, budget: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the total of the evaluations outside the budget of a fit; None if there are none.

    Arguments are as in `listed_scores`. Returns their number, and the sums of epsilon and delta by
    basic composition.
    """
    records = [_read(each) if isinstance(each, (str, os.PathLike)) else None for each in given]
    reports = [
        each.report if record is None else ReportTerms.from_dict(record["report"])
        for each, record in zip(given, records, strict=True)
    ]
    spent = [report.own for report in reports if not is_inside(report, budget)]
    if not spent:
        return None
    epsilon = math.fsum(own for own, _ in spent)
    return {
        "evaluations": len(spent),
        "epsilon": "inf" if epsilon == math.inf else epsilon,
        "delta": math.fsum(own for _, own in spent),
    }


def _read(path: Any) -> dict[str, Any]:
    shown = os.fspath(path)
    try:
        found = parse_json(Path(path).read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict) or set(found) != {"model_sha256", "figures", "report"}:
        raise refuse("scores", "certificate", "files written by the option --scores", shown)
    return found


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
