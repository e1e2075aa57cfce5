"""What the runtime needs from outside, as Protocols, grouped by the guarantee each method must give.

Rule 1: an adapter is right when it passes the contract suite of its port (tests/contracts/).
Rule 2: `runtime/` reaches time, tasks, the store and the executors only through these, so that a
simulator can run it unchanged.
Implemented by: clock.py, tasks.py, stores/, executors/, notifiers/. Used by: runtime/, metadata/, control/.
"""

from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from notbefore.core.history import HistoryRecord
from notbefore.core.kinds import EventType, Status
from notbefore.core.model import Scope, Vm
from notbefore.core.news import Gap, News
from notbefore.core.operation import Operation
from notbefore.core.rollout import Rollout
from notbefore.core.times import Moment

Value = TypeVar("Value")


class Signal(Protocol):
    """A bell: rung by anyone, waited for by one through `Clock.wait`. Rings between two waits are one ring."""

    def ring(self) -> None: ...

    async def rung(self, timeout_s: float | None) -> None:
        """For clocks only: return when it rings, or after so many seconds of real time."""


class Clock(Protocol):
    # -- The domain's time: notice, recovery, enabling, simulated impacts, history. A manual clock turns it.
    def now(self) -> Moment: ...

    def wall_ns(self) -> int:
        """What `now` shows of the wall: for whoever asks with every request."""

    async def wait(self, until_ms: int | None, signal: Signal) -> None:
        """Return when the wall clock shows `until_ms`, or the signal rings; perhaps earlier, never much later."""

    # -- Real time, whatever the domain's clock does: rate limits, time-outs, housekeeping.
    def steady_s(self) -> float: ...

    def real_s(self) -> float:
        """The wall clock nobody turned, for signatures."""

    async def rest(self, seconds: float) -> None: ...

    async def rest_until(self, seconds: float | None, signal: Signal) -> None:
        """So long (None: for ever), or until the signal rings; of `Tasks.signal_aside`."""


class Tasks(Protocol):
    """How runtime/ does things side by side: one tree, ended by cancelling it."""

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Work that counts: a manual clock does not move on before all of it waits."""

    def spawn_aside(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Housekeeping in real time, which a manual clock does not wait for."""

    def signal(self) -> Signal: ...

    def signal_aside(self) -> Signal:
        """For housekeeping: who waits for it, and who is woken by it, is none of a manual clock's business."""

    def lock(self) -> AbstractAsyncContextManager[None]: ...

    def give_way(self) -> None:
        """Between two parts of something long: those who only ask are answered first. Nothing else happens."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A scope as committed: `version` counts its own commits, `revision` orders all commits of the store."""

    scope: Scope
    version: int
    revision: int


@dataclass(frozen=True, slots=True)
class StoredRecord:
    revision: int
    record: HistoryRecord


@dataclass(frozen=True, slots=True)
class Document:
    """A small thing beside the scopes (a token, a host), under a kind and a key of its own.

    `version` is what a compare-and-set names. The store never gives it out twice for a key, also not after the
    document was removed and made anew: whoever holds an old one gets a conflict.
    """

    kind: str
    key: str
    version: int
    revision: int
    body: bytes


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """Records after a revision, oldest first, or the newest ones when `newest` is set (still oldest first)."""

    scope: str | None = None
    # Of any of these; as well as of `scope`, when both are given.
    scopes: tuple[str, ...] | None = None
    event_id: str | None = None
    statuses: tuple[Status, ...] = ()
    after: int = 0
    limit: int = 100
    newest: bool = False
    # For going back from the newest, page by page.
    before: int | None = None
    # Both inclusive.
    since_ms: int | None = None
    until_ms: int | None = None


class VersionConflict(Exception):
    """Another commit came first: load again and decide anew."""


class OutcomeUnknown(Exception):
    """The write may or may not be there: read again and judge by the request id, never blindly retry."""


class Feed(Protocol):
    """The half of a store that a process needs which only follows it (see Store)."""

    async def changes_after(self, revision: int, limit: int) -> Sequence[Stored]: ...

    async def wait_for_changes(self) -> None: ...


