"""Print recipes beside literal algorithms: ``python -m tests.oracles [--quick] [WORD ...]``."""

from __future__ import annotations

import sys

from tests.oracles.cases import cases


def main() -> None:
    """Print a table in Markdown of the points whose names hold all words."""
    words = [word for word in sys.argv[1:] if word != "--quick"]
    quick = "--quick" in sys.argv
    print("| point | recipe | literal | error of the difference | not worse |")
    print("| --- | --- | --- | --- | --- |")
    for case in cases():
        if (quick and not case.quick) or not all(word in case.name for word in words):
            continue
        found = case.compare()
        said = "yes" if found.not_worse else f"no{': ' * bool(case.explained)}{case.explained}"
        numbers = [f"{value:.4f}" for value in (found.ours, found.theirs, found.error)]
        print(f"| {found.name} | {' | '.join(numbers)} | {said} |", flush=True)


if __name__ == "__main__":
    main()
