"""What may be asked of a party's rows, and what they may be told: both public, both sent.

Questions and orders are those of `dpboost.privacy.queries`, as frozen dataclasses that are
registered with `wire.known`. A party believes the fields, which the coordinator chose, and nothing
else: sensitivities must hold for every object that can be built, and whatever a kernel relies
on must be checked.

A question may have

* ``branch``: tuple of str. Names of the nested parts of the rows that it is about, from the
  outside; all rows without it. Parts with different names inside one part must hold disjoint
  rows whatever was told before: each party's ledger charges by these names, and only the code of
  ``answer`` makes them true. An order must therefore never move rows into a part again.
* ``at``: ``at(rows)`` returns the question that is meant, once the rows' own public state is
  known.

The first order finds the rows as `HeldRows`. The state that an order returns may have

* ``stage``: str. Releases of different stages add up in the party's ledger, as those of one stage
  do; the state itself must give a new name whenever rows are divided again.
* ``branch``: tuple of str. The part of the rows that is taken up, as of questions.
"""

from __future__ import annotations

from typing import Any

from dpboost.privacy.queries import Command, Query

__all__ = ["Command", "Query", "branch_of"]


def branch_of(query: Any) -> tuple[str, ...]:
    """Return the part of the rows that a question or a state is about; ``()`` for all of them."""
    return tuple(getattr(query, "branch", ()))
