"""What a party takes in: the engine's queries and commands, checked before its rows see them.

A coordinator sends the engine's own objects. A party believes none of their numbers: sensitivities
must hold for every object that can be built, and whatever a kernel relies on must be checked. Of
each kind a party knows which rows it is for, and how it is checked. What it can work out itself,
such as loss, bounds of a row and layouts, it works out, and takes a message only where both are the
same.

A query may have a ``branch``: names of the nested parts of the rows that it is about, from the
outside; all rows without it. Parts with different names inside one part must hold disjoint rows
whatever was told before: each party's ledger charges by these names, and only the code of
``evaluate`` makes them true. A command must therefore never move rows into a part again.

The first command finds the rows as `HeldRows`. The state that a command returns may have

* ``stage``: str. Releases of different stages add up in the party's ledger, as those of one stage
  do; the state itself must give a new name whenever rows are divided again.
* ``branch``: tuple of str. The part of the rows that is taken up, as of queries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpboost.federated.protocol import wire


class UnusableMessageError(ValueError):
    """A message whose parts do not fit together, or do not fit what was told before."""


def check(holds: bool) -> None:
    """Raise unless a public condition holds."""
    if not holds:
        raise UnusableMessageError("A message does not fit what was told before.")


def check_same(given: Any, own: Any) -> None:
    """Raise unless a part of a message is what the party has worked out, type by type."""
    check(wire.encode(given) == wire.encode(own))


_KINDS: dict[type, tuple[type, Callable[[Any, Any], Any] | None]] = {}


def admit(name: str, kind: type, rows: type, own: Callable[[Any, Any], Any] | None = None) -> None:
    """Let queries or commands of a kind be sent to parties.

    Parameters
    ----------
    name : str
        Of the kind in messages.
    kind : type
        A dataclass as `wire.known` wants it.
    rows : type
        State of a party's rows that these are for; in all others they are refused.
    own : callable, optional
        ``own(message, rows)`` returns what the party answers or carries out in its place, or
        raises. A kind without it checks itself, with the rows, when it is used.
    """
    _KINDS[wire.known(name, kind)] = (rows, own)


def is_admitted(message: Any) -> bool:
    """Return whether queries or commands of this kind may be sent to parties."""
    return type(message) in _KINDS


def admitted(message: Any, rows: Any) -> Any:
    """Return what a party answers or carries out for a message, or raise.

    Parameters
    ----------
    message : Query or Command
        As it was sent.
    rows : object
        The state of the party's rows.

    Raises
    ------
    UnusableMessageError
    """
    check(is_admitted(message))
    kind, own = _KINDS[type(message)]
    check(isinstance(rows, kind))
    return message if own is None else own(message, rows)
