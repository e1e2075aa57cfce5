"""The tokens this server knows: those in the store, for every server on it, and the admin token of its own.

Rule 1: the store has the truth; this is the newest list that was read of it, kept while the store is away.
Rule 2: a change is in the list before it is answered, and looking at the store waits for changes under way: a token
revoked here never comes back, not for a moment.
Rule 3: a secret is compared by digest, in constant time, with every token there is.
Called by: auth.py for each request, tokens.py for changes, the snapshot's follower for news.
"""

import hmac
import logging
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import msgspec

from notbefore.core.errors import LimitReached, NotAllowed, StoreUnavailable, UnknownToken
from notbefore.core.history import Change, HistoryRecord
from notbefore.core.model import Actor, name_key
from notbefore.core.times import SECOND_MS, iso
from notbefore.core.tokens import ADMIN, TOKENS_MAX, Role, Token, described, digest_of
from notbefore.ports import Clock, Document, Ids, OutcomeUnknown, Store, VersionConflict

KIND = "token"

log = logging.getLogger("notbefore.control")


@dataclass(frozen=True, slots=True)
class Known:
    token: Token
    version: int


class TokenBook:
    def __init__(
        self, store: Store, clock: Clock, lock: AbstractAsyncContextManager[None], ids: Ids, admin_secret: str
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._admin = Token(ADMIN, Role.ADMIN, digest_of(admin_secret), 0, "")
        self._known: dict[str, Known] = {}
        self._unreadable: set[str] = set()
        self._changing = lock

    async def look(self) -> None:
        """Read the list anew. Raises StoreUnavailable and keeps the last one when that cannot be done."""
        async with self._changing:
            await self._look()

    def match(self, secret: str) -> Token | None:
        """The token with this secret, expired or not."""
        digest, found = digest_of(secret).encode(), None
        for token in (self._admin, *(known.token for known in self._known.values())):
            if hmac.compare_digest(token.digest.encode(), digest):
                found = token
        return found

    def is_valid(self, token: Token) -> bool:
        """Whether it still opens anything: neither revoked nor expired. For answers that go on for long."""
        known = self._known.get(token.key)
        is_there = token == self._admin or (known is not None and known.token == token)
        return is_there and not token.is_expired(self.real_ms())

    def real_ms(self) -> int:
        return int(self._clock.real_s() * SECOND_MS)

    def all(self) -> list[Token]:
        return [known.token for _, known in sorted(self._known.items())]

    async def create(self, token: Token, by: Actor) -> None:
        async with self._changing:
            await self._look()
            refuse_another(self._known, token)
            until = iso(token.expires_at_ms) if token.expires_at_ms else ""
            why = f"token {token.name} created by {by}: {described(token, until)}"
            record = self._record("token created", why, by)
            try:
                made = await self._store.put_document(KIND, token.key, msgspec.json.encode(token), 0, record)
            except (VersionConflict, OutcomeUnknown):
                # Somebody was first, or nobody knows: what is there tells.
                await self._look()
                self._refuse_unless_kept(token)
            else:
                self._known[token.key] = Known(token, made.version if made else 0)
            log.info("token created by %s", by, extra={"token": token.name, "role": str(token.role)})

    async def revoke(self, name: str, by: Actor) -> None:
        async with self._changing:
            await self._look()
            known = self._known.get(name_key(name))
            if known is None:
                raise UnknownToken(name)
            record = self._record("token revoked", f"token {known.token.name} revoked by {by}", by)
            try:
                await self._store.put_document(KIND, known.token.key, None, known.version, record)
            except (VersionConflict, OutcomeUnknown):
                await self._look()
                if self._known.get(known.token.key) == known:
                    raise StoreUnavailable(f"Token '{name}' could not be revoked.", "Try again.") from None
            else:
                del self._known[known.token.key]
            log.info("token revoked by %s", by, extra={"token": known.token.name})

    def _refuse_unless_kept(self, token: Token) -> None:
        known = self._known.get(token.key)
        if known is None:
            raise StoreUnavailable(f"Token '{token.name}' could not be kept.", "Try again.")
        if known.token != token:
            raise taken(token.name)

    async def _look(self) -> None:
        documents = await self._store.documents(KIND)
        found = [(document, self._read(document)) for document in documents]
        self._known = {document.key: Known(token, document.version) for document, token in found if token}

    def _read(self, document: Document) -> Token | None:
        """One that cannot be read opens nothing."""
        try:
            return msgspec.json.decode(document.body, type=Token)
        except msgspec.MsgspecError:
            if document.key not in self._unreadable:
                self._unreadable.add(document.key)
                log.error("a token cannot be read, so it opens nothing", extra={"token": document.key})  # noqa: TRY400  a sentence is enough
            return None

    def _record(self, what: str, why: str, by: Actor) -> HistoryRecord:
        return HistoryRecord("", self._clock.now().wall_ms, self._ids(), 0, (Change(what, why, by),))


def refuse_another(known: dict[str, Known], token: Token) -> None:
    if token.key in known:
        raise taken(token.name)
    if len(known) >= TOKENS_MAX:
        raise LimitReached(
            f"There are {TOKENS_MAX} tokens already, as many as may be.", "Revoke some first.", {"limit": TOKENS_MAX}
        )


def taken(name: str) -> NotAllowed:
    return NotAllowed(
        f"There is a token '{name}' already.", "Revoke it first, or choose another name.", {"token": name}
    )
