"""Tries new examples for a while: ``python -m tests.fuzz --minutes 30``."""

import argparse
import secrets
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent


def main(arguments=None):
    """Run the fuzz tests with one seed after the other; stop at the first that fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="start no round after so many")
    parser.add_argument("--seed", type=int, help="one round with this seed, to see it fail again")
    parser.add_argument("tests", nargs="*", default=[str(FOLDER)], help="files or pytest ids")
    options = parser.parse_args(arguments)
    end = time.monotonic() + 60 * options.minutes
    n_rounds = 0
    while True:
        seed = secrets.randbits(32) if options.seed is None else options.seed
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        command += ["--hypothesis-profile=long", f"--hypothesis-seed={seed}", *options.tests]
        print(f"round {n_rounds + 1}, seed {seed}", flush=True)
        status = subprocess.run(command, check=False).returncode
        if status:
            print(f"failed; again: python -m tests.fuzz --seed {seed}", flush=True)
            return status
        n_rounds += 1
        if options.seed is not None or time.monotonic() >= end:
            print(f"{n_rounds} rounds passed", flush=True)
            return 0


if __name__ == "__main__":
    sys.exit(main())
