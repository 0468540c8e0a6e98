"""A category that one row of one party has: nothing that others see says whether it is there.

What a party sends, books and certifies is compared where the sums are the same, which a script of a
coordinator gives: then nothing may differ, digests, texts and lengths among them. What the sums
themselves reveal is bounded by their noise.
"""

import json
import re

import numpy as np
import pytest

from dpboost.federated import Party
from dpboost.federated.party import party_session
from dpboost.federated.party.party_session import folder_of
from dpboost.federated.training.agreed_fit import party_report
from dpboost.federated.training.session_run import text_of
from dpboost.rows.raw_rows import RawRows
from tests.unit.federated.channels import Script, agreement, in_thread, script

pytestmark = pytest.mark.filterwarnings("ignore")
pandas = pytest.importorskip("pandas")
KINDS = ["common", "often", "once"]
TERMS = {
    "best": {"hyper": {"n_estimators": 3, "max_depth": 2, "max_bin": 8}},
    "dpboost": {"hyper": {"n_estimators": 2, "max_depth": 2, "max_bin": 8}, "epsilon": 40.0},
    "histograms": {"hyper": {"max_depth": 2}},
}
SCHEMA = {"bounds": {"age": (0, 1)}, "categories": {"kind": KINDS}, "classes": [0, 1]}


def rows_of(*, there):
    rng = np.random.default_rng(0)
    kinds = rng.choice(KINDS[:2], 40)
    frame = pandas.DataFrame({"age": rng.uniform(size=40), "kind": kinds})
    if there:
        frame.loc[7, "kind"] = "once"
    return frame, rng.integers(0, 2, 40)


def session_of(recipe, folder, *, there, sums="small"):
    """Return what there is of a session of a party: messages, book, certificate, entries, text."""
    given = {"nonce": "one", "date": "2026-01-01", "public_seed": 3, "recipe": recipe}
    terms = agreement(3, features=("age", "kind"), schema=SCHEMA, **given, **TERMS[recipe])
    link = Script(terms, script(sums))
    own = folder / str(there)
    found = in_thread(Party(0, *rows_of(there=there), agreement=terms, folder=own).run, link)
    if isinstance(found, Exception):
        return {"messages": link.seen}
    book = (folder_of(own, terms.digest) / "charges.txt").read_text()
    report = party_report(terms, found.ledger)
    return {
        "messages": link.seen,
        "book": book,
        "certificate": json.dumps(report.to_dict(), sort_keys=True, default=str),
        "entries": [(entry.label, entry.scope, entry.size) for entry in found.ledger.entries],
        "text": re.sub(r"(?m)^dpboost:.*$", "", text_of(found.fitted, terms)),
    }


@pytest.mark.parametrize("sums", ["small", "random"])
@pytest.mark.parametrize("recipe", list(TERMS))
def test_a_session_does_not_say_that_it_is_there(recipe, sums, tmp_path, monkeypatch):
    monkeypatch.setattr(party_session.secrets, "token_bytes", bytes)
    without, whole = (
        session_of(recipe, tmp_path, there=there, sums=sums) for there in (False, True)
    )
    assert without["book"].count("\n") == len(without["entries"])
    assert without["messages"][-1][1] == "Done"
    assert without == whole


def test_a_party_that_refuses_rare_categories_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(party_session.secrets, "token_bytes", bytes)
    encode = RawRows.encode_labels

    def refusing(self, **given):
        # A planted bug: a category that is too rare ends the session.
        if (self.column(1) == KINDS.index("once")).sum() == 1:
            raise ValueError("a category is too rare")
        return encode(self, **given)

    monkeypatch.setattr(RawRows, "encode_labels", refusing)
    without, whole = (session_of("best", tmp_path, there=there) for there in (False, True))
    assert "failed" in whole["messages"]
    assert without["messages"] != whole["messages"]
