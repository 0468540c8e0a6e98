"""Train with parties that serve their rows by "dpboost party", or judge a model by them.

The configuration is a JSON file; its paths are read from its own folder:

  {"agreement": "agreement.json",       the terms that all parties have
   "parties": ["a.example:8443", "b.example:8443"],   in the order of their numbers
   "journal": "session.journal",        what was sent and received; a new one for every fit
   "certificate": "coordinator.pem", "key": "coordinator.key",
   "authority": "authority.pem",        who signs the certificates of all sides
   "timeout": 600}                      seconds to wait for a party, which may be starting again

A coordinator that is stopped or killed goes on when it is started again: what the journal has is
not asked a second time. The progress bar counts trees. Where the agreement is on an evaluation
(dpboost.federated.evaluation_agreement), figures with intervals are written in place of a model.
A cross-validation is one such session for each fold (dpboost.federated.cv_agreements), and one for
the evaluation of all of them (cv_evaluation_agreement).

  dpboost coordinate --config coordinator.json -o model.txt
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dpboost._utils.files import write_atomically
from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.configuration import read_configuration
from dpboost.cli.output_files import check_outputs
from dpboost.federated.estimators import FederatedBoostingClassifier, FederatedBoostingRegressor
from dpboost.federated.evaluation import evaluate_channel
from dpboost.federated.protocol.agreed_evaluation import EVALUATION
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.https_channel import HttpsChannel, tls_context
from dpboost.federated.protocol.journal import JournalChannel
from dpboost.federated.tree_classifier import FederatedTreeClassifier
from dpboost.recipes import ALGORITHMS

_NEEDED = ("agreement", "parties", "journal", "certificate", "key", "authority")
_PATHS = ("agreement", "journal", "certificate", "key", "authority")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost coordinate``."""
    parser.add_argument("--config", required=True, metavar="FILE", help="configuration in JSON")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="model text, or figures"
    )


def run(options: argparse.Namespace) -> None:
    """Train or judge, save and say what holds."""
    check_outputs(options.output)
    settings = read_configuration(
        options.config, needed=_NEEDED, optional=("timeout",), paths=_PATHS
    )
    agreement = Agreement.from_json(Path(settings["agreement"]).read_text("utf-8"))
    addresses = settings["parties"]
    if not isinstance(addresses, list) or len(addresses) != agreement.n_parties:
        raise InvalidParameterError(
            f"'parties' in {options.config!r} must list one host:port for each of the "
            f"{agreement.n_parties} parties of the agreement."
        )
    context = tls_context(
        settings["certificate"], settings["key"], settings["authority"], server=False
    )
    https = HttpsChannel(addresses, context, timeout=settings.get("timeout", 600.0))
    journal = JournalChannel(https, agreement, settings["journal"])
    if journal.repeated:
        print(f"goes on after {journal.repeated} exchanges of the journal", flush=True)
    try:
        if agreement.recipe == EVALUATION:
            found = evaluate_channel(journal, agreement)
            write_atomically(options.output, f"{found}\n".encode())
            report = found.report
        else:
            model = _estimator(agreement).fit_channel(journal, agreement)
            model.booster_.save_model(options.output)
            report = model.privacy_report_
    finally:
        https.close()
    print(report)


def _estimator(agreement: Agreement) -> Any:
    """Return the estimator of the agreement's recipe and task."""
    if agreement.recipe not in ALGORITHMS:
        return FederatedTreeClassifier()
    if agreement.task == "regression":
        return FederatedBoostingRegressor()
    return FederatedBoostingClassifier()
