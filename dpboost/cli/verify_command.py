"""Verify a certificate: its form, its model, its releases, its total, and its signature.

The command recomputes the charges from the noise, composes them over the scopes, and compares the
total with the claimed epsilon and delta. With --key, that key must have signed the certificate.
Claims that no file can prove are listed as taken on trust. The exit code is 1 if the certificate
is refused. checker/check_certificate.py in the sources does the same without dpboost.

  dpboost verify certificate.json model.txt
  dpboost verify certificate.json model.txt --key signing.key.pub
  dpboost verify certificate.json model.txt --transcript fit.transcript
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpboost._utils.json_text import parse_json
from dpboost._utils.validation import InvalidParameterError
from dpboost._utils.version import build_hash
from dpboost.budgeting.verification import verify_accounting
from dpboost.compacting.compact import PUBLIC, RELEASED, compact
from dpboost.lightgbm.booster import Booster
from dpboost.model_selection.replaying import replay
from dpboost.reporting.certificate import NOT_STATED, schema
from dpboost.reporting.certificate_form import CertificateError, check_form
from dpboost.reporting.envelope import is_envelope, opened
from dpboost.reporting.terms import COMPACT_SETTINGS
from dpboost.transcripts.transcript import Transcript

# Groups that the report in the model text repeats.
_OF_THE_REPORT = ("claim", "accounting", "meaning")
# Values that are computed from released sums in floating point, and the maximum difference between
# machines in units in the last place. A larger difference means another model.
_COMPUTED = ("leaf_value", "leaf_weight", "internal_value", "internal_weight", "split_gain")
_MOST_ULPS = 16
_COMPLETE = "the list of releases is complete: only a replay can show that (--transcript)"
_TRUSTED = (
    "sensitivities, caps and disjoint rows are as listed: the proofs and the audit speak for them",
    "the samplers draw the discrete laws exactly, from secret random bits",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost verify``."""
    parser.add_argument("certificate", help="JSON certificate of dpboost report, signed or not")
    parser.add_argument("model", help="certified model text")
    parser.add_argument("--key", metavar="FILE", help="public key that must have signed it")
    parser.add_argument(
        "--transcript", metavar="FILE", help="transcript to replay; must give the same model"
    )


def run(options: argparse.Namespace) -> None:
    """Verify the certificate and print the results, or raise."""
    data = Path(options.certificate).read_bytes()
    try:
        document = parse_json(data)
    except ValueError as error:
        raise CertificateError(f"{options.certificate!r} is not valid JSON ({error}).") from error
    public = None if options.key is None else Path(options.key).read_bytes()
    certificate, found, trusted = _signature(document, public, options)
    rules = schema()
    check_form(certificate, rules, rules)
    found.append("the form is that of the schema")
    text = Path(options.model).read_bytes()
    _check_model(certificate, text, options.model)
    found.append("the model and its report match the certificate")
    found += verify_accounting(certificate)
    if options.transcript is None:
        trusted.append(_COMPLETE)
    else:
        shown, more = _check_transcript(options.transcript, text)
        found.append(shown)
        trusted += more
    accounting = certificate["accounting"]
    if accounting["budget"] is not None:
        trusted.append("other fits of the budget kept to their lines")
        if not accounting["budget"]["all_lines"]:
            trusted.append("the other lines of the budget, which are not listed (--budget)")
    if accounting["parties"] is not None:
        honest = f"{accounting['parties']['honest']} of {accounting['parties']['parties']}"
        trusted.append(f"{honest} parties are honest, and drew their shares of the noise")
    if certificate["claim"]["continued_model"]:
        within = accounting["earlier"]["epsilon"] == "0"
        paid = "is in the same budget" if within else "has a certificate of its own"
        trusted.append(f"the model that is continued {paid}")
    print("verified:")
    for sentence in found:
        print(f"  {sentence}")
    print("taken on trust:")
    for sentence in (*trusted, *_TRUSTED):
        print(f"  {sentence}")


