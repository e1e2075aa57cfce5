"""The answer to a judged request of an identified VM (SPEC §2.3 to §2.5).

Rule 1: a VM gets its own scope's document and approves its own scope's events, nothing else (S8).
Rule 2: a 200 to a POST is a promise: the approval is committed before it is sent.
Rule 3: 200 and 304 count as *asked*; 400, 403 and 429 do not.
Not here: bytes and sockets (protocol.py, app.py); no HTTP library is imported, so a simulator can call it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from notbefore.core.errors import Invalid, Refusal, StoreUnavailable, UnknownEvent, UnknownScope, UnknownVm
from notbefore.core.model import Actor, ActorKind
from notbefore.core.requests import ApproveEvents
from notbefore.metadata.answers import JSON_TYPE, HttpAnswer, error
from notbefore.metadata.identity import Identity, Listener
from notbefore.metadata.rate import RateLimit
from notbefore.metadata.verdict import Approve, ReadDocument, RequestHead, judge
from notbefore.runtime.node import Node
from notbefore.runtime.snapshot import View, VmRef
from notbefore.wire.approval import parse_start_requests

BODY_MAX_BYTES = 64 * 1024

UNKNOWN_CALLER = (
    "Forbidden. The caller is not a VM known to this service: its address must be registered to exactly one VM"
)
BUSY = error(
    429, "Too many requests. Ask at most once a second and wait before the next request", (b"retry-after", b"1")
)
APPROVED = HttpAnswer(200, (), b"")

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


class MetadataService:
    def __init__(self, node: Node, options: MetadataOptions) -> None:
        self._node = node
        self._options = options
        self._identity = Identity(node.snapshot, options.fallback_vm)
        self._rate = RateLimit(options.rate_limit_per_s, node.clock)

    async def answer(self, head: RequestHead, listener: Listener, peer: str, read_body: ReadBody) -> HttpAnswer:
        verdict = judge(head, headerless_post_2017=self._options.headerless_post_2017)
        if isinstance(verdict, HttpAnswer):
            return verdict
        caller = self._identity.caller(listener, peer)
        view = self._node.snapshot.view(caller.scope) if caller else None
        if caller is None or view is None:
            return error(403, UNKNOWN_CALLER)
        if not self._rate.allows(caller):
            return BUSY
        try:
            if isinstance(verdict, Approve):
                return await self._approve(caller, view, read_body)
            return await self._read(caller, view, verdict)
        except BodyRefused as refused:
            return refused.answer
        except Refusal as refusal:
            return answer_to_refusal(refusal)

    async def _read(self, caller: VmRef, view: View, wanted: ReadDocument) -> HttpAnswer:
        if self._node.hearing.enables(view):
            if self._options.first_call_delay_s > 0:
                await self._node.clock.rest(self._options.first_call_delay_s)
            await self._node.hearing.enable(caller, view)
            view = self._node.snapshot.view(caller.scope) or view
        else:
            self._node.hearing.heard(caller, view)
        tag = str(view.scope.incarnation)
        headers = (JSON_TYPE, (b"etag", tag.encode()))
        if tag in wanted.known_incarnations or "*" in wanted.known_incarnations:
            return HttpAnswer(304, headers[1:], b"")
        return HttpAnswer(200, headers, view.document(wanted.version))

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


def answer_to_refusal(refusal: Refusal) -> HttpAnswer:
    match refusal:
        case UnknownEvent():
            # Unknown, finished and foreign ids are indistinguishable on purpose.
            return error(400, f"Bad request. {refusal.message} Nothing was approved")
        case Invalid():
            return error(400, f"Bad request. {refusal.message}")
        case UnknownScope() | UnknownVm():
            return error(403, UNKNOWN_CALLER)
        case StoreUnavailable():
            return error(
                503, "Service unavailable. The request could not be recorded; ask again", (b"retry-after", b"1")
            )
        case _:
            return error(400, f"Bad request. {refusal.message}")
