"""The secrets that a webhook is signed with, in a file; the signature is that of the server's webhooks.

Rule 1: no sentence here quotes a secret.
"""

from collections.abc import Sequence
from pathlib import Path

from notbefore.agent.steps.secret_file import secret_lines
from notbefore.agent.steps.step import WrongSetting
from notbefore.wire import webhook_signature
from notbefore.wire.webhook_signature import SECRETS_MAX, secret_bytes


def secrets_in(key: str, file: Path) -> tuple[bytes, ...]:
    lines = secret_lines(key, file)
    if len(lines) > SECRETS_MAX:
        raise WrongSetting(key, f"{file} holds {len(lines)} secrets; two at most, while one takes over from the other")
    return tuple(_secret(key, n, line) for n, line in enumerate(lines, 1))


def signed_headers(message_id: str, at_s: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    """Without a secret there is no signature; the rest tells a receiver what it knows already."""
    told = webhook_signature.signed_headers(message_id, at_s, body, secrets)
    return told if secrets else {name: value for name, value in told.items() if name != "webhook-signature"}


def _secret(key: str, number: int, line: str) -> bytes:
    try:
        return secret_bytes(line)
    except ValueError as wrong:
        raise WrongSetting(key, f"secret {number} {wrong}") from None
