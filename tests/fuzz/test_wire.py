"""Messages that somebody has made up or tampered with: the session ends, soon, by a clear error."""

import contextlib
import copy
import json
import time
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpboost.federated import LocalLink, PartyLostError, PartyRefusedError
from dpboost.federated.protocol import messages as m
from tests.unit.federated.channels import agreement, parties_of, recorded, run, tables

pytestmark = pytest.mark.filterwarnings("ignore")
SCHEMA = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]}
BOOSTED = {"n_estimators": 2, "max_depth": 2, "max_bin": 8, "trees_per_ensemble": 2}
FITS = {
    "best": {"hyper": BOOSTED, "accountant": "GDP", "delta": 1e-6},
    "dpboost": {"hyper": BOOSTED},
    "local_rnm": {"hyper": {"max_depth": 2, "max_bin": 8}},
}
SECONDS = 20.0

INTEGERS = st.one_of(
    st.integers(-3, 300), st.sampled_from([2**31, 2**63, -(2**63), 2**64, 6148914691236517206])
)
WORDS = st.one_of(
    st.sampled_from([*sorted(m._KINDS), *m.DTYPES, "kind", "fields", "dict", "1e99999999"]),
    st.text(max_size=5),
)
LEAVES = st.one_of(
    st.none(), st.booleans(), INTEGERS, st.floats(allow_nan=False, allow_infinity=False), WORDS
)


def _made_of(parts):
    """Every form that a value may have on the wire, of any parts."""
    some = st.lists(parts, max_size=4)
    return st.one_of(
        some,
        st.dictionaries(WORDS, parts, max_size=3),
        st.fixed_dictionaries({"fraction": some}),
        st.fixed_dictionaries({"float": parts}),
        st.fixed_dictionaries({"bytes": parts}),
        st.fixed_dictionaries({"dict": st.lists(st.tuples(parts, parts), max_size=3)}),
        st.fixed_dictionaries(
            {
                "array": st.sampled_from(m.DTYPES),
                "shape": st.lists(INTEGERS, max_size=3),
                "base64": st.one_of(parts, st.sampled_from(["", "AAAA", "AgMEBQYHCAk="])),
            }
        ),
        st.builds(
            lambda kind, fields: {"kind": kind, "fields": fields},
            st.sampled_from(sorted(m._KINDS)),
            st.dictionaries(WORDS, parts, max_size=3),
        ),
    )


PLAIN = st.recursive(LEAVES, _made_of, max_leaves=12)


@st.composite
def any_kind(draw):
    """An object of a known kind, with its own fields and anything in them."""
    name = draw(st.sampled_from(sorted(m._KINDS)))
    own = m._KINDS[name].__dataclass_fields__
    return {"kind": name, "fields": {field: draw(PLAIN) for field in own}}


def written(plain):
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()


def paths_of(plain, path=()):
    yield path
    listed = range(len(plain)) if isinstance(plain, list) else ()
    for step in plain if isinstance(plain, dict) else listed:
        yield from paths_of(plain[step], (*path, step))


def changed(draw, content):
    """Return a message with one of its parts, or one of its bytes, changed."""
    if draw(st.integers(0, 4)) == 0:
        position = draw(st.integers(0, len(content)))
        some = draw(st.sampled_from([b"", b"[", b'"', b"9" * 5000, b"\xff", b"[" * 2000, b"1e9"]))
        return content[:position] + some + content[position + draw(st.integers(0, 9)) :]
    plain = copy.deepcopy(json.loads(content))
    *above, last = draw(st.sampled_from([path for path in paths_of(plain) if path]))
    holder = plain
    for step in above:
        holder = holder[step]
    kind = draw(st.integers(0, 3))
    if kind == 0:
        del holder[last]
    elif kind == 1 and isinstance(holder, list):
        holder.append(holder[last])
    elif kind == 2 and type(holder[last]) is int:
        holder[last] += draw(INTEGERS)
    else:
        holder[last] = draw(PLAIN)
    return written(plain)


@lru_cache(maxsize=len(FITS))
def fitted(recipe):
    """Return the terms of a fit, its rows, and all messages of party 1 with the replies."""
    # From a seed, so that all but the keys is the same again when an example is.
    shared = {"schema": SCHEMA, "epsilon": 8.0, "noise_seed": 0}
    terms = agreement(2, recipe=recipe, **shared, **FITS[recipe])
    given_rows = tables((40, 30), n_classes=2)
    _, seen = recorded(terms, parties_of(terms, given_rows))
    return terms, given_rows, [(key, body, reply) for key, party, body, reply in seen if party == 1]


class Tampering(LocalLink):
    """Another message in the place of one of a party, or another reply."""

    def __init__(self, hub, party, at, message, reply):
        super().__init__(hub, party)
        self.at, self.message, self.reply = at, message, reply

    def post(self, key, body):
        if key != self.at:
            return super().post(key, body)
        if self.message is not None:
            return super().post(key, self.message)
        super().post(key, body)
        return self.reply


def run_tampered(recipe, at, message=None, reply=None):
    """Run a session with a message or a reply that was tampered with: it ends, soon."""
    terms, given_rows, _ = fitted(recipe)
    links = {1: lambda hub, index: Tampering(hub, index, at, message, reply)}
    started = time.monotonic()
    parties = parties_of(terms, given_rows)
    with contextlib.suppress(PartyRefusedError, PartyLostError):
        run(terms, parties, links, timeout=2)
    assert time.monotonic() - started < SECONDS


@given(plain=st.one_of(PLAIN, any_kind()), version=st.sampled_from([2, 2, 2, 1, None]))
def test_what_is_read_can_be_written_and_all_else_is_malformed(plain, version):
    content = written({"version": version, "message": plain})
    try:
        message = m.decode(content, object)
    except m.MalformedMessageError:
        return
    again = m.encode(message)
    assert m.encode(m.decode(again, object)) == again


@given(content=st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
def test_bytes_that_are_no_message_are_malformed(content):
    with pytest.raises(m.MalformedMessageError):
        m.decode(content, m.Hello)


@given(plain=any_kind(), recipe=st.sampled_from(sorted(FITS)), data=st.data())
@settings(max_examples=15)
def test_objects_that_were_made_up_end_a_session(plain, recipe, data):
    key, _, _ = data.draw(st.sampled_from(fitted(recipe)[2]))
    content = written({"version": 2, "message": plain})
    if data.draw(st.booleans()):
        run_tampered(recipe, key, message=content)
    else:
        run_tampered(recipe, key, reply=content)


@given(data=st.data(), recipe=st.sampled_from(sorted(FITS)))
@settings(max_examples=15)
def test_messages_and_replies_that_were_tampered_with_end_a_session(data, recipe):
    key, body, reply = data.draw(st.sampled_from(fitted(recipe)[2]))
    if data.draw(st.booleans()):
        run_tampered(recipe, key, message=changed(data.draw, body))
    else:
        run_tampered(recipe, key, reply=changed(data.draw, reply))
