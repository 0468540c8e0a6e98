"""The certificate of a model: its guarantee, releases, and the statements of the user."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib import resources
from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost._utils.version import __version__, build_hash
from dpboost.reporting import audit_record
from dpboost.reporting.attacker import best_true_positive_rate, membership_advantage, posterior
from dpboost.reporting.plain_words import from_whom, who
from dpboost.reporting.proof_pages import MACHINE_CHECKED, pages_of
from dpboost.reporting.released_scores import listed_scores, outside_total
from dpboost.reporting.standards import asked_for
from dpboost.reporting.terms import AFTER_THE_FIT, ReportTerms

NOT_STATED = "not stated by the user"
# Statements that only the user can make, by group; free text.
STATED = {
    "data": ("data_name", "data_period", "data_schema"),
    "approval": ("approved_by", "approved_on", "why_this_epsilon"),
    "conditions": ("public_rows", "earlier_models", "disjoint_tables"),
    "outside_the_guarantee": ("preprocessing", "hyper_parameters", "published_scores"),
    "life": ("refits", "contact", "legal_basis", "data_controller"),
}

#: Budget lines that are scores of rows.
SCORES = ("evaluate", "cv")


def certificate(
    report: ReportTerms,
    *,
    model: Any = None,
    stated: Mapping[str, str] | None = None,
    budget: Mapping[str, Any] | None = None,
    scores: Sequence[Any] = (),
) -> dict[str, Any]:
    """Return the certificate of a model.

    ``model`` is a model text, or an object that contains it; the certificate contains its hash.
    ``stated`` are statements of the user by the names in ``STATED``. ``budget`` has the terms and
    all lines of the budget, as ``Budget.record`` returns them; by default only the lines of the fit
    are listed. ``scores`` are released scores of the model, or their files. Returns strings,
    numbers, booleans, None, lists and dicts, as `schema` describes them.

    InvalidParameterError if the model has no text, a statement has an unknown name or is not text,
    or scores are given without a model or for another model.
    """
    said = _checked(stated)
    version, build, audit = __version__, build_hash(), audit_record.stored()
    audited = set(audit["releases"])
    facts = report.facts
    epsilon, delta = report.total
    own_epsilon, own_delta = report.own
    mu = report.mu
    accounting = _accounting(report, budget)
    digest = NOT_STATED if model is None else model_hash(model)
    if scores and model is None:
        raise refuse("model", "certificate", "given when scores are given", None)
    listed = listed_scores(scores, digest, report.budget)
    return {
        "identity": {
            "library": "dpboost",
            "version": version,
            "build_sha256": build,
            "recipe": str(facts.get("recipe", NOT_STATED)),
            "issued": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "model_sha256": digest,
            **({"after_the_fit": str(facts[AFTER_THE_FIT])} if AFTER_THE_FIT in facts else {}),
        },
        "claim": {
            "private": report.private,
            "reasons_why_not": list(report.reasons),
            "definition": report.kind,
            "sentence": report.guarantee,
            "epsilon": "inf" if epsilon == math.inf else epsilon,
            "delta": delta,
            "own_epsilon": "inf" if own_epsilon == math.inf else own_epsilon,
            "own_delta": own_delta,
            "mu": mu,
            "continued_model": report.continues,
            "neighbours": report.neighbors,
            "unit": report.unit,
            "rows_per_person": report.rows_per_user or 1,
            "accountant": report.accountant,
            "number_of_releases": sum(line.releases for line in report.releases),
            "releases": [
                {
                    "kind": line.label,
                    "times": line.releases,
                    "mechanism": line.mechanism,
                    "norm": line.kind,
                    "least_sensitivity": line.smallest,
                    "largest_sensitivity": line.largest,
                    "unit": line.unit,
                    "share_of_budget": None if line.share is None else float(line.share),
                    "reason": line.reason,
                }
                for line in report.releases
            ],
        },
        "accounting": accounting,
        "meaning": _meaning(own_epsilon, own_delta, mu) if report.private else None,
        "meaning_of_the_budget": _meaning(epsilon, delta, budget_mu(report))
        if report.private and report.own != report.total
        else None,
        "conditions": {
            "assumed_public": list(report.assumed_public),
            "declared_public": str(facts.get("declared public", "nothing")),
            "learned_under_the_budget": str(facts.get("learned", "nothing")),
            "taken_as_public": str(facts.get("taken as public", "nothing")),
            **said["conditions"],
        },
        "correctness": {
            "exact_arithmetic": True,
            "noise_source": "; ".join(report.reasons) or "the operating system's random bits",
            "proofs": pages_of(line.label for line in report.releases),
            "machine_checked": MACHINE_CHECKED,
            "audit": {
                "installed_version": version,
                "audited_version": audit["version"],
                "covers_installed_version": version == audit["version"],
                "audited_build_sha256": audit["build_sha256"],
                "covers_installed_build": build == audit["build_sha256"],
                "date": audit["date"],
                "verdict": audit["verdict"],
                "checks": audit["checks"],
                "not_audited": audit["not_audited"],
                "releases_not_audited": sorted({line.label for line in report.releases} - audited),
                "record": audit_record.SOURCE,
                "command": audit_record.COMMAND,
            },
        },
        "trust_model": {
            "kind": _trust_model(report),
            "protected": list(who(report)),
            "from_whom": list(from_whom(report)),
        },
        "outside_the_guarantee": {
            "timing_and_memory": "not covered",
            "refused_input": "not covered",
            "the_process_itself": "not covered",
            **said["outside_the_guarantee"],
        },
        "utility_and_bias": _scores(accounting, listed=bool(listed)),
        "scores": listed,
        "scores_outside_the_budget": outside_total(scores, report.budget),
        "data": said["data"],
        "approval": said["approval"],
        "life": said["life"],
        "asked_for": asked_for(),
    }


def _scores(accounting: Mapping[str, Any] | None, *, listed: bool) -> str:
    """Describe which scores of the table's rows were released under the budget of the fit."""
    if listed:
        return "listed, with intervals of 95 %, and with what each evaluation spent"
    budget = None if accounting is None else accounting["budget"]
    if budget is None:
        return "no score is a part of this guarantee: the fit belongs to no budget"
    names = [line["what"] for line in budget["lines"]]
    found = [f"{name}, {names.count(name)} times" for name in SCORES if name in names]
    if found:
        return f"released under the budget, their cost in its lines: {'; '.join(found)}"
    if budget["all_lines"]:
        return "no score was released under the budget"
    return "not known: the certificate lists all lines where it is given the budget"


