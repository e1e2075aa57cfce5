"""The answer to a judged request of an identified VM (SPEC §2.3 to §2.5).

Rule 1: a VM gets its own scope's document and approves its own scope's events, nothing else (S8).
Rule 2: a 200 to a POST is a promise: the approval is committed before it is sent.
Rule 3: 200 and 304 count as *asked*, once, when the question comes; 400, 403 and 429 do not, nor do neighbours:
who asks who it is has not asked what will happen.
Not here: bytes and sockets (protocol.py, app.py); no HTTP library is imported, so a simulator can call it.
"""

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from notbefore.core.errors import Invalid, Refusal, StoreUnavailable, UnknownEvent, UnknownScope, UnknownVm
from notbefore.core.listening import LISTENS_FOR_MS
from notbefore.core.model import Actor, ActorKind, Scope
from notbefore.core.requests import ApproveEvents
from notbefore.core.times import HOUR_MS
from notbefore.metadata import proxy
from notbefore.metadata.answers import JSON_TYPE, HttpAnswer, error
from notbefore.metadata.connections import Limits
from notbefore.metadata.counts import Counts
from notbefore.metadata.identity import Identity, Peer
from notbefore.metadata.instance import instance_answer
from notbefore.metadata.node_face import NodeFace
from notbefore.metadata.rate import RateLimit
from notbefore.metadata.standing import BUSY, Era, Standing
from notbefore.metadata.verdict import Approve, ReadDocument, ReadInstance, ReadVersions, RequestHead, Verdict, judge
from notbefore.runtime.snapshot import View, VmRef
from notbefore.wire.approval import parse_start_requests
from notbefore.wire.document import empty_document
from notbefore.wire.instance_versions import INSTANCE_VERSIONS

BODY_MAX_BYTES = 64 * 1024
SAID_BACK_MAX = 200
SHARED_MAX = 4096

FORBIDDEN = error(
    403,
    "Forbidden. The caller is not a VM known to this service: its address must be registered to exactly one VM",
)
APPROVED = HttpAnswer(200, (), b"")
VERSIONS = HttpAnswer(200, (JSON_TYPE,), json.dumps({"apiVersions": INSTANCE_VERSIONS}, separators=(",", ":")).encode())

log = logging.getLogger("notbefore.metadata")

ReadBody = Callable[[], Awaitable[bytes]]


class BodyRefused(Exception):
    """The body is too long or did not come; the answer says which."""

    def __init__(self, answer: HttpAnswer) -> None:
        super().__init__(answer.body.decode())
        self.answer = answer


@dataclass(frozen=True, slots=True)
class MetadataOptions:
    rate_limit_per_s: float = 5.0
    first_call_delay_s: float = 0.0
    headerless_post_2017: bool = False
    fallback_vm: VmRef | None = None
    proxy_keys: tuple[bytes, ...] = field(default=(), repr=False)
    limits: Limits = field(default_factory=Limits)


