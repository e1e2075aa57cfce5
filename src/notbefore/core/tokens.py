"""Tokens: who may ask the control API for what, and how a secret is known again without being kept.

Rule 1: a role includes those below it: viewer < operator < admin.
Rule 2: of a secret only its digest is kept; it is 32 random bytes, so one SHA-256 is enough (docs/decisions/0010).
Rule 3: a token without scopes is for the whole fleet; with scopes it is for them alone, and for nothing fleet-wide.
Not here: where tokens are kept and asked for (control/), randomness and clocks (the edges).
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from notbefore.core.errors import Invalid
from notbefore.core.model import name_key

SECRET_PREFIX = "nbt_"  # noqa: S105  what a scanner of leaked secrets looks for
ADMIN = "admin"
SCOPES_MAX = 100
TOKENS_MAX = 1000
LIFE_MAX_S = 10 * 366 * 24 * 3600
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, needed: "Role") -> bool:
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept. Its times are real ones: an emulator's clock does not age it (SPEC §4)."""

    name: str
    role: Role
    digest: str
    created_at_ms: int
    created_by: str
    scopes: tuple[str, ...] | None = None
    expires_at_ms: int | None = None

    @property
    def key(self) -> str:
        return name_key(self.name)

    def is_expired(self, real_ms: float) -> bool:
        return self.expires_at_ms is not None and real_ms >= self.expires_at_ms


def digest_of(secret: str) -> str:
    # Whatever was sent has a digest, also half a character.
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


def check_token_name(name: str) -> None:
    """A name stands in history and logs beside everything done with the token, as one plain word."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"{name[:80]!r} is no name for a token.",
            "A name is 1 to 64 letters, digits, '.', '_', '@' or '-', and begins with a letter or a digit.",
            {"field": "name"},
        )
    if name_key(name) == ADMIN:
        raise Invalid(
            f"'{ADMIN}' is the name of the server's own token.", "Choose another name.", {"field": "name", "name": name}
        )


def described(token: Token, until: str) -> str:
    """What it opens, in words; `until` is its end as a time, or empty."""
    where = f"limited to {', '.join(token.scopes)}" if token.scopes else "for the whole fleet"
    return f"role {token.role}, {where}, {f'until {until}' if until else 'without end'}"
