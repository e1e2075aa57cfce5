"""What the data plane needs of whoever knows the answers: MetadataService, or a recorded flow that is served again.

Rule 1: bytes, limits and held questions know their service by this face alone.
Rule 2: `judge` looks at the head alone, and its verdict may be remembered; `answer_now` never waits.
"""

from collections.abc import Callable
from typing import Protocol

from notbefore.core.model import Scope
from notbefore.metadata.answers import HttpAnswer
from notbefore.metadata.counts import Counts
from notbefore.metadata.identity import Peer
from notbefore.metadata.service import MetadataOptions, ReadBody
from notbefore.metadata.standing import Standing
from notbefore.metadata.verdict import ReadDocument, RequestHead, Verdict
from notbefore.runtime.snapshot import VmRef


class Service(Protocol):
    counts: Counts
    options: MetadataOptions

    def follow_options(self, take: Callable[[MetadataOptions], None]) -> None:
        """Be told the options, now and whenever they change."""
        ...

    def judge(self, head: RequestHead) -> Verdict: ...

    def answer_now(
        self, verdict: Verdict, peer: Peer, now_s: float, proxy_header: bytes | None = None
    ) -> HttpAnswer | None:
        """The answer to what is asked now, in real time, when it needs no waiting and no body; else None."""
        ...

    def standing(self, verdict: Verdict, peer: Peer) -> Standing | None:
        """For who asks again on its connection what it was answered: what it is told while nothing changes; or None."""
        ...

    async def answer(self, head: RequestHead, verdict: Verdict, peer: Peer, read_body: ReadBody) -> HttpAnswer: ...

    # -- for questions that are held

    def follow_scopes(self, take: Callable[[Scope], None]) -> None:
        """Be told every new state of every scope."""
        ...

    def now_s(self) -> float:
        """Real time."""
        ...

    def caller_of(self, peer: Peer, proxy_header: bytes | None) -> VmRef | None: ...

    def scope_of(self, caller: VmRef) -> Scope | None: ...

    def answer_held(
        self, caller: VmRef, peer: Peer, wanted: ReadDocument, *, vouched: bool, applied: bool = True
    ) -> HttpAnswer:
        """The answer to a question that was taken already; a 304 lets it be held on."""
        ...