class MetadataService:
    def __init__(self, node: NodeFace, options: MetadataOptions) -> None:
        self._node = node
        # What every question needs.
        self._snapshot = node.snapshot
        self._newest = node.snapshot.known
        self._heard = node.hearing.heard
        self._asked_of = node.hearing.asked_of
        self._rate = RateLimit(options.rate_limit_per_s)
        self._era = Era(node, self._rate)
        self.counts = Counts()
        self._followers: list[Callable[[MetadataOptions], None]] = []
        self.reconfigure(options)

    def follow_options(self, take: Callable[[MetadataOptions], None]) -> None:
        """Be told the options, now and whenever they change."""
        self._followers.append(take)
        take(self.options)

    def reconfigure(self, options: MetadataOptions) -> None:
        """Take other settings while serving."""
        self.options = options
        self._identity = Identity(self._node.snapshot, self._node.clock, options.fallback_vm, options.proxy_keys)
        self._rate = RateLimit(options.rate_limit_per_s)
        self._allows = self._rate.allows
        self.begin_era()
        for take in self._followers:
            take(options)

    def begin_era(self) -> None:
        """What stood until now is found anew."""
        self._era.is_over = True
        self._era = Era(self._node, self._rate)

    def judge(self, head: RequestHead) -> Verdict:
        return judge(head, headerless_post_2017=self.options.headerless_post_2017)

    def answer_now(
        self, verdict: Verdict, peer: Peer, now_s: float, proxy_header: bytes | None = None
    ) -> HttpAnswer | None:
        """The answer to a GET that needs no commit first; None when it does, or when it is an approval."""
        if not isinstance(verdict, ReadDocument):
            return verdict if isinstance(verdict, HttpAnswer) else self._other_now(verdict, peer, now_s, proxy_header)
        caller = self._identity.caller(peer, proxy_header)
        if caller is None:
            return FORBIDDEN
        view = self._newest(caller.scope)
        if view is None or not view.is_there:
            return FORBIDDEN
        era = self._era
        if now_s is not era.at_s:
            era.look(now_s)
        age_ms = era.now_ms - view.newest_asked_ms
        if age_ms > LISTENS_FOR_MS:
            return None  # the first question in a day is committed before its answer
        if not self._allows(caller, now_s):
            return BUSY
        asked_ms = self._asked_of(caller.scope)
        if asked_ms is None or age_ms > HOUR_MS:
            self._heard(caller, view, era.now_ms)
        else:
            asked_ms[caller.vm] = era.now_ms  # as `heard` would note it, without another call
        if view.says_nothing and not verdict.known_incarnations:
            return nothing_scheduled(view.tag)  # what most are told, without another call
        return document_answer(view, verdict)

    def standing(self, verdict: Verdict, peer: Peer) -> Standing | None:
        """What it will be told again, now that it was told it; None: every time it is another matter."""
        caller = self._identity.caller(peer)
        view = None if caller is None else self._newest(caller.scope)
        if not isinstance(verdict, ReadDocument) or caller is None or view is None or not view.is_there:
            return None
        return Standing(self._era, caller, view, document_answer(view, verdict))

    async def answer(self, head: RequestHead, verdict: Verdict, peer: Peer, read_body: ReadBody) -> HttpAnswer:
        proxy_header = vouching(head)
        now_s = self.now_s()
        now = self.answer_now(verdict, peer, now_s, proxy_header)
        if now is not None or isinstance(verdict, HttpAnswer):
            return now or FORBIDDEN
        known = self._known(peer, proxy_header)
        if known is None or not self._rate.allows(known[0], now_s):
            return BUSY if known else FORBIDDEN
        return await self._carried_out(*known, verdict, read_body)

    # -- for questions that are held

    def follow_scopes(self, take: Callable[[Scope], None]) -> None:
        """Be told every new state of every scope."""
        self._snapshot.subscribe(take)

    def now_s(self) -> float:
        """Real time."""
        return self._node.clock.steady_s()

    def caller_of(self, peer: Peer, proxy_header: bytes | None) -> VmRef | None:
        return self._identity.caller(peer, proxy_header)

    def scope_of(self, caller: VmRef) -> Scope | None:
        view = self._snapshot.view_by_key(caller.scope)
        return view.scope if view else None

    def answer_held(
        self, caller: VmRef, peer: Peer, wanted: ReadDocument, *, vouched: bool, applied: bool = True
    ) -> HttpAnswer:
        """The answer to a question that was taken already: its caller is judged anew, and counted no second time."""
        now = self._identity.caller_again(caller, peer, vouched=vouched)
        view = self._snapshot.view_by_key(now.scope) if now else None
        if now is None or view is None:
            return FORBIDDEN
        if now.scope != caller.scope:
            # Numbers of another scope say nothing about this one's document.
            wanted = replace(wanted, known_incarnations=frozenset())
        return preferred_answer(view, wanted) if applied else document_answer(view, wanted)

    # -- below

    def _other_now(
        self, verdict: Approve | ReadInstance | ReadVersions, peer: Peer, now_s: float, proxy_header: bytes | None
    ) -> HttpAnswer | None:
        known = self._known(peer, proxy_header)
        if known is None:
            return FORBIDDEN
        return None if isinstance(verdict, Approve) else self._neighbour(*known, verdict, now_s)

    def _neighbour(self, caller: VmRef, view: View, wanted: ReadInstance | ReadVersions, now_s: float) -> HttpAnswer:
        vm = view.scope.vm(caller.vm)
        if vm is None:
            return FORBIDDEN
        if not self._rate.allows(caller, now_s):
            return BUSY
        return VERSIONS if isinstance(wanted, ReadVersions) else instance_answer(view.scope, vm, wanted)

    def _known(self, peer: Peer, proxy_header: bytes | None) -> tuple[VmRef, View] | None:
        caller = self._identity.caller(peer, proxy_header)
        view = self._snapshot.view_by_key(caller.scope) if caller else None
        return (caller, view) if caller and view else None

    async def _carried_out(self, caller: VmRef, view: View, verdict: Verdict, read_body: ReadBody) -> HttpAnswer:
        try:
            if isinstance(verdict, ReadDocument):
                return await self._read_first(caller, view, verdict)
            return await self._approve(caller, view, read_body)
        except BodyRefused as refused:
            return refused.answer
        except Refusal as refusal:
            self.counts.refusals[refusal.code] += 1
            log.debug("refused a VM's request: %s", refusal.message, extra=ids_of(caller, refusal))
            return answer_to_refusal(refusal)

    async def _read_first(self, caller: VmRef, view: View, wanted: ReadDocument) -> HttpAnswer:
        """The first question in a day enables the scope: committed before its answer."""
        if self.options.first_call_delay_s > 0:
            await self._node.clock.rest(self.options.first_call_delay_s)
        await self._node.hearing.enable(caller, view)
        return document_answer(self._snapshot.view_by_key(caller.scope) or view, wanted)

    async def _approve(self, caller: VmRef, view: View, read_body: ReadBody) -> HttpAnswer:
        body = await read_body()
        try:
            event_ids = parse_start_requests(body)
        except ValueError as wrong:
            return error(400, f"Bad request. {wrong}")
        vm = view.scope.vm(caller.vm)
        by = Actor(ActorKind.VM, vm.name if vm else caller.vm)
        await self._node.turns.take(
            ApproveEvents(scope=view.scope.name, request_id=self._node.ids(), by=by, event_ids=event_ids)
        )
        return APPROVED


