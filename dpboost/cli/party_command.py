"""Take part in a federated session with the rows of one data holder.

The configuration is a JSON file; paths in it are relative to its folder:

  {"party": 0,                          index in the agreement
   "agreement": "agreement.json",       the terms, which the data holder has read and approved
   "data": "stays.csv",                 CSV or Parquet file; types come from the agreement's schema
   "target": "came_back",               column to predict
   "folder": "records",                 records of all sessions: charges, keys, messages
   "identity": "identity0",             secret key, whose public part the agreement lists
   "weight": "weight",                  column of row weights, if the agreement has weights
   "user": "patient",                   column of user ids, if the agreement protects users
   "coordinator": "c.example:8443",     address of the coordinator that the agreement names
   "certificate": "party0.pem", "key": "party0.key",
   "authority": "authority.pem",        signer of the certificates of all sides
   "revoked": "revoked.pem",            revocation list of the authority, if any
   "timeout": 3600}                     seconds to retry while the coordinator does not answer

The party connects to the coordinator and opens no port. It runs the fit itself and ends with the
same model as all other parties. A stopped or killed party resumes when it is started again with
the same file. The log names the coordinator and contains nothing about the rows. Proxies are read
from the variables https_proxy and no_proxy.

  dpboost party --new-identity identity0              generate a key and print its public part
  dpboost party --config party0.json -o model.txt     take part until the session ends
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

from dpboost._utils.files import write_atomically
from dpboost._utils.private_files import open_private
from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.configuration import read_configuration
from dpboost.cli.output_files import check_outputs
from dpboost.cli.table_files import read_file
from dpboost.data.declared_rows import COMMAND_LINE, Declaration
from dpboost.federated.outcome import outcome_of
from dpboost.federated.party.party import Party
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.https import HttpsLink, check_networked, fingerprint, tls_context
from dpboost.federated.secagg.keys import Identity
from dpboost.federated.training.agreed_fit import party_report
from dpboost.schema.declared_types import typed

_NEEDED = (
    *("party", "agreement", "data", "target", "folder", "identity", "coordinator"),
    *("certificate", "key", "authority"),
)
_OPTIONAL = ("weight", "user", "revoked", "timeout")
_PATHS = ("agreement", "data", "folder", "identity", "certificate", "key", "authority", "revoked")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost party``."""
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--config", metavar="FILE", help="configuration in JSON")
    action.add_argument("--new-identity", metavar="FILE", help="generate a secret key")
    parser.add_argument("-o", "--output", metavar="FILE", help="model text, or metrics")


def run(options: argparse.Namespace) -> None:
    """Generate a key, or take part until the session ends."""
    if options.new_identity is not None:
        print(new_identity(options.new_identity))
        return
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if options.output is not None:
        check_outputs(options.output)
    settings = read_configuration(options.config, needed=_NEEDED, optional=_OPTIONAL, paths=_PATHS)
    party = party_of(settings)
    check_networked(party.agreement)
    context = tls_context(
        settings["certificate"],
        settings["key"],
        settings["authority"],
        server=False,
        revoked=settings.get("revoked"),
    )
    link = HttpsLink(
        settings["coordinator"],
        party.index,
        party.agreement,
        context,
        timeout=settings.get("timeout", 3600.0),
    )
    print(f"party {party.index} connects to {settings['coordinator']}", flush=True)
    try:
        found = party.run(link, certificate=fingerprint(settings["certificate"]))
    except KeyboardInterrupt:
        print(f"party {party.index} stops; start it again to resume")
        return
    save_outcome(outcome_of(found), options.output)
    if party.agreement.folds is None:
        print(party_report(party.agreement, found.ledger))


def save_outcome(outcome: Any, path: str | None) -> None:
    """Write the result of a session: a model text, or metrics."""
    if path is None:
        return
    if hasattr(outcome, "booster_"):
        outcome.booster_.save_model(path)
    else:
        write_atomically(path, f"{outcome}\n".encode())


def new_identity(path: str) -> str:
    """Write a new secret key that only its owner can read, and return the public part.

    FileExistsError if the file exists: a key is never replaced.
    """
    identity = Identity()
    with open(open_private(path, new=True), "wb") as file:
        file.write(identity.secret)
    return identity.public


def party_of(settings: dict[str, Any]) -> Party:
    """Return the party of a configuration, with its rows."""
    agreement = Agreement.from_json(Path(settings["agreement"]).read_text("utf-8"))
    schema = agreement.declared
    lists, _, learned = schema.kinds()
    if learned:
        raise InvalidParameterError(
            "Parties cannot estimate categories from their rows: the schema of the agreement "
            f"must list the values of {', '.join(sorted(learned))}."
        )
    numbers = {name for name in agreement.features if name not in lists}
    whole, weight = read_file(settings["data"], numbers), settings.get("weight")
    target, user = settings["target"], settings.get("user")
    declared = Declaration(schema=schema, target=target, user=user, interface=COMMAND_LINE)
    if weight is not None and weight not in whole.columns:
        raise InvalidParameterError(f"The file {settings['data']!r} has no column {weight!r}.")
    weights = None
    if weight is not None:
        weights = typed(whole[[weight]], {}, {weight})[weight].to_numpy()
    missing = [name for name in agreement.features if name not in whole.columns]
    if missing:
        raise InvalidParameterError(
            f"The file {settings['data']!r} lacks columns of the agreement: {', '.join(missing)}."
        )
    identity = None
    if settings.get("identity") is not None:
        identity = Identity(Path(settings["identity"]).read_bytes())
    return Party(
        settings["party"],
        typed(whole[list(agreement.features)], lists, numbers),
        declared.labels(whole, agreement.task),
        agreement=agreement,
        identity=identity,
        sample_weight=weights,
        user_ids=declared.users(whole),
        folder=settings.get("folder"),
    )
