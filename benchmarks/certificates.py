"""Certificates of one authority for processes of this machine: a name and the loopback address."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

START = datetime.datetime(2020, 1, 1)
END = datetime.datetime(2100, 1, 1)
PAST = datetime.datetime(2021, 1, 1)


def write_certificates(
    folder: Path,
    names: Sequence[str],
    *,
    expired: Sequence[str] = (),
    revoked: Sequence[str] = (),
) -> None:
    """Write ``authority.pem``, ``NAME.pem`` with ``NAME.key`` for each name, and ``revoked.pem``.

    Parameters
    ----------
    folder : Path
    names : sequence of str
    expired, revoked : sequence of str
        Names whose certificates are no longer valid, or on the list of the revoked.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("authority", key, None, key)
    listed = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(authority.subject)
        .last_update(START)
        .next_update(END)
    )
    (folder / "authority.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    for name in names:
        own = ec.generate_private_key(ec.SECP256R1())
        signed = _certificate(name, own, authority, key, PAST if name in expired else END)
        if name in revoked:
            listed = listed.add_revoked_certificate(
                x509.RevokedCertificateBuilder()
                .serial_number(signed.serial_number)
                .revocation_date(START)
                .build()
            )
        (folder / f"{name}.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        (folder / f"{name}.key").write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    found = listed.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    (folder / "revoked.pem").write_bytes(found)


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate | None,
    signer: ec.EllipticCurvePrivateKey,
    end: datetime.datetime = END,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    alone = authority is None
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if alone else authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(START)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=alone, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name), loopback]), critical=False)
        .sign(signer, hashes.SHA256())
    )
