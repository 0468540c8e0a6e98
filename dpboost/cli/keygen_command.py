"""Generate a key pair to sign certificates and verify signatures.

Only the owner can read the private key file. Anyone who has the private key can sign in your name.
Send the public key to verifiers by a separate channel, not together with the certificates.

  dpboost keygen signing.key
  dpboost report model.txt --certificate certificate.json --sign signing.key
  dpboost verify certificate.json model.txt --key signing.key.pub
"""

from __future__ import annotations

import argparse
import os

from dpboost._utils.private_files import open_private
from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.output_files import check_outputs
from dpboost.reporting.envelope import new_key


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost keygen``."""
    parser.add_argument("key", help="file for the private key; .pub is added for the public key")


def run(options: argparse.Namespace) -> None:
    """Write both keys; never replace an existing file."""
    public = f"{options.key}.pub"
    check_outputs(options.key, public)
    for path in (options.key, public):
        if os.path.lexists(path):
            raise InvalidParameterError(
                f"The file {path!r} already exists and keys are never replaced: pass another name."
            )
    private, shown = new_key()
    with open(open_private(options.key, new=True), "wb") as file:
        file.write(private)
    with open(public, "xb") as file:
        file.write(shown)
    print(f"{options.key}: private key, keep it secret\n{public}: public key, for verification")
