"""Coordinate a session of parties: add their messages, and write the model.

The configuration is a JSON file; paths in it are relative to its folder:

  {"agreement": "agreement.json",       terms of the fit, the same file for all parties
   "listen": "0.0.0.0:8443",            address and port to which the parties connect
   "record": "session.log",             replies of the session; a new file for each agreement
   "certificate": "coordinator.pem", "key": "coordinator.key",
   "authority": "authority.pem",        signer of the certificates of all sides
   "revoked": "revoked.pem",            revocation list of the authority, if any
   "timeout": 600}                      seconds to wait for a party, which may be restarting

A stopped or killed coordinator resumes when it is started again. The progress bar counts trees.
For an agreement on an evaluation (dpboost.federated.evaluation_agreement) or on a cross-validation
(dpboost.federated.cv_agreement), the output contains metrics instead of a model.

  dpboost coordinate --config coordinator.json -o model.txt
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from dpboost.cli.configuration import read_configuration
from dpboost.cli.output_files import check_outputs
from dpboost.cli.party_command import save_outcome
from dpboost.federated.outcome import Coordinator
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.https import HubServer, read_address, tls_context
from dpboost.federated.protocol.hub import Hub

_NEEDED = ("agreement", "listen", "record", "certificate", "key", "authority")
_OPTIONAL = ("revoked", "timeout")
_PATHS = ("agreement", "record", "certificate", "key", "authority", "revoked")
# Seconds in which parties can receive the last reply.
_GOODBYE = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost coordinate``."""
    parser.add_argument("--config", required=True, metavar="FILE", help="configuration in JSON")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="model text, or metrics"
    )


def run(options: argparse.Namespace) -> None:
    """Train or evaluate, save, and print the report."""
    check_outputs(options.output)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    settings = read_configuration(options.config, needed=_NEEDED, optional=_OPTIONAL, paths=_PATHS)
    agreement = Agreement.from_json(Path(settings["agreement"]).read_text("utf-8"))
    context = tls_context(
        settings["certificate"],
        settings["key"],
        settings["authority"],
        server=True,
        revoked=settings.get("revoked"),
    )
    hub = Hub(settings["record"])
    coordinator = Coordinator(agreement, hub, timeout=settings.get("timeout", 600.0))
    server = HubServer(hub, agreement, read_address(settings["listen"]), context)
    print(f"the coordinator listens at port {server.port}", flush=True)
    if hub.n_replies:
        print(f"resumes after {hub.n_replies} recorded replies", flush=True)
    try:
        outcome = coordinator.run(show_progress=True)
        save_outcome(outcome, options.output)
    finally:
        server.close(_GOODBYE)
    for name in ("privacy_report_", "privacy_report", "report"):
        if hasattr(outcome, name):
            print(getattr(outcome, name))
            break
