"""Number formats and parts of a model text, and the error for an invalid text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lightgbm.basic import LightGBMError

# At most ten digits: what is longer does not fit LightGBM's 32-bit integers.
INTEGER = r"-?[0-9]{1,10}"
# Doubles are written with 17 digits; a number that goes on for megabytes is none.
FLOAT = r"-?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,5})?|inf|nan)"

_BLOCK = re.compile(r"^(?=Tree=\d+$)", re.MULTILINE)


class ModelTextError(LightGBMError, ValueError):
    """A model text that LightGBM could not load safely; the message names line and field."""


@dataclass(frozen=True)
class Entries:
    """The format of a line of entries.

    Notes
    -----
    To look for the first wrong entry takes no memory, however long the line. A pattern of the
    whole line keeps a state for each entry, and its pieces are objects each.
    """

    #: Pattern of an entry.
    entry: str
    #: The one character between two entries.
    separator: str = " "
    _first: re.Pattern[str] = field(init=False)
    _wrong: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        one = rf"(?:{self.entry})(?:{self.separator}|\Z)"
        object.__setattr__(self, "_first", re.compile(one))
        # It begins with a plain character, which a search finds fast.
        object.__setattr__(self, "_wrong", re.compile(rf"{self.separator}(?!{one})"))

    def are_in(self, line: str) -> bool:
        """Return whether the line holds such entries, one or more, and nothing else."""
        return self._first.match(line) is not None and self._wrong.search(line) is None


def text_parts(text: str) -> tuple[str, list[str], str]:
    """Cut a model text in header, blocks of trees and footer."""
    start, stop = text.index("\nTree=0\n") + 1, text.index("end of trees\n")
    return text[:start], [block for block in _BLOCK.split(text[start:stop]) if block], text[stop:]


def text_of_parts(head: str, blocks: Sequence[str], tail: str) -> str:
    """Put parts together: trees are numbered again, and the header has their sizes."""
    numbered = [
        re.sub(r"^Tree=\d+", f"Tree={number}", block) for number, block in enumerate(blocks)
    ]
    sizes = " ".join(str(len(block.encode())) for block in numbered)
    head = re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", head, flags=re.MULTILINE)
    return head + "".join(numbered) + tail