def document_answer(view: View, wanted: ReadDocument) -> HttpAnswer:
    """The document, or 304; made once per state and version, and kept with the state. What names no VM is shared."""
    tag = view.tag
    if wanted.known_incarnations and (tag in wanted.known_incarnations or "*" in wanted.known_incarnations):
        return not_modified(tag)
    if view.says_nothing:
        return nothing_scheduled(tag)
    made = view.made_of_it.get(wanted.version.name)
    if made is None:
        headers = (JSON_TYPE, (b"etag", tag.encode()))
        made = view.made_of_it[wanted.version.name] = HttpAnswer(200, headers, view.document(wanted.version))
    answer: HttpAnswer = made
    return answer


@lru_cache(maxsize=SHARED_MAX)
def not_modified(tag: str) -> HttpAnswer:
    return HttpAnswer(304, ((b"etag", tag.encode()),), b"")


@lru_cache(maxsize=SHARED_MAX)
def nothing_scheduled(tag: str) -> HttpAnswer:
    """The document of any scope without events, at this incarnation: the same in every version."""
    return HttpAnswer(200, (JSON_TYPE, (b"etag", tag.encode())), empty_document(int(tag)))


def preferred_answer(view: View, wanted: ReadDocument) -> HttpAnswer:
    """The same, saying that it came as it was preferred (RFC 7240); kept with the state as well."""
    plain = document_answer(view, wanted)
    key = (plain.status, wanted.version.name, wanted.wait_s)
    made = view.made_of_it.get(key)
    if made is None:
        applied = (b"preference-applied", b"wait=%d" % (wanted.wait_s or 0))
        made = view.made_of_it[key] = HttpAnswer(plain.status, (*plain.headers, applied), plain.body)
    answer: HttpAnswer = made
    return answer


def vouching(head: RequestHead) -> bytes | None:
    """The proxy's header; given twice it is spoilt, and a spoilt one identifies nobody."""
    values = head.values(proxy.HEADER)
    return b" ".join(values) if values else None


def ids_of(caller: VmRef, refusal: Refusal) -> dict[str, str]:
    return {"scope": caller.scope, "vm": caller.vm, "code": refusal.code}


def shortened(sentence: str) -> str:
    """What a VM said is said back, but not all of it."""
    return sentence if len(sentence) <= SAID_BACK_MAX else f"{sentence[:SAID_BACK_MAX]}..."


def answer_to_refusal(refusal: Refusal) -> HttpAnswer:
    match refusal:
        case UnknownEvent():
            # Unknown, finished and foreign ids are indistinguishable on purpose.
            return error(400, f"Bad request. {shortened(refusal.message)} Nothing was approved")
        case Invalid():
            return error(400, f"Bad request. {refusal.message}")
        case UnknownScope() | UnknownVm():
            return FORBIDDEN
        case StoreUnavailable():
            return error(
                503, "Service unavailable. The request could not be recorded; ask again", (b"retry-after", b"1")
            )
        case _:
            return error(400, f"Bad request. {refusal.message}")
