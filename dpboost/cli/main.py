"""Parse the command line and run a command."""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType

import numpy as np

import dpboost
from dpboost._utils.validation import InvalidParameterError, command_line
from dpboost.cli import (
    budget_command,
    check_command,
    compact_command,
    coordinate_command,
    evaluate_command,
    fit_command,
    forecast_command,
    keygen_command,
    parity_command,
    party_command,
    predict_command,
    refit_command,
    report_command,
    schema_command,
    verify_command,
)
from dpboost.federated.protocol.hub import PartyLostError, PartyRefusedError
from dpboost.lightgbm.model_text.syntax import ModelTextError
from dpboost.privacy.ledger import BudgetExceededError
from dpboost.reporting.certificate_form import CertificateError

#: In the order in which a user needs them.
COMMANDS: dict[str, ModuleType] = {
    "schema": schema_command,
    "check": check_command,
    "budget": budget_command,
    "forecast": forecast_command,
    "fit": fit_command,
    "predict": predict_command,
    "refit": refit_command,
    "compact": compact_command,
    "report": report_command,
    "keygen": keygen_command,
    "verify": verify_command,
    "evaluate": evaluate_command,
    "parity": parity_command,
    "party": party_command,
    "coordinate": coordinate_command,
}

#: What a user can fix; anything else is a fault of the library and shows its traceback.
REFUSALS = (InvalidParameterError, ModelTextError, BudgetExceededError, OSError, ImportError)

# Options by the parameter that they set, and the pattern of a message about a parameter.
_OPTIONS = {
    **{name: name for name in ("epsilon", "delta", "recipe", "holdout", "fraction", "conformal")},
    **{name: name for name in ("metrics", "groups")},
    "rows_per_user": "rows-per-user",
    "n_estimators": "trees",
}
_PARAMETER = re.compile(rf"The '({'|'.join(_OPTIONS)})' (?:parameter |argument )?of [\w.]+ ")

_EPILOG = """\
From a table to a model:

  dpboost schema data.csv -o dictionary.csv     names and types; complete them from the codebook
  dpboost check data.csv --schema dictionary.csv  not private: what would be clipped or dropped
  dpboost fit data.csv --target income --schema dictionary.csv --epsilon 1 -o model.txt
  dpboost report model.txt --html report.html   who is protected, from whom, and how much
  dpboost predict model.txt new.csv -o predictions.csv

Before and after:

  dpboost budget table.budget --epsilon 3       one epsilon for all fits and scores of a table
  dpboost forecast --rows 20000 --epsilon 0.5 1 2 --schema dictionary.csv --like public.csv
  dpboost evaluate model.txt other.csv --schema dictionary.csv --epsilon 1
  dpboost refit fit.transcript newer.csv --schema dictionary.csv --epsilon 1 -o newer.txt
  dpboost compact model.txt -o small.txt        a small model, for serving
  dpboost verify certificate.json model.txt     recompute the guarantee from the noise

Rows of several data holders that stay where they are: "dpboost party" and "dpboost coordinate".

"dpboost parity" shows how DPBoost treats LightGBM's parameters and functions; "dpboost audit"
checks the guarantee of the installed version.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    ``arguments`` are those of the process by default. The code is 0 after success; 1 if an audit
    refutes a claim or a certificate is refused; 2 if arguments or files are invalid, before any
    draw or charge; 3 if a party is lost or refuses. Charges are then kept, and the same command
    resumes when the party is available again.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["audit"]:
        # Imported late: no other command needs it.
        from dpboost.audit.__main__ import main as audit

        return audit(given[1:])
    options = _parsers()[0].parse_args(given)
    try:
        # Products of matrices of some builds of BLAS raise flags of lanes that they do not use, and
        # NumPy then warns of an invalid value where all are finite.
        with command_line(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.showwarning = _show_warning
            COMMANDS[options.command].run(options)
    except CertificateError as error:
        print(f"refused: {error}")
        return 1
    except REFUSALS as error:
        said = _in_own_words(str(error))
        print(f"dpboost {options.command}: {said}", file=sys.stderr)
        return 2
    except (PartyLostError, PartyRefusedError) as error:
        print(f"dpboost {options.command}: {error}", file=sys.stderr)
        return 3
    return 0


def help_of(command: str | None = None) -> str:
    """Return the help of the program or of one command, as ``--help`` prints it.

    The command is one of `COMMANDS`.
    """
    parser, commands = _parsers()
    return (parser if command is None else commands[command]).format_help()


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of the program, and those of its commands."""
    parser = argparse.ArgumentParser(
        prog="dpboost",
        description="Differentially private gradient boosting, compatible with LightGBM.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"dpboost {dpboost.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        text = (module.__doc__ or "").strip().partition("\n")[0]
        command = commands.add_parser(
            name,
            help=text,
            description=(module.__doc__ or "").strip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
    commands.add_parser("audit", help="Check the guarantee of the installed version.")
    return parser, dict(commands.choices)


def _in_own_words(message: str) -> str:
    """Return a message with the option's name instead of the Python parameter at its start."""
    found = _PARAMETER.match(message)
    return message if found is None else f"--{_OPTIONS[found[1]]} {message[found.end() :]}"


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning on one line, without its location in the library."""
    print(f"warning: {message}", file=sys.stderr)
