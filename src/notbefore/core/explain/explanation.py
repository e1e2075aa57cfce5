"""An explanation as a value, and the turns of phrase its sentences share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from notbefore.core.history import Change
from notbefore.core.model import Event
from notbefore.core.times import SECOND_MS, Moment, Span, iso, rounded_up_to_second

NAMES_SHOWN_MAX = 10


class Rule(StrEnum):
    """Which rule makes it wait."""

    POLICY_ANY = "policy any"
    POLICY_ALL = "policy all"
    POLICY_LEADER = "policy leader"
    COUPLING = "coupling"
    GATE = "gate"
    QUEUE = "queue"
    RECOVERY = "recovery"
    DEADLINE = "deadline"
    IMPACT = "impact"
    RETRY = "retry"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Told:
    """One change of the event, and when it was."""

    at_ms: int
    change: Change


@dataclass(frozen=True, slots=True)
class Explanation:
    """`because` are whole sentences; `waiting_for` goes on from "it waits for"."""

    event: Event
    scope: str
    rule: Rule
    waiting_for: str
    because: tuple[str, ...]
    waits_on: tuple[str, ...] = ()
    until_ms: int | None = None
    released_by: tuple[str, ...] = ()

    @property
    def paragraph(self) -> str:
        event = self.event
        about = f"{event.type} {event.id} of {listed(event.vms)} in scope {self.scope} is {event.status}."
        waits = () if self.rule is Rule.OVER else (f"It waits for {self.waiting_for}.",)
        released = (f"What would release it: {'; or '.join(self.released_by)}.",) if self.released_by else ()
        return " ".join((about, *waits, *self.because, *released))


def listed(names: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; of very many only the first."""
    if len(names) > NAMES_SHOWN_MAX:
        return f"{', '.join(names[:NAMES_SHOWN_MAX])} {last} {len(names) - NAMES_SHOWN_MAX} more"
    *before, name = names
    return f"{', '.join(before)} {last} {name}" if before else name


def ids_of(events: Iterable[Event]) -> tuple[str, ...]:
    return tuple(event.id for event in events)


def kept_at_ms(span: Span, now: Moment) -> int:
    """When the promise will be kept by the wall clock as it goes now: later than it says when the wall was stepped."""
    return rounded_up_to_second(max(span.until_ms, now.wall_ms + span.remaining_ms(now)))


def is_held_by_boot_clock(span: Span, now: Moment) -> bool:
    """The wall clock has come there, but the time has not really passed (SPEC §4)."""
    return now.wall_ms >= span.until_ms and not span.has_passed(now)


def both_hands(span: Span, now: Moment) -> tuple[str, ...]:
    """What to say of a promise that the two hands of the clock do not agree on."""
    if not is_held_by_boot_clock(span, now):
        return ()
    left_s = -(-span.remaining_ms(now) // SECOND_MS)
    past = f"The wall clock shows {iso(now.wall_ms)}, which is past {iso(span.until_ms)}"
    return (f"{past}, but {left_s} s of what was promised have not really elapsed: setting a clock shortens nothing.",)


def by_the_clock(at_ms: int, what: str) -> str:
    return f"the clock: at {iso(at_ms)} it {what} by itself"


def command(action: str, events: Iterable[Event]) -> str:
    return f"`notbefore {action} {' '.join(ids_of(events))}`"
