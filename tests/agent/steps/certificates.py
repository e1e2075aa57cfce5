"""Certificates for servers of tests on 127.0.0.1."""

import subprocess


def made_certificate(folder):
    """Self-signed: `cert.pem` and `key.pem`."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=step",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")],
        check=True,
        capture_output=True,
    )  # fmt: skip