def schema() -> dict[str, Any]:
    """Return the JSON schema of a certificate."""
    text = resources.files(__package__).joinpath("certificate.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _accounting(report: ReportTerms, budget: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return every release and its scopes, with the requested budget of the continued model."""
    if report.accounting is None:
        return None
    own = report.accounting["budget"]
    if budget is not None:
        own = _with_all_lines(own, budget)
    earlier = {"epsilon": report.earlier_epsilon, "delta": report.earlier_delta}
    plain = {name: "inf" if own == math.inf else str(own) for name, own in earlier.items()}
    return {**report.accounting, "budget": own, "earlier": plain}


def _with_all_lines(own: Mapping[str, Any] | None, budget: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a whole budget, with the lines of a fit marked as its own."""
    terms = ("epsilon", "delta", "pure_epsilon", "conversion_delta")
    lines = [dict(line) for line in budget["lines"]]
    same = own is not None and all(own[name] == budget[name] for name in terms)
    for mine in own["lines"] if own is not None else ():
        free = (
            line
            for line in lines
            if not line["own"]
            and all(line[name] == mine[name] for name in mine if name not in ("closes", "own"))
        )
        found = next(free, None)
        same &= found is not None
        if found is not None:
            found["own"] = True
    if not same:
        raise InvalidParameterError(
            "The 'budget' of a certificate must be the budget of the fit: its terms or its lines "
            "differ from the report. Pass the budget that the fit was charged to."
        )
    return {**budget, "lines": lines}


def budget_mu(report: ReportTerms) -> float | None:
    """Return mu of all releases under a budget; None if not all are accounted in mu.

    An account in mu stays in mu. The rest of delta is the failure probability of estimated
    categories, which `_meaning` adds. A separate pure account is not in mu, nor are a continued
    model and periods that share rows.
    """
    budget = report.budget
    if budget is None or not report.private or report.mu is None:
        return None
    if Fraction(budget["pure_epsilon"]) or "periods" in budget:
        return None
    capacities = [
        each["capacity"] for each in budget["accounts"] if each["measure"] == "mu squared"
    ]
    return math.sqrt(Fraction(capacities[0])) if capacities else None


def _meaning(epsilon: float, delta: float, mu: float | None) -> dict[str, float]:
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "mu": mu}
    return {
        "true_positives_at_1_percent_false": best_true_positive_rate(0.01, **terms),
        "true_positives_at_5_percent_false": best_true_positive_rate(0.05, **terms),
        "membership_advantage": membership_advantage(**terms),
        "posterior_of_prior_1_percent": posterior(0.01, **terms),
        "posterior_of_prior_10_percent": posterior(0.1, **terms),
        "posterior_of_prior_50_percent": posterior(0.5, **terms),
    }


def _trust_model(report: ReportTerms) -> str:
    if "local privacy" in report.facts:
        return "local"
    return "parties" if "protected at" in report.facts else "central"


def _checked(stated: Mapping[str, str] | None) -> dict[str, dict[str, str]]:
    known = [name for names in STATED.values() for name in names]
    for name, text in (stated or {}).items():
        if name not in known:
            raise refuse("stated", "certificate", f"texts by names among {known}", name)
        if not isinstance(text, str):
            raise refuse(f"stated[{name!r}]", "certificate", "a text", text)
    return {
        group: {name: (stated or {}).get(name, NOT_STATED) for name in names}
        for group, names in STATED.items()
    }


def model_hash(model: Any) -> str:
    """Return the SHA-256 of a model text, or of the text that an object would save."""
    model = getattr(model, "booster_", model)
    text = model if isinstance(model, str) else None
    if hasattr(model, "model_to_string"):
        text = model.model_to_string()
    if text is None:
        raise refuse("model", "certificate", "a model text, a Booster or an estimator", type(model))
    return hashlib.sha256(text.encode()).hexdigest()
