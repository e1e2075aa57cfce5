"""TLS on the control listener (SPEC §5: TLS optional): https only, and a certificate renewed without a restart."""

import os
import signal
import ssl
import subprocess
import urllib.request

import pytest
from served import ServerProcess

pytestmark = pytest.mark.part("openssl")


def made_certificate(folder, name):
    """A self-signed certificate for 127.0.0.1 with its key, under fixed file names; returns its serial number."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return (folder / "cert.pem").read_text()


def shown_certificate(server):
    return ssl.get_server_certificate(server.control_address)


@pytest.fixture
def server(tmp_path):
    made_certificate(tmp_path, "first")
    env = {
        "NOTBEFORE_CONTROL_TLS_CERT": str(tmp_path / "cert.pem"),
        "NOTBEFORE_CONTROL_TLS_KEY": str(tmp_path / "key.pem"),
    }
    with ServerProcess(tmp_path / "state", "--demo", env=env) as started:
        yield started


def hang_up(server, until):
    seen = server.log.stat().st_size
    os.kill(server.process.pid, signal.SIGHUP)
    while until not in server.log.read_text()[seen:]:
        assert server.process.poll() is None


def test_the_control_api_speaks_https_and_the_program_with_it(server, tmp_path, program):
    """DESIGN §6: [control] tls_cert, tls_key; the CLI trusts what SSL_CERT_FILE names."""
    url = f"https://127.0.0.1:{server.control_address[1]}"
    trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))

    with urllib.request.urlopen(f"{url}/healthz", context=trusting) as answer:
        assert answer.status == 200
    env = {"NOTBEFORE_URL": url, "NOTBEFORE_STATE": str(tmp_path / "state")}
    assert "demo" in program("scopes", SSL_CERT_FILE=str(tmp_path / "cert.pem"), **env).out
    refused = program("scopes", **env)
    assert refused.code == 1
    assert "certificate" in refused.err.lower()


def test_a_renewed_certificate_is_taken_at_the_next_reload(server, tmp_path):
    """Issue: SIGHUP reload (settings, keys, certificates)."""
    before = shown_certificate(server)
    renewed = made_certificate(tmp_path, "second")
    hang_up(server, "certificate read again")

    assert before != renewed
    assert shown_certificate(server).split() == renewed.split()


def test_a_bad_certificate_changes_nothing_and_is_told(server, tmp_path):
    """A certificate that does not load never replaces one that works."""
    before = shown_certificate(server)
    (tmp_path / "cert.pem").write_text("not a certificate")
    hang_up(server, "cannot be used")

    assert shown_certificate(server) == before


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"NOTBEFORE_CONTROL_TLS_CERT": "/nowhere/cert.pem"}, "go together"),
        ({"NOTBEFORE_CONTROL_TLS_CERT": "/nowhere/c", "NOTBEFORE_CONTROL_TLS_KEY": "/nowhere/k"}, "cannot be used"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_refused_at_start(program, env, named):
    """Settings errors name the variable and what is wrong."""
    ran = program("serve", "--check", **env)

    assert ran.code == 2
    assert named in ran.err
    assert "NOTBEFORE_CONTROL_TLS" in ran.err
