"""Items of a certificate and the requirements of two published guides that they address.

The guides are NIST Special Publication 800-226 (March 2025), with the factors of its pyramid from
top to base, and SATRE 2.0.1, the specification of trusted research environments, with its
capabilities. A certificate does not claim conformity.
"""

from __future__ import annotations

from typing import NamedTuple

NIST = "NIST SP 800-226"
SATRE = "SATRE 2.0.1"

_EPSILON = "epsilon and its companions"
_UNIT = "unit of privacy"
_UTILITY = "utility and bias"
_ALGORITHMS = "correctness of algorithms and implementation"
_TRUST = "trust model"
_SIDE = "side channels"
_ACCESS = "security and access control"
_COLLECTION = "exposure at data collection"
_OUTPUT = "output management (3.3), item 3.3.07"
_DATA = "data lifecycle management"
_GOVERNANCE = "information governance"


class CertificateItem(NamedTuple):
    """An item of a certificate and the requirements that it addresses."""

    #: A group of the certificate, or a field of a group.
    item: str
    #: Description of the item.
    words: str
    #: Factor of the pyramid, and capability; empty if the guide has no such requirement.
    nist: str
    satre: str


ASKED = (
    CertificateItem("claim", "the guarantee: epsilon, delta, mu, and the total", _EPSILON, _OUTPUT),
    CertificateItem("claim.unit", "who is protected, and the relation", _UNIT, _OUTPUT),
    CertificateItem("claim.releases", "every kind of release", _ALGORITHMS, _OUTPUT),
    CertificateItem(
        "accounting", "every release with its noise, and how they add up", _EPSILON, _OUTPUT
    ),
    CertificateItem("meaning", "what the best attacker reaches", _EPSILON, _OUTPUT),
    CertificateItem(
        "identity", "the model, its library, version, build and date", _ALGORITHMS, _OUTPUT
    ),
    CertificateItem(
        "correctness", "proofs, exact arithmetic, source of noise, audit", _ALGORITHMS, ""
    ),
    CertificateItem("trust_model", "who sees what", _TRUST, ""),
    CertificateItem("conditions", "what was declared, assumed or learned", _EPSILON, ""),
    CertificateItem("outside_the_guarantee", "what the guarantee does not cover", _SIDE, ""),
    CertificateItem("utility_and_bias", "scores, with intervals and by group", _UTILITY, ""),
    CertificateItem(
        "data", "name and period of the data, file and hash of its schema", _COLLECTION, _DATA
    ),
    CertificateItem(
        "approval", "who approved the release, when, and why this epsilon", _ACCESS, _OUTPUT
    ),
    CertificateItem("life", "refits, contact, legal basis, controller", _COLLECTION, _GOVERNANCE),
)


def asked_for() -> list[dict[str, str]]:
    """Return the table as plain data."""
    return [
        {"item": line.item, "nist_sp_800_226": line.nist, "satre_2_0_1": line.satre}
        for line in ASKED
    ]
