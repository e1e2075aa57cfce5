"""The admin token: one line in a file only its owner can read, made at first start; and asking for it.

Rule 1: the control API never answers without a token, loopback or not.
Rule 2: a secret is compared in constant time, never logged, never part of an error.
"""

import hmac
import os
import secrets
from pathlib import Path

from fastapi import Request

from notbefore.control.plane import plane_of
from notbefore.core.errors import NotAllowed, Unauthorized
from notbefore.core.model import Actor, ActorKind
from notbefore.state_dir import TOKEN_FILE

TOKEN_BYTES = 32


def admin_token(state_dir: Path) -> str:
    """The token in the state directory; made there, mode 0600, when there is none yet."""
    file = state_dir / TOKEN_FILE
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _existing(file)
    except OSError as error:
        raise NotAllowed(f"Cannot write {file}: {error.strerror}.", "Choose another --state directory.") from None
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with os.fdopen(handle, "w") as out:
        out.write(token + "\n")
    return token


def _existing(file: Path) -> str:
    try:
        token = file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        token = ""
    if not token:
        raise NotAllowed(f"{file} holds no token that can be read.", "Remove it and start again: a new one is made.")
    return token


async def require_token(request: Request) -> None:
    """A dependency of every /v1 route: who asks is kept beside the request."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    for name, secret in (await plane_of(request)).tokens.items():
        if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), secret.encode()):
            request.state.operator = Actor(ActorKind.OPERATOR, name)
            return
    raise Unauthorized(
        "The control API needs a valid token.",
        f"Send `Authorization: Bearer …`; the admin token is in {TOKEN_FILE} of the server's state directory.",
    )
