"""The transcript of a call, and its file.

The file is a zip archive. `transcript.json` holds the call and a line for each release,
`integers.npy` all outcomes one after the other, `public-N.npy` the arrays among the public
arguments. The format is described in docs/reference/transcript-format.md.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from dpboost._utils.files import write_atomically
from dpboost._utils.json_text import parse_json
from dpboost._utils.validation import InvalidParameterError
from dpboost._utils.version import build_hash
from dpboost.privacy.recording import Recording, Step
from dpboost.transcripts.call import Call
from dpboost.transcripts.encoding import Decoder, Encoder, array_in, npy

#: Number of the format. A reader refuses a larger one.
FORMAT = 1
_KIND = "dpboost transcript"
_HEAD, _INTEGERS = "transcript.json", "integers.npy"
#: Largest head and arrays that are read: a small file cannot ask for all memory.
_MOST_BYTES = 1 << 32


@dataclass(frozen=True, kw_only=True, eq=False)
class Transcript:
    """The public arguments of a call, and all of its releases.

    With a transcript, :func:`dpboost.replay` reproduces the model without rows.

    Parameters
    ----------
    call : Call
        Its public side.
    values : tuple of (str, value)
        Public values that were chosen on the way: seeds and identifiers.
    ledgers : tuple of tuple of Step
        Every release of each ledger: the line of the ledger, and the outcome.
    reasons : tuple of str
        Why the guarantee does not hold; empty if it does.
    build : str
        Version of the library that recorded it.
    build_sha256 : str
        Digest of its code and kernels, as certificates have it; empty until the transcript is
        written to a file.

    Privacy
    -------
    A transcript is made of public arguments and released outcomes: it is covered by the guarantee
    of the call, and may be shared with anyone who may see the model. It holds no key, no secret
    seed and no random assignment of a row. Evaluation sets and earlier models are public arguments
    and are part of it. ``private`` is False if the call was not private.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost import DPBoostRegressor
    >>> X = np.random.default_rng(0).uniform(size=(500, 1))
    >>> schema = dict(bounds={0: (0, 1)}, label_bounds=(0, 1))
    >>> DPBoostRegressor(schema=schema, n_estimators=20).fit(X, X[:, 0]).transcript_.private
    True
    """

    call: Call
    values: tuple[tuple[str, Any], ...]
    ledgers: tuple[tuple[Step, ...], ...]
    reasons: tuple[str, ...] = ()
    build: str = ""
    build_sha256: str = ""

    @property
    def private(self) -> bool:
        """Whether the guarantee of the call holds."""
        return not self.reasons

    @property
    def releases(self) -> tuple[Step, ...]:
        """All releases, in their order."""
        return tuple(step for steps in self.ledgers for step in steps)

    @property
    def n_integers(self) -> int:
        """Number of released integers and names."""
        return sum(
            int(np.size(step.outcome))
            if isinstance(step.outcome, np.ndarray)
            else sum(map(len, step.outcome))
            for step in self.releases
        )

    def recording(self) -> Recording:
        """Return what a replay reads."""
        return Recording(
            values=list(self.values),
            ledgers=[list(steps) for steps in self.ledgers],
            reasons=list(self.reasons),
            facts=dict(self.call.facts),
        )

    def to_bytes(self) -> bytes:
        """Return the file of the transcript; equal transcripts have equal files.

        Raises
        ------
        InvalidParameterError
            If an argument of the call cannot be kept in a file; the message names it.
        """
        return _to_bytes(self)

    def save(self, path: Any) -> None:
        """Write the transcript to a file.

        Parameters
        ----------
        path : path
            An old file stays as it is where writing fails.

        Raises
        ------
        InvalidParameterError
            As :meth:`to_bytes`.
        """
        write_atomically(path, self.to_bytes())

    @classmethod
    def load(cls, path: Any) -> Transcript:
        """Read a transcript from a file.

        Parameters
        ----------
        path : path
            That :meth:`save` wrote.

        Returns
        -------
        Transcript

        Raises
        ------
        InvalidParameterError
            If the file is damaged, of a newer format, or holds something else.
        """
        return _load(path)

    def __repr__(self) -> str:
        what = self.call.function
        if self.call.subject is not None:
            what = f"{self.call.subject.__name__}.{what}"
        state = "" if self.private else ", not private"
        return f"<Transcript of {what}: {len(self.releases)} releases{state}>"


def _to_bytes(transcript: Transcript) -> bytes:
    """Return the file of a transcript."""
    encoder = Encoder()
    head = {
        "kind": _KIND,
        "format": FORMAT,
        "build": transcript.build,
        # Hashing the code takes longer than a small fit, so it waits for a file.
        "build_sha256": transcript.build_sha256 or build_hash(),
        "reasons": list(transcript.reasons),
        "call": encoder.call(transcript.call),
        "values": [[name, encoder.value(name, value)] for name, value in transcript.values],
        "ledgers": [[_step(step) for step in steps] for steps in transcript.ledgers],
    }
    arrays = [step.outcome for step in transcript.releases if isinstance(step.outcome, np.ndarray)]
    flat = [np.asarray(each, dtype=np.int64).ravel() for each in arrays]
    members = {_INTEGERS: npy(np.concatenate(flat) if flat else np.empty(0, dtype=np.int64))}
    members |= {f"public-{number}.npy": npy(each) for number, each in enumerate(encoder.arrays)}
    head["sha256"] = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    text = json.dumps(head, separators=(",", ":"), allow_nan=False).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {_HEAD: text, **members}.items():
            # No date: equal transcripts have equal files.
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _load(path: Any) -> Transcript:
    """Read a transcript, or raise an error that names the file."""
    where = os.fspath(path)
    try:
        with zipfile.ZipFile(where) as archive:
            sizes = {each.filename: each.file_size for each in archive.infolist()}
            if sum(sizes.values()) > _MOST_BYTES:
                _refuse(where, "is larger than any transcript")
            members = {name: archive.read(name) for name in sizes}
    except FileNotFoundError:
        raise InvalidParameterError(f"The transcript file {where!r} does not exist.") from None
    except (OSError, zipfile.BadZipFile, NotImplementedError, EOFError, ValueError) as error:
        _refuse(where, f"cannot be read ({type(error).__name__})")
    except Exception as error:  # noqa: BLE001 - zlib raises an error of its own for damaged data
        _refuse(where, f"is damaged ({type(error).__name__})")
    return _from_members(where, members)


def _from_members(where: str, members: dict[str, bytes]) -> Transcript:
    """Return the transcript that the members of an archive hold."""
    try:
        head = parse_json(members[_HEAD])
        kind, number = head["kind"], head["format"]
    except (KeyError, TypeError, ValueError, RecursionError):
        _refuse(where, "is not a transcript of dpboost")
    if kind != _KIND:
        _refuse(where, "is not a transcript of dpboost")
    if not isinstance(number, int) or number > FORMAT:
        _refuse(where, f"has format {number!r}, and this version reads up to {FORMAT}: update it")
    try:
        for name, digest in head["sha256"].items():
            if hashlib.sha256(members[name]).hexdigest() != digest:
                _refuse(where, f"is damaged: {name} is not what was written")
        return _transcript(head, members)
    except InvalidParameterError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        _refuse(where, f"is damaged ({type(error).__name__})")


def _refuse(where: str, why: str) -> NoReturn:
    raise InvalidParameterError(f"The transcript file {where!r} {why}.")


def _transcript(head: dict[str, Any], members: dict[str, bytes]) -> Transcript:
    decoder = Decoder(members, _nested)
    integers = array_in(members[_INTEGERS])
    if integers.dtype != np.int64 or integers.ndim != 1:
        raise ValueError("outcomes are integers")
    used, ledgers = 0, []
    for lines in head["ledgers"]:
        steps = []
        for line in lines:
            shape, form = tuple(map(int, line["shape"])), line["outcome"]
            if "names" in form:
                outcome: Any = tuple(
                    tuple((str(kind), str(key), decoder.value(value)) for kind, key, value in own)
                    for own in form["names"]
                )
            else:
                size = tuple(map(int, form["shape"]))
                stop = used + int(np.prod(size, dtype=np.int64))
                outcome = integers[used:stop].reshape(size).astype(np.dtype(form["dtype"]))
                used = stop
            steps.append(Step(line=line["line"], shape=shape, outcome=outcome))
        ledgers.append(tuple(steps))
    if used != len(integers):
        raise ValueError("outcomes that belong to no release")
    return Transcript(
        call=decoder.call(head["call"]),
        values=tuple((str(name), decoder.value(value)) for name, value in head["values"]),
        ledgers=tuple(ledgers),
        reasons=tuple(map(str, head["reasons"])),
        build=str(head["build"]),
        build_sha256=str(head.get("build_sha256", "")),
    )


def _step(step: Step) -> dict[str, Any]:
    """Return a release as JSON; its integers are in an array of their own."""
    if isinstance(step.outcome, np.ndarray):
        form: dict[str, Any] = {
            "shape": list(step.outcome.shape),
            "dtype": step.outcome.dtype.str,
        }
    else:
        encoder = Encoder()
        form = {
            "names": [
                [[kind, key, encoder.value("name", value)] for kind, key, value in own]
                for own in step.outcome
            ]
        }
    return {"line": step.line, "shape": list(step.shape), "outcome": form}


def _nested(data: bytes) -> Transcript:
    """Return a transcript inside another one, of the model that was used."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return _from_members("inside", {name: archive.read(name) for name in archive.namelist()})
