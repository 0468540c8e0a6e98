"""Show the privacy report of a model: who is protected, from whom, and how much.

The report is a line of the model text, so no other file is needed. The HTML page is for readers
such as a data protection officer. The certificate lists every release with its noise, so that
anyone can recompute epsilon and delta. With --sign it is an envelope that "dpboost verify --key"
verifies. The registry record contains what the fit determines; complete the other fields by hand.

  dpboost report model.txt --html report.html
  dpboost report model.txt --certificate certificate.json
  dpboost report model.txt --certificate certificate.json --state approved_by="A. Name"
  dpboost report model.txt --certificate certificate.html --scores scores.json
  dpboost report model.txt --certificate certificate.json --sign signing.key
  dpboost report model.txt --registry deployment.yaml
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpboost._utils.files import write_atomically
from dpboost._utils.validation import InvalidParameterError
from dpboost.budgeting import Budget
from dpboost.cli.output_files import check_outputs
from dpboost.lightgbm.booster import Booster
from dpboost.reporting.certificate_page import budget_lines, certificate_document
from dpboost.reporting.deployment_record import registry_record, registry_yaml
from dpboost.reporting.document import Document
from dpboost.reporting.envelope import signed
from dpboost.reporting.plain_words import document as report_document
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.schema import DataDictionary, Schema, lightgbm_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost report``."""
    parser.add_argument("model", help="model text of dpboost")
    parser.add_argument("--html", metavar="FILE", help="write the report as an HTML page")
    parser.add_argument(
        "--certificate",
        metavar="FILE",
        help="write the certificate; HTML if the name ends in .html",
    )
    parser.add_argument("--sign", metavar="KEY", help="sign the certificate with a private key")
    parser.add_argument(
        "--state",
        metavar="NAME=TEXT",
        action="append",
        default=[],
        help="your statement for the certificate: approved_by, why_this_epsilon, ...",
    )
    parser.add_argument(
        "--schema", metavar="FILE", help="schema of the fit, named in the certificate"
    )
    parser.add_argument(
        "--scores",
        metavar="FILE",
        action="append",
        default=[],
        help="scores of fit --holdout or evaluate; may be repeated",
    )
    parser.add_argument(
        "--budget",
        metavar="FILE",
        help="list all lines of this budget in the report and the certificate",
    )
    parser.add_argument("--registry", metavar="FILE", help="write the registry's record, as YAML")


def run(options: argparse.Namespace) -> None:
    """Print the report and write the requested files."""
    if options.sign is not None and options.certificate is None:
        raise InvalidParameterError(
            "--sign needs a certificate to sign: pass --certificate FILE too."
        )
    if options.sign is not None and options.certificate.lower().endswith(".html"):
        raise InvalidParameterError("A page cannot be signed: pass --certificate FILE.json.")
    check_outputs(options.html, options.certificate, options.registry)
    booster = Booster(model_file=options.model)
    report = booster.privacy_report
    if report is None:
        raise InvalidParameterError(
            f"The model {options.model!r} has no privacy report. LightGBM removes it when it "
            "saves a model again, and models of LightGBM never have one."
        )
    budget = None if options.budget is None else Budget.load(options.budget)
    if options.schema is not None:
        _check_columns(options.schema, booster.feature_name())
    document = report.certificate(
        model=booster, budget=budget, stated=_stated(options), scores=options.scores
    )
    written = document
    if options.sign is not None:
        name = Path(options.model).name
        written = signed(document, Path(options.sign).read_bytes(), model=name)
    page = report_document(report)
    if budget is not None:
        page = Document(page.title, (*page.blocks, *budget_lines(document["accounting"])))
    print(page.text())
    if options.html is not None:
        page.page(options.html)
    if options.certificate is not None:
        write_atomically(options.certificate, _text(report, document, written, options).encode())
    if options.registry is not None:
        text = registry_yaml(registry_record(report, document))
        write_atomically(options.registry, text.encode())


def _check_columns(path: str, features: Sequence[str]) -> None:
    """Raise if the columns of a schema or data dictionary are not those of the model."""
    found = Schema.or_dictionary(path)
    if isinstance(found, DataDictionary):
        named = {lightgbm_name(name) for name in found.features}
        of_fit = {*named, *(lightgbm_name(entry.name) for entry in found.entries)}
        absent = [name for name in features if name not in of_fit]
        more = sorted(named - set(features))
        target = found.target
        more = [name for name in more if target is not None or len(more) > 1]
    else:
        listed, numeric, learned = found.kinds()
        absent = []
        more = sorted({lightgbm_name(name) for name in (*listed, *numeric, *learned)} - {*features})
        more = [name for name in more if not name.isdigit()]
    if absent or more:
        parts = [f"the model has {', '.join(absent)}, which it lacks"] * bool(absent)
        parts += [f"it has {', '.join(more)}, which the model lacks"] * bool(more)
        raise InvalidParameterError(
            f"--schema {path} is not the schema of the fit: {'; '.join(parts)}. Pass the "
            "schema that the fit used."
        )


def _text(
    report: PrivacyReport,
    document: dict[str, Any],
    written: dict[str, Any],
    options: argparse.Namespace,
) -> str:
    """Return the content of the certificate's file: HTML or JSON."""
    if not options.certificate.lower().endswith(".html"):
        return json.dumps(written, indent=1) + "\n"
    return certificate_document(report, document).page() or ""


def _stated(options: argparse.Namespace) -> dict[str, str]:
    """Return the user's statements by name."""
    found = {}
    for given in options.state:
        name, mark, text = given.partition("=")
        if not mark:
            raise InvalidParameterError(
                f"--state {given}: expected NAME=TEXT, such as approved_by='A. Name'."
            )
        found[name] = text
    if options.schema is not None:
        content = Path(options.schema).read_bytes()
        name = Path(options.schema).name
        found["data_schema"] = f"{name}, SHA-256 {hashlib.sha256(content).hexdigest()}"
    return found
