"""Show the privacy report of a model: who is protected, from whom, and how much.

The report is a line of the model text, so nothing else is needed. The page is for people such as a
data protection officer; the certificate says the same to programs, with the digest of the model.

  dpboost report model.txt --html report.html
  dpboost report model.txt --certificate certificate.json
"""

from __future__ import annotations

import argparse
import json

from dpboost._utils.files import write_atomically
from dpboost._utils.validation import InvalidParameterError
from dpboost.lightgbm.booster import Booster


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost report``."""
    parser.add_argument("model", help="model text of dpboost")
    parser.add_argument("--html", metavar="FILE", help="write it as a page")
    parser.add_argument("--certificate", metavar="FILE", help="write the certificate, as JSON")


def run(options: argparse.Namespace) -> None:
    """Print the report and write what was asked for."""
    booster = Booster(model_file=options.model)
    report = booster.privacy_report
    if report is None:
        raise InvalidParameterError(
            f"The model {options.model!r} carries no privacy report: LightGBM drops it when it "
            "saves a model again, and a model of LightGBM has none."
        )
    print(report)
    if options.html is not None:
        report.to_html(options.html)
    if options.certificate is not None:
        document = report.certificate(model=booster)
        write_atomically(options.certificate, (json.dumps(document, indent=2) + "\n").encode())
