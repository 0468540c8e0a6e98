"""Serve the rows of one data holder to a federated fit; they never leave.

The configuration is a JSON file; its paths are read from its own folder:

  {"party": 0,                          number in the agreement
   "agreement": "agreement.json",       the terms, which the holder has read and approves
   "data": "stays.csv",                 CSV or Parquet file; types come from the agreement's schema
   "target": "came_back",               column to predict
   "folder": "party0",                  kept between messages: records, keys and state; a new one
                                        for every fit
   "identity": "identity0",             secret key, where the agreement lists identities
   "weight": "weight",                  column of the weights, where the agreement weighs rows
   "user": "patient",                   column that says whose row it is, where it protects persons
   "listen": "0.0.0.0:8443",            address and port
   "certificate": "party0.pem", "key": "party0.key",
   "authority": "authority.pem"}        who signs the certificates of all sides

Where the agreement is on a session of a cross-validation, the folder is that of all its sessions:
rows are dealt to folds there once, and each session has its records in a folder inside.

A party that is stopped or killed goes on when it is started again with the same file. The log has
numbers of messages and nothing of the rows; https://.../health says that the party is there.

  dpboost party --new-identity identity0     make a key and print its public part
  dpboost party --config party0.json         serve until the process is stopped
"""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path
from typing import Any

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.configuration import read_configuration
from dpboost.cli.table_files import (
    label_column,
    read_file,
    split_columns,
    typed,
    typed_features,
)
from dpboost.federated.party.fold_book import FoldBook
from dpboost.federated.party.party import Party
from dpboost.federated.party.party_store import PartyStore
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.https_channel import PartyServer, tls_context
from dpboost.federated.secagg.keys import Identity

_NEEDED = ("party", "agreement", "data", "target", "folder", "listen", *("certificate", "key"))
_OPTIONAL = ("identity", "weight", "user")
_PATHS = ("agreement", "data", "folder", "identity", "certificate", "key", "authority")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost party``."""
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--config", metavar="FILE", help="serve what this file says")
    action.add_argument("--new-identity", metavar="FILE", help="make a secret key")


def run(options: argparse.Namespace) -> None:
    """Make a key, or serve until the process is stopped."""
    if options.new_identity is not None:
        print(new_identity(options.new_identity))
        return
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    settings = read_configuration(
        options.config, needed=(*_NEEDED, "authority"), optional=_OPTIONAL, paths=_PATHS
    )
    party = party_of(settings)
    host, _, port = str(settings["listen"]).rpartition(":")
    if not port.isdigit():
        raise InvalidParameterError(
            f"'listen' in {options.config!r} must be address:port, not {settings['listen']!r}."
        )
    context = tls_context(
        settings["certificate"], settings["key"], settings["authority"], server=True
    )
    with PartyStore(_folder_of(party.agreement, settings["folder"])).attached(party) as receive:
        server = PartyServer(receive, (host.strip("[]"), int(port)), context)
        print(f"party {party.index} listens at {host}:{server.port}", flush=True)
        try:
            server.serve()
        except KeyboardInterrupt:
            print(f"party {party.index} stops; started again, it goes on")


def _folder_of(agreement: Agreement, folder: str) -> Path:
    """Return the folder of the records of a session."""
    return Path(folder) if agreement.folds is None else Path(folder) / agreement.folds.session


def new_identity(path: str) -> str:
    """Write a new secret key that only its owner can read, and return the public part.

    Raises
    ------
    FileExistsError
        A key is never replaced.
    """
    identity = Identity()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(identity.secret)
    return identity.public


def party_of(settings: dict[str, Any]) -> Party:
    """Return the party of a configuration, with its rows.

    Raises
    ------
    InvalidParameterError
        Where the file does not have the columns of the agreement.
    """
    agreement = Agreement.from_json(Path(settings["agreement"]).read_text("utf-8"))
    schema = agreement.declared
    whole, weight = read_file(settings["data"]), settings.get("weight")
    table, y, users = split_columns(whole, settings["target"], None, settings.get("user"))
    if weight is not None and weight not in whole.columns:
        raise InvalidParameterError(f"The file {settings['data']!r} has no column {weight!r}.")
    weights = None
    if weight is not None:
        weights = typed(whole[[weight]], {}, {weight})[weight].to_numpy()
    missing = [name for name in agreement.features if name not in table.columns]
    if missing:
        raise InvalidParameterError(
            f"The file {settings['data']!r} lacks columns of the agreement: {', '.join(missing)}."
        )
    identity = None
    if settings.get("identity") is not None:
        identity = Identity(Path(settings["identity"]).read_bytes())
    return Party(
        settings["party"],
        typed_features(table[list(agreement.features)], schema),
        label_column(y, schema, agreement.task),
        agreement=agreement,
        identity=identity,
        sample_weight=weights,
        user_ids=None if users is None else users.to_numpy(),
        folds=None if agreement.folds is None else FoldBook(settings["folder"]),
    )
