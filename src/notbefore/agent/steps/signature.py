"""Signatures of the Standard Webhooks specification, the same that the server's webhooks have.

Rule 1: a secret is 24 to 64 bytes in base64, with `whsec_` before it or without; no sentence here quotes one.
Rule 2: with two secrets both sign: while one takes over from the other, a receiver may know either.
"""

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path

from notbefore.agent.steps.secret_file import secret_lines
from notbefore.agent.steps.step import WrongSetting

PREFIX = "whsec_"
SECRET_MIN_BYTES = 24
SECRET_MAX_BYTES = 64
SECRETS_MAX = 2


def secrets_in(key: str, file: Path) -> tuple[bytes, ...]:
    lines = secret_lines(key, file)
    if len(lines) > SECRETS_MAX:
        raise WrongSetting(key, f"{file} holds {len(lines)} secrets; two at most, while one takes over from the other")
    return tuple(_secret(key, n, line) for n, line in enumerate(lines, 1))


def signed_headers(message_id: str, at_s: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    told = {"webhook-id": message_id, "webhook-timestamp": str(at_s)}
    if not secrets:
        return told
    signed = f"{message_id}.{at_s}.".encode() + body
    signatures = [f"v1,{b64encode(hmac.digest(secret, signed, 'sha256')).decode()}" for secret in secrets]
    return {**told, "webhook-signature": " ".join(signatures)}


def _secret(key: str, number: int, line: str) -> bytes:
    try:
        secret = b64decode(line.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise WrongSetting(key, f"secret {number} is not base64, perhaps with {PREFIX} before it") from None
    if not SECRET_MIN_BYTES <= len(secret) <= SECRET_MAX_BYTES:
        span = f"{SECRET_MIN_BYTES} to {SECRET_MAX_BYTES}"
        raise WrongSetting(key, f"secret {number} has {len(secret)} bytes, and a secret has {span}")
    return secret
