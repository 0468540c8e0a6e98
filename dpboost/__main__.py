"""The command line, ``python -m dpboost``."""

from __future__ import annotations

import sys

from dpboost.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
