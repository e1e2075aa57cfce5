"""What can be ordered: the kinds, as a table, with the options of each; and a fault, checked before it is set.

Rule 1: a kind takes the options of its row and no other; what is left out has the default of the row.
Rule 2: whatever is wrong is refused with the fact, before anything is set.
Not here: whom a fault strikes (book.py), what that does (documents.py, hand.py, executor.py, metadata/faulty.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from notbefore.core.errors import Invalid, NotAllowed
from notbefore.core.kinds import EventType, Status
from notbefore.core.model import name_key

DELAY_MAX_S = 3600
SPAN_MAX_S = 30 * 24 * 3600
TIMES_MAX = 1_000_000
VMS_MAX = 100
# As far as a number of JSON is exact everywhere.
SEED_MAX = 2**53 - 1


class Edge(StrEnum):
    """Where a kind strikes, and so what is counted."""

    ANSWER = "answer"
    DOCUMENT = "document"
    EVENT = "event"


class On(StrEnum):
    """Which requests a fault of answers strikes."""

    ANY = "any"
    GET = "get"
    POST = "post"


OPTION_MAX_S: Mapping[str, int] = {
    "delay_s": DELAY_MAX_S,
    "after_s": SPAN_MAX_S,
    "notice_s": SPAN_MAX_S,
    "duration_s": SPAN_MAX_S,
}
# The executors take whole seconds.
WHOLE = frozenset({"duration_s"})


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    edge: Edge
    says: str
    options: Mapping[str, float] = field(default_factory=dict)
    # Of kinds that strike events: which types, and what an event becomes when it is struck.
    types: frozenset[EventType] = frozenset(EventType)
    becomes: Status = Status.SCHEDULED


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("410", Edge.ANSWER, "answers 410; the request is not carried out"),
        Kind("429", Edge.ANSWER, "answers 429 with `Retry-After: 1`; the request is not carried out"),
        Kind("500", Edge.ANSWER, "answers 500; the request is not carried out"),
        Kind("503", Edge.ANSWER, "answers 503 with `Retry-After: 1`; the request is not carried out"),
        Kind("slow", Edge.ANSWER, "waits before the first byte, then answers as ever", {"delay_s": 3}),
        Kind(
            "hang", Edge.ANSWER, "sends no byte until the client leaves or the fault is cleared; nothing is carried out"
        ),
        Kind("cut-body", Edge.ANSWER, "promises the whole body, sends half of it and cuts the connection"),
        Kind("garbage", Edge.ANSWER, "answers 200 with a JSON type and a body that is no JSON"),
        Kind("empty", Edge.ANSWER, "answers 200 with no body"),
        Kind(
            "first-call-delay", Edge.ANSWER, "lets the first question of each VM wait, and no other", {"delay_s": 120}
        ),
        Kind("stale", Edge.DOCUMENT, "shows the document, and its number, as it was when the fault was set"),
        Kind("incarnation-reset", Edge.DOCUMENT, "counts DocumentIncarnation and ETag from 1 again"),
        Kind("letter-case", Edge.DOCUMENT, "shows the names in Resources in the other letter case"),
        Kind("skip-scheduled", Edge.EVENT, "starts an event as soon as it comes: it is first seen as Started"),
        Kind("cancel", Edge.EVENT, "cancels an event that has not started so long after it came", {"after_s": 60}),
        Kind(
            "short-notice", Edge.EVENT, "shows a NotBefore so soon after it came, and starts it then", {"notice_s": 30}
        ),
        Kind(
            "freeze-instead",
            Edge.EVENT,
            "turns a Reboot into a Freeze when it starts",
            types=frozenset({EventType.REBOOT}),
            becomes=Status.STARTED,
        ),
        Kind(
            "second-impact",
            Edge.EVENT,
            "keeps an event Started after its impact, and strikes its VMs a second time",
            {"after_s": 60, "duration_s": 2},
            becomes=Status.STARTED,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Order:
    """What somebody asks for, as it was given."""

    kind: str
    vms: tuple[str, ...] = ()
    times: int | None = None
    probability: float | None = None
    seed: int | None = None
    on: str | None = None
    options: Mapping[str, float | None] = field(default_factory=dict)

    def given(self) -> dict[str, float]:
        return {name: seconds for name, seconds in self.options.items() if seconds is not None}


@dataclass(frozen=True, slots=True)
class Fault:
    """One that is set. `vms` are `scope/vm`; none of them means all."""

    id: str
    kind: Kind
    vms: tuple[str, ...] = ()
    times: int | None = None
    probability: float = 1.0
    seed: int | None = None
    on: On = On.ANY
    options: Mapping[str, float] = field(default_factory=dict)
    struck: int = 0

    @property
    def name(self) -> str:
        """How history and the log call it."""
        return f"fault {self.kind.name} {self.id}"

    @property
    def spent(self) -> bool:
        return self.times is not None and self.struck >= self.times

    def seconds(self, option: str) -> float:
        return self.options[option]

    def concerns(self, scope: str, vms: tuple[str, ...]) -> bool:
        """Whether any of these VMs of a scope is one of its own."""
        own = {name_key(vm) for vm in self.vms}
        return not own or any(name_key(f"{scope}/{vm}") in own for vm in vms)


def checked_kind(order: Order) -> Kind:
    """The kind, when everything but the VMs is as it has to be."""
    kind = kind_named(order.kind)
    _refuse_options(kind, order)
    _refuse_number("times", order.times, 1, TIMES_MAX)
    _refuse_number("probability", order.probability, 0, 1)
    _refuse_number("seed", order.seed, 0, SEED_MAX)
    if len(order.vms) > VMS_MAX:
        raise Invalid(f"A fault names at most {VMS_MAX} VMs.", "Name none to strike all.", {"field": "vms"})
    return kind


def kind_named(name: str) -> Kind:
    kind = KINDS.get(name)
    if kind is None:
        raise Invalid(
            f"There is no fault of kind {name!r}.",
            f"It is one of: {', '.join(KINDS)}.",
            {"field": "kind", "value": name},
        )
    return kind


def no_faults_here() -> NotAllowed:
    return NotAllowed(
        "This server takes no faults: it was started without --allow-faults.",
        "Start an emulator that does: `notbefore serve --allow-faults`, or `notbefore sandbox --allow-faults`.",
    )


def _refuse_options(kind: Kind, order: Order) -> None:
    given = order.given()
    taken = [*kind.options, *(["on"] if kind.edge is Edge.ANSWER else [])]
    for name in [*given, *(["on"] if order.on is not None else [])]:
        if name not in taken:
            known = f"It takes {' and '.join(taken)}." if taken else "It takes none."
            raise Invalid(f"A fault of kind {kind.name} takes no {name}.", known, {"field": name, "kind": kind.name})
    if order.on is not None and order.on not in tuple(On):
        raise Invalid(f"on cannot be {order.on!r}.", f"It is one of: {', '.join(On)}.", {"field": "on"})
    for name, seconds in given.items():
        _refuse_number(name, seconds, 0, OPTION_MAX_S[name])
        if name in WHOLE and seconds != int(seconds):
            raise Invalid(f"{name} is a whole number of seconds, not {seconds}.", facts={"field": name})


def _refuse_number(name: str, number: float | None, least: int, most: int) -> None:
    if number is not None and not least <= number <= most:
        raise Invalid(f"{name} is {least} to {most}, not {number}.", facts={"field": name})