def _signature(
    document: Any, public: bytes | None, options: argparse.Namespace
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return the certificate, what its signature proves, and what is taken on trust."""
    if not is_envelope(document):
        if public is not None:
            raise CertificateError(f"{options.certificate!r} is not signed.")
        return document, [], ["the certificate is not signed: its author is unknown"]
    certificate = opened(document, public)
    if public is None:
        return certificate, [], ["the signature, which was not verified: no --key was given"]
    return certificate, [f"a signature is by the key of {options.key}"], []


def _check_model(certificate: Mapping[str, Any], text: bytes, path: str) -> None:
    """Raise if the certificate is of another model, or differs from the model's report."""
    digest = hashlib.sha256(text).hexdigest()
    stated = certificate["identity"]["model_sha256"]
    if digest != stated:
        told = "names no model" if stated == NOT_STATED else "is of another model"
        raise CertificateError(f"The certificate {told}: the SHA-256 of {path!r} is {digest}.")
    report = Booster(model_str=text.decode()).privacy_report
    if report is None:
        raise CertificateError(f"The model {path!r} carries no privacy report.")
    # In the same form as after reading from a file.
    again = json.loads(json.dumps(report.certificate()))
    for group in _OF_THE_REPORT:
        if _comparable(certificate.get(group)) != _comparable(again[group]):
            raise CertificateError(
                f"The certificate differs from the report of the model in {group!r}."
            )


def _check_transcript(path: str, text: bytes) -> tuple[str, list[str]]:
    """Return what a replay proves and what is taken on trust; raise for another model."""
    transcript = Transcript.load(path)
    try:
        again = replay(transcript)
    except InvalidParameterError as error:
        if transcript.build_sha256 in ("", build_hash()):
            raise
        raise CertificateError(_another_build(path, transcript)) from error
    booster = getattr(again, "booster_", None)
    if booster is None:
        raise CertificateError(f"The transcript {path!r} is not of a fit of one model.")
    found, trusted = booster.model_to_string(), []
    report = Booster(model_str=text.decode()).privacy_report
    step = None if report is None else report.facts.get(COMPACT_SETTINGS)
    same = True
    if isinstance(step, str):
        settings = parse_json(step.encode())
        same = hashlib.sha256(found.encode()).hexdigest() == settings["full_sha256"]
        if settings["rows"] == PUBLIC:
            trusted.append("the small model was fitted to the replayed one on public rows")
            found = text.decode()
        elif same:
            asked = {name: settings[name] for name in ("n_trees", "num_leaves", "max_error")}
            full = again if settings["rows"] == RELEASED else found
            found = compact(full, **asked).model_to_string()
    apart = _ulps_between(found, text.decode()) if same else None
    if apart == 0:
        return "the transcript, replayed without a row, gives this model and this list", trusted
    if apart is not None and apart <= _MOST_ULPS:
        trusted.append("the last digits of the leaves, which another kind of machine may compute")
        return (
            "the transcript, replayed without a row, gives this list and the structure of this "
            f"model, with leaves within {apart:.0f} units in the last place"
        ), trusted
    if transcript.build_sha256 not in ("", build_hash()):
        raise CertificateError(_another_build(path, transcript))
    raise CertificateError(f"The transcript {path!r} produces another model: it is of another fit.")


def _ulps_between(one: str, other: str) -> float | None:
    """Return the largest difference of two model texts in units in the last place.

    Return None if anything but values of nodes differs: structures depend on public randomness and
    released integers only, and are the same on every machine.
    """
    if one == other:
        return 0.0
    first, second = one.splitlines(), other.splitlines()
    if len(first) != len(second):
        return None
    largest = 0.0
    for a, b in zip(first, second, strict=True):
        if a == b or (a.startswith("tree_sizes=") and b.startswith("tree_sizes=")):
            continue
        name, _, numbers = a.partition("=")
        other_name, _, other_numbers = b.partition("=")
        if name != other_name or name not in _COMPUTED:
            return None
        x, y = (np.array(text.split(), dtype=np.float64) for text in (numbers, other_numbers))
        if x.shape != y.shape:
            return None
        unit = np.spacing(np.maximum(np.abs(x), np.abs(y)))
        largest = max(largest, float(np.max(np.abs(x - y) / unit)))
    return largest


def _another_build(path: str, transcript: Transcript) -> str:
    return (
        f"Cannot tell whether the transcript {path!r} gives this model: another build of dpboost "
        f"(version {transcript.build}) recorded it. Verify it with that build."
    )


def _comparable(group: Any) -> Any:
    """Return a group of a certificate, with only the fit's lines of a budget."""
    if not isinstance(group, dict) or not isinstance(group.get("budget"), dict):
        return group
    own = [
        {name: value for name, value in line.items() if name != "closes"}
        for line in group["budget"]["lines"]
        if line["own"]
    ]
    shared = ("lines", "accounts", "all_lines")
    terms = {name: value for name, value in group["budget"].items() if name not in shared}
    return {**group, "budget": {**terms, "lines": sorted(own, key=repr)}}
