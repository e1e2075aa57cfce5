"""A recorded flow as a metadata service: whoever asks is shown what was shown then (metadata/face.py).

Rule 1: requests are judged as everywhere (SPEC §2.1). Who asks is not asked for, and how often is not counted: whom
that concerned is in the recording.
Rule 2: the recorded bytes are the answer, whichever api-version is asked for: any other would be invented.
Rule 3: approvals are checked and told, and change nothing: the past does not listen.
Rule 4: trouble is shown to every question about events, as it was: an answer, silence, or a connection that is cut.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

from notbefore.client.document import Document, parsed_document
from notbefore.core.errors import UnknownEvent
from notbefore.core.model import Scope
from notbefore.metadata.answers import NOT_MODIFIED, Headers, HttpAnswer, error
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.counts import Counts
from notbefore.metadata.holding import HoldingProtocol
from notbefore.metadata.identity import Peer
from notbefore.metadata.instance import NO_SUCH_ELEMENT, element_answer
from notbefore.metadata.service import (
    APPROVED,
    VERSIONS,
    BodyRefused,
    MetadataOptions,
    ReadBody,
    answer_to_refusal,
    shortened,
)
from notbefore.metadata.verdict import Approve, ReadDocument, ReadInstance, RequestHead, Verdict, judge
from notbefore.recording.flow import OK, TIMEOUT, Header, Shown
from notbefore.runtime.snapshot import VmRef
from notbefore.wire.approval import parse_start_requests

# Just longer than clients wait that wait for five seconds, so that it is they who give up, as they did then.
SILENCE_S = 6.0
NAME = "replay"

log = logging.getLogger("notbefore.replay")


class CutOff(Exception):
    """There is no answer: the connection ends."""


@dataclass(frozen=True)
class Picture:
    """One thing shown, with its answers made."""

    shown: Shown

    @cached_property
    def document(self) -> Document | None:
        if self.shown.status == OK and not self.shown.is_shortened:
            with suppress(ValueError):
                return parsed_document(self.shown.body)
        return None

    @cached_property
    def tag(self) -> str:
        """The recorded ETag; where there was none, the number in the document."""
        number = self.document.incarnation if self.document else None
        return self.shown.etag or ("" if number is None else str(number))

    @cached_property
    def whole(self) -> HttpAnswer | None:
        """None: nothing was answered."""
        if self.shown.error:
            return None
        given = (("content-type", self.shown.content_type), ("etag", self.tag), ("retry-after", self.shown.retry_after))
        headers = tuple((name.encode(), value.encode()) for name, value in given if value)
        return HttpAnswer(self.shown.status, headers, self.shown.body)

    @cached_property
    def not_modified(self) -> HttpAnswer:
        headers: Headers = ((b"etag", self.tag.encode()),) if self.tag else ()
        return HttpAnswer(NOT_MODIFIED, headers, b"")

    def answer(self, wanted: ReadDocument) -> HttpAnswer | None:
        known = wanted.known_incarnations
        plain_tag = self.tag.removeprefix("W/").strip('"')
        is_known = "*" in known or (bool(plain_tag) and plain_tag in known)
        return self.not_modified if self.document and is_known else self.whole


class PastService:
    """`now_s`: real time. `tell`: what is worth a line."""

    def __init__(
        self,
        header: Header,
        now_s: Callable[[], float],
        tell: Callable[[str], None],
        silence_s: float = SILENCE_S,
    ) -> None:
        self.options = MetadataOptions(rate_limit_per_s=0)
        self.counts = Counts()
        self.now_s = now_s
        self._header = header
        self._tell = tell
        self._silence_s = silence_s
        self._scope = Scope(NAME)
        self._picture = Picture(Shown())
        self._over = asyncio.Event()
        self._followers: list[Callable[[Scope], None]] = []
        self._warned_of: set[str] = set()

    def show(self, shown: Shown) -> Picture:
        """From now on this is shown."""
        self._picture = Picture(shown)
        self._scope = replace(self._scope, incarnation=self._scope.incarnation + 1)
        for take in self._followers:
            take(self._scope)
        return self._picture

    def stop(self) -> None:
        """Nobody is kept waiting from now on."""
        self._over.set()

    # -- as a service

    def follow_options(self, take: Callable[[MetadataOptions], None]) -> None:
        take(self.options)

    def judge(self, head: RequestHead) -> Verdict:
        verdict = judge(head)
        if isinstance(verdict, ReadDocument | Approve):
            self._note_version(verdict.version.name)
        if isinstance(verdict, ReadDocument) and verdict.wait_s is not None and self._picture.whole is None:
            # Silence takes no part in waiting.
            return replace(verdict, wait_s=None)
        return verdict

    def answer_now(
        self,
        verdict: Verdict,
        peer: Peer,  # noqa: ARG002  whoever asks
        now_s: float,  # noqa: ARG002
        proxy_header: bytes | None = None,  # noqa: ARG002
    ) -> HttpAnswer | None:
        if isinstance(verdict, HttpAnswer):
            return verdict
        if isinstance(verdict, ReadDocument):
            return self._picture.answer(verdict)
        if isinstance(verdict, Approve):
            return None
        return self._who(verdict) if isinstance(verdict, ReadInstance) else VERSIONS

    def standing(self, verdict: Verdict, peer: Peer) -> None:
        """Nothing stands: what is shown changes with time alone."""

    async def answer(self, head: RequestHead, verdict: Verdict, peer: Peer, read_body: ReadBody) -> HttpAnswer:  # noqa: ARG002
        now = self.answer_now(verdict, peer, self.now_s())
        if now is not None:
            return now
        if isinstance(verdict, ReadDocument) and verdict.wait_s is not None:
            # Silence began between the question and this; so it waits, which is silence too.
            return self._picture.not_modified
        picture = self._picture
        if picture.whole is None:
            await self._silence(picture.shown)
        return await self._approval(picture.document, read_body) if picture.document else picture.whole

    def follow_scopes(self, take: Callable[[Scope], None]) -> None:
        self._followers.append(take)

    def caller_of(self, peer: Peer, proxy_header: bytes | None) -> VmRef | None:  # noqa: ARG002
        return VmRef(NAME, peer.address)

    def scope_of(self, caller: VmRef) -> Scope | None:  # noqa: ARG002  it is everybody's
        return self._scope

    def answer_held(
        self,
        caller: VmRef,  # noqa: ARG002
        peer: Peer,  # noqa: ARG002
        wanted: ReadDocument,
        *,
        vouched: bool,  # noqa: ARG002
        applied: bool = True,
    ) -> HttpAnswer:
        """Who waits when silence begins waits on."""
        plain = self._picture.answer(wanted) or self._picture.not_modified
        if not applied or plain.status not in (OK, NOT_MODIFIED):
            return plain
        said = (b"preference-applied", b"wait=%d" % (wanted.wait_s or 0))
        return HttpAnswer(plain.status, (*plain.headers, said), plain.body)

    # -- below

    def _who(self, wanted: ReadInstance) -> HttpAnswer:
        """The name is all that was recorded."""
        return element_answer({"compute": {"name": self._header.vm}}, wanted) if self._header.vm else NO_SUCH_ELEMENT

    async def _approval(self, document: Document, read_body: ReadBody) -> HttpAnswer:
        try:
            event_ids = parse_start_requests(await read_body())
        except BodyRefused as refused:
            return refused.answer
        except ValueError as wrong:
            return error(400, f"Bad request. {wrong}")
        for event_id in event_ids:
            if document.event(event_id) is None:
                self._tell(f"refused an approval of {shortened(event_id)}: it is not shown now")
                return answer_to_refusal(UnknownEvent(event_id))
        self._tell(f"approved {', '.join(event_ids)}; the recording goes on as it did")
        return APPROVED

    async def _silence(self, shown: Shown) -> NoReturn:
        if shown.error == TIMEOUT:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._silence_s):
                    await self._over.wait()
        raise CutOff

    def _note_version(self, asked: str) -> None:
        if asked != self._header.api_version and asked not in self._warned_of:
            self._warned_of.add(asked)
            recorded = self._header.api_version
            log.warning("asked in version %s for what was recorded in %s: answered as it was recorded", asked, recorded)


def cut_held(connections: Iterable[object]) -> None:
    """Whoever waits for an answer loses it, as with a server that breaks down."""
    for connection in list(connections):
        if isinstance(connection, HoldingProtocol) and connection.is_held:
            connection.transport.abort()


class PastApp(MetadataApp):
    """The data plane, which can also give no answer."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        except CutOff:
            scope["state"]["cut_off"]()
            while (await receive())["type"] != "http.disconnect":
                pass
