"""Signed certificates: an in-toto statement in a DSSE envelope, with Ed25519.

The statement binds the certificate to the SHA-256 of the model file. The envelope is signed over
its type and the bytes of the statement, so that any changed digit is refused. Formats: in-toto
Attestation Framework, Statement v1; Dead Simple Signing Envelope v1.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dpboost._utils.json_text import parse_json
from dpboost._utils.validation import InvalidParameterError
from dpboost.reporting.certificate_form import CertificateError

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
#: Names the schema of the certificate and its number.
PREDICATE_TYPE = "urn:dpboost:certificate:1"


def new_key() -> tuple[bytes, bytes]:
    """Return a new private key and its public key, in PEM."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private, public


def signed(certificate: Mapping[str, Any], private: bytes, *, model: str) -> dict[str, Any]:
    """Return the envelope of a certificate.

    The certificate has the hash of the model. The private key is in PEM, as `new_key` returns it,
    and the envelope is for ``json.dumps``.
    """
    try:
        key = serialization.load_pem_private_key(private, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InvalidParameterError(
            f"The private key cannot be read ({error}): create one with `dpboost keygen`."
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidParameterError(
            "The private key is not an Ed25519 key: create one with `dpboost keygen`."
        )
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": model, "digest": {"sha256": certificate["identity"]["model_sha256"]}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": certificate,
    }
    payload = json.dumps(statement, allow_nan=False).encode()
    signature = key.sign(_to_sign(PAYLOAD_TYPE, payload))
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [
            {
                "keyid": _name_of(key.public_key()),
                "sig": base64.b64encode(signature).decode(),
            }
        ],
    }


def is_envelope(document: Any) -> bool:
    """Return whether a document is an envelope rather than a bare certificate."""
    return isinstance(document, dict) and "payloadType" in document


def opened(envelope: Mapping[str, Any], public: bytes | None) -> dict[str, Any]:
    """Return the certificate of an envelope.

    ``public`` is a key in PEM that must verify one of the signatures; with None, no signature is
    verified. The form of the certificate is not checked. CertificateError if the envelope is
    malformed, the type of statement or the hash differs, or no signature is by the key;
    InvalidParameterError if the bytes are not an Ed25519 public key.
    """
    key = None if public is None else _public_key(public)
    try:
        kind = envelope["payloadType"]
        payload = base64.b64decode(envelope["payload"], validate=True)
        signatures = [
            base64.b64decode(each["sig"], validate=True) for each in envelope["signatures"]
        ]
        if key is not None and not any(
            _is_signature(key, _to_sign(kind, payload), each) for each in signatures
        ):
            raise CertificateError(
                f"No signature of the certificate is by the key {_name_of(key)}: it was changed "
                "after it was signed, or signed by another key."
            )
        if kind != PAYLOAD_TYPE:
            raise CertificateError(f"The envelope contains {kind!r}, not an in-toto statement.")
        statement = parse_json(payload)
        types = (statement["_type"], statement["predicateType"])
        if types != (STATEMENT_TYPE, PREDICATE_TYPE):
            raise CertificateError(f"The statement has types {types}, not a dpboost certificate.")
        certificate: dict[str, Any] = statement["predicate"]
        digests = [each["digest"]["sha256"] for each in statement["subject"]]
        if digests != [certificate["identity"]["model_sha256"]]:
            raise CertificateError("The statement is about another model than its certificate.")
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise CertificateError(f"The envelope is malformed ({error!r}).") from error
    except ValueError as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError(f"The envelope is malformed ({error}).") from error
    return certificate


def _to_sign(kind: str, payload: bytes) -> bytes:
    """Return the signed bytes: type and payload, each with its length (DSSE)."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def _is_signature(key: Ed25519PublicKey, message: bytes, signature: bytes) -> bool:
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _public_key(public: bytes) -> Ed25519PublicKey:
    try:
        key = serialization.load_pem_public_key(public)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InvalidParameterError(f"The public key cannot be read ({error}).") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidParameterError("The public key is not an Ed25519 key.")
    return key


def _name_of(key: Ed25519PublicKey) -> str:
    """Return the key id: the SHA-256 of the public key."""
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()
