"""Signed certificates: what is refused after any change, and what other programs read."""

import base64
import json

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from dpboost import DPBoostClassifier, InvalidParameterError
from dpboost.reporting.certificate_form import CertificateError
from dpboost.reporting.envelope import PAYLOAD_TYPE, is_envelope, new_key, opened, signed

PRIVATE, PUBLIC = new_key()


@pytest.fixture(scope="module")
def certificate():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
    model = DPBoostClassifier(epsilon=1.0, n_estimators=3, schema=schema, verbosity=-1)
    model.fit(X, (X[:, 0] > 0.5).astype(int))
    return model.privacy_report_.certificate(model=model)


@pytest.fixture(scope="module")
def envelope(certificate):
    return signed(certificate, PRIVATE, model="model.txt")


def with_payload(envelope, payload):
    return envelope | {"payload": base64.b64encode(payload).decode()}


def test_what_was_signed_comes_back(certificate, envelope):
    assert json.loads(json.dumps(envelope)) == envelope
    assert is_envelope(envelope)
    assert not is_envelope(certificate)
    assert opened(envelope, PUBLIC) == certificate == opened(envelope, None)


def test_it_is_an_in_toto_statement_in_a_dsse_envelope(certificate, envelope):
    assert set(envelope) == {"payloadType", "payload", "signatures"}
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    digest = certificate["identity"]["model_sha256"]
    assert statement["subject"] == [{"name": "model.txt", "digest": {"sha256": digest}}]
    assert statement["predicate"] == certificate
    # The encoding that DSSE has signed, written out once more.
    payload = base64.b64decode(envelope["payload"])
    message = f"DSSEv1 28 {PAYLOAD_TYPE} {len(payload)} ".encode() + payload
    key = serialization.load_pem_public_key(PUBLIC)
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), message)


def test_any_changed_digit_is_refused(envelope):
    payload = base64.b64decode(envelope["payload"])
    digits = [at for at, byte in enumerate(payload) if chr(byte).isdigit()]
    assert len(digits) > 900
    for at in digits:
        changed = bytearray(payload)
        changed[at] = ord("0") + (changed[at] - ord("0") + 1) % 10
        with pytest.raises(CertificateError, match="No signature"):
            opened(with_payload(envelope, bytes(changed)), PUBLIC)


def test_other_keys_types_and_statements_are_refused(certificate, envelope):
    with pytest.raises(CertificateError, match="No signature"):
        opened(envelope, new_key()[1])
    with pytest.raises(CertificateError, match="No signature"):
        opened(envelope | {"payloadType": "text/plain"}, PUBLIC)
    with pytest.raises(CertificateError, match="not an in-toto statement"):
        opened(envelope | {"payloadType": "text/plain"}, None)
    with pytest.raises(CertificateError, match="No signature"):
        opened(envelope | {"signatures": []}, PUBLIC)
    statement = json.loads(base64.b64decode(envelope["payload"]))
    for change, match in (
        ({"predicateType": "x"}, "not a dpboost certificate"),
        ({"_type": "x"}, "not a dpboost certificate"),
        ({"subject": []}, "another model"),
        ({"subject": [{"name": "x", "digest": {"sha256": "0" * 64}}]}, "another model"),
        ({"predicate": []}, "malformed"),
        ({"subject": [{}]}, "malformed"),
    ):
        changed = with_payload(envelope, json.dumps(statement | change).encode())
        with pytest.raises(CertificateError, match=match):
            opened(changed, None)


@pytest.mark.parametrize(
    "change",
    [
        {"payload": "?"},
        {"payload": 3},
        {"payload": "eA=="},
        {"signatures": [{}]},
        {"signatures": 1},
    ],
)
def test_malformed_envelopes_are_refused(envelope, change):
    with pytest.raises(CertificateError, match="malformed"):
        opened(envelope | change, PUBLIC if "signatures" in change else None)


def test_what_is_no_key_is_refused(certificate, envelope):
    other = rsa.generate_private_key(65537, 2048)
    private = other.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = other.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for key in (b"", PUBLIC, private):
        with pytest.raises(InvalidParameterError, match="private key"):
            signed(certificate, key, model="model.txt")
    for key in (b"", PRIVATE, public):
        with pytest.raises(InvalidParameterError, match="public key"):
            opened(envelope, key)
