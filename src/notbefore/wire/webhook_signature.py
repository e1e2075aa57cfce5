"""Signatures of the Standard Webhooks specification: HMAC-SHA256 over id, time and body, one for each secret.

Rule 1: a secret is 24 to 64 bytes in base64, with `whsec_` before it or without; no sentence here quotes one.
"""

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import sha256

PREFIX = "whsec_"
SECRET_MIN_BYTES = 24
SECRET_MAX_BYTES = 64
SECRETS_MAX = 2


def secret_bytes(text: str) -> bytes:
    """ValueError says what is wrong with it."""
    try:
        secret = b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"is not base64, perhaps with {PREFIX} before it") from None
    if not SECRET_MIN_BYTES <= len(secret) <= SECRET_MAX_BYTES:
        raise ValueError(f"has {len(secret)} bytes, and a secret has {SECRET_MIN_BYTES} to {SECRET_MAX_BYTES}")
    return secret


def signed_headers(message_id: str, at_s: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    """With every secret: while one takes over from another, a receiver may know either."""
    signed = f"{message_id}.{at_s}.".encode() + body
    signatures = [f"v1,{b64encode(hmac.digest(secret, signed, sha256)).decode()}" for secret in secrets]
    return {"webhook-id": message_id, "webhook-timestamp": str(at_s), "webhook-signature": " ".join(signatures)}
