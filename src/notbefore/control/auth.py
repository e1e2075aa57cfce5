"""Asking for the token: the admin token's file, and the gate that every request passes before anything reads it.

Rule 1: the control API never answers without a token, loopback or not, but for the paths in OPEN.
Rule 2: a secret is compared in constant time, never logged, never part of an error.
Rule 3: the gate says who asks; whether they may is said by each route (roles.py).
"""

import os
import secrets
from pathlib import Path
from typing import Any, Final

from fastapi import Request

from notbefore.control.attempts import Attempts
from notbefore.control.errors import refused
from notbefore.control.plane import ControlPlane
from notbefore.control.roles import Caller
from notbefore.core.errors import NotAllowed, Refusal, TooManyAttempts, Unauthorized
from notbefore.core.times import iso
from notbefore.core.tokens import SECRET_PREFIX
from notbefore.state_dir import TOKEN_FILE

TOKEN_BYTES = 32
OPEN: Final = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", "/docs/oauth2-redirect", "/"})


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


def fresh_secret() -> str:
    return SECRET_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


class Gate:
    """Around the app: who asks is kept beside the request, and who may not is answered here."""

    def __init__(self, app: Any, plane: ControlPlane) -> None:
        self._app = app
        self._plane = plane
        self._attempts = Attempts(plane.node.clock)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN:
            try:
                scope.setdefault("state", {})["caller"] = await self._caller(Request(scope))
            except Refusal as refusal:
                answer = await refused(Request(scope), refusal)
                if isinstance(refusal, TooManyAttempts):
                    answer.headers["Retry-After"] = str(refusal.facts["retry_after_s"])
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _caller(self, request: Request) -> Caller:
        """Without a word about who they are nobody is counted: only a wrong token is an attempt."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        secret = given.strip() if scheme.lower() == "bearer" else ""
        tokens = self._plane.tokens
        token = tokens.match(secret) if secret else None
        if token and not token.is_expired(tokens.real_ms()):
            return Caller(token)
        if given.strip():
            await self._attempts.failed(request.client.host if request.client else "")
        if token and token.expires_at_ms:
            raise Unauthorized(
                f"The token '{token.name}' expired at {iso(token.expires_at_ms)}.", "Ask an admin for a new one."
            )
        raise Unauthorized(
            "The control API needs a valid token.",
            f"Send `Authorization: Bearer …`; the admin token is in {TOKEN_FILE} of the server's state directory.",
        )
