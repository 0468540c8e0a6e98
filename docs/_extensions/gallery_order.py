"""The order of the gallery: the first model first, then short programs before long ones."""

from __future__ import annotations

from pathlib import Path

from sphinx_gallery.sorting import NumberOfCodeLinesSortKey

FIRST = "plot_first_model.py"


class FirstModelFirst(NumberOfCodeLinesSortKey):
    """Sorts programs of the gallery."""

    def __call__(self, filename: str | Path) -> int:
        """Return the place of a program."""
        return -1 if Path(filename).name == FIRST else int(super().__call__(filename))
