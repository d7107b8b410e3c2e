"""HTTPS for the clients, and to the servers."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gateway.running import FaultServer, Running, running
from sfq_impl.gateway.config import HealthSettings, LimitSettings, ServerSettings, Settings, TlsSettings


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsSettings:
    """A certificate for this machine, signed by itself."""
    folder, key = tmp_path_factory.mktemp("tls"), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    return TlsSettings(certificate, private)


def behind(inner: Running, ca: Path | None) -> Running:
    """A gateway whose only server is another gateway, by HTTPS."""
    server = ServerSettings(f"https://127.0.0.1:{inner.port}", "inner", ca=ca)
    return Running(
        Settings((server,), listen="127.0.0.1:0", health=HealthSettings(0.05, 1.0), limits=LimitSettings(wait=0.2))
    )


def test_https_from_end_to_end(tls: TlsSettings, fault: FaultServer) -> None:
    with running([fault.url], tls=tls) as inner:
        outer = behind(inner, tls.certificate)
        trust = ssl.create_default_context(cafile=str(tls.certificate))
        with httpx2.Client(verify=trust) as http:
            for url in (f"https://127.0.0.1:{inner.port}", outer.url):
                assert http.post(url + "/v1/completions", json={"model": "echo"}).json() == {"model": "echo"}
        outer.close()


def test_a_server_that_nobody_vouches_for_gets_nothing(tls: TlsSettings, fault: FaultServer) -> None:
    with running([fault.url], tls=tls) as inner:
        outer = behind(inner, None)
        answer = httpx2.post(outer.url + "/v1/completions", json={"model": "echo"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_server")
        assert not fault.got
        outer.close()
