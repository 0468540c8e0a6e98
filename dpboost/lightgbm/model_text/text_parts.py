"""Splitting and joining of the parts of a model text."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BLOCK = re.compile(r"^(?=Tree=\d+$)", re.MULTILINE)


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