class Store(Protocol):
    # -- Reading: the newest committed state.
    async def load(self, key: str) -> Stored | None: ...

    # -- Writing: one compare-and-set on one scope, with its history record; durable before it returns.
    #    Raises VersionConflict, OutcomeUnknown, or core's StoreUnavailable and ScopeTooLarge.
    async def commit(self, scope: Scope, expected_version: int, record: HistoryRecord | None) -> Stored:
        """`expected_version` 0 means: there is none yet."""

    # -- Documents: all of a kind, by key; and one compare-and-set on one of them, as durable as a commit and noticed
    #    by `wait_for_changes` like one. The feed and the history of scopes do not show them; a record that concerns
    #    no scope has the scope "".
    async def documents(self, kind: str, after: int = 0) -> Sequence[Document]:
        """`after`: only those whose last change is after that revision."""

    async def put_document(
        self, kind: str, key: str, body: bytes | None, expected_version: int, record: HistoryRecord | None
    ) -> Document | None:
        """No body removes it. `expected_version` 0 means: there is none.

        Raises as `commit`, and LimitReached when the body is too large.
        """

    # -- Following: every scope whose newest commit is after `revision`, in order of revision, none left out.
    #    An older commit of the same scope may be skipped: the newest state is what counts.
    async def changes_after(self, revision: int, limit: int) -> Sequence[Stored]: ...

    async def wait_for_changes(self) -> None:
        """Return when somebody, perhaps another process, may have committed. For one follower per store instance."""

    # -- History: complete and in order of commit.
    async def history(self, query: HistoryQuery) -> Sequence[StoredRecord]: ...

    # -- Retiring: the only way a record leaves history. All of these or none, durable before it returns; one that is
    #    gone already is no failure, so that two who retire the same disturb nobody. Revisions are never used again.
    async def retire(self, revisions: Sequence[int]) -> None: ...

    # -- Nodes: who else works on this store.
    def is_alive(self, node: str) -> bool:
        """Whether that node may still be running; a crashed node's claims may be taken over."""

    async def close(self) -> None: ...


class HistorySink(Protocol):
    """Where records go before they leave the store."""

    # -- Durable before it returns. A record that comes twice, after a crash say, may be kept twice; none is lost.
    #    Raises core's SinkUnavailable, and then whatever was begun does no harm.
    async def keep(self, records: Sequence[StoredRecord]) -> None: ...


@dataclass(frozen=True, slots=True)
class Impact:
    """One attempt to pause, reboot, move, take away or delete one VM."""

    attempt_id: str
    scope: str
    event_id: str
    vm: Vm
    type: EventType
    duration_s: int
    since_ms: int
    earlier_attempts: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What shows that the impact is over."""

    sentence: str
    new_host: str | None = None


class ImpactFailure(Exception):
    """The impact could not be carried out this time; the message says why."""


class Executor(Protocol):
    @property
    def name(self) -> str:
        """How history calls it."""

    # -- At most once per attempt id. Returns evidence when the impact is over, raises ImpactFailure
    #    when it could not be carried out; does one of the two within a time limit of its own.
    #    `earlier_attempts` > 0 tells that a crashed node may have begun it already.
    async def carry_out(self, impact: Impact) -> Evidence: ...


class Encoding(Protocol[Value]):
    """How values of one type are kept as documents: what is decoded equals what was encoded."""

    def encode(self, value: Value) -> bytes: ...

    def decode(self, body: bytes) -> Value: ...


@dataclass(frozen=True, slots=True)
class Encodings:
    """Of everything that the runtime keeps as documents."""

    operations: Encoding[Operation]
    rollouts: Encoding[Rollout]


class NotTold(Exception):
    """It may or may not have arrived; the message says why that is not known, and tells no secret.

    `refused`: the receiver understood and does not want it, so that trying for ever would help nobody.
    """

    def __init__(self, why: str, *, refused: bool = False, retry_after_s: float = 0.0) -> None:
        super().__init__(why)
        self.refused = refused
        self.retry_after_s = retry_after_s


class Notifier(Protocol):
    """The way to one receiver outside."""

    # -- At least once: returns when the receiver has it, raises NotTold otherwise; does one of the two within a time
    #    limit of its own. The same news always goes out under its own id, so that a receiver can know it again.
    async def tell(self, news: News | Gap) -> None: ...

    def close(self) -> None:
        """What is under way is broken off; nothing is told any more."""


class Ids(Protocol):
    """Fresh request ids (GUIDs). Ids are made at the edges, never in the core."""

    def __call__(self) -> str: ...
