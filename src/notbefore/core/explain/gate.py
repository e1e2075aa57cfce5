"""Why an event of host maintenance waits although it is approved: others of its wave may not start yet (SPEC §3.4).

Rule 1: who the others are is told to whoever may know them; the rest is told that there are some, never who.
Rule 2: without knowing all of them only the clock is sure to release it.
Not here: events that wait for an approval of their own (notice.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from notbefore.core.explain.explanation import Explanation, Rule, both_hands, by_the_clock, kept_at_ms, listed
from notbefore.core.model import Event, Scope
from notbefore.core.times import Moment, iso


@dataclass(frozen=True, slots=True)
class WaveMate:
    """Another event of the wave that is neither released nor started."""

    scope: str
    event_id: str
    vms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Behind:
    """What a shut gate waits for: the mates that may be named, and how many may not."""

    host: str
    mates: tuple[WaveMate, ...]
    hidden: int = 0


UNKNOWN = Behind("", (), 1)


def is_behind_gate(event: Event) -> bool:
    return event.gate is not None and not event.gate.open


def sentence_of_gated(event: Event, now: Moment) -> str:
    return f"{rest_of_wave(event)}, or {iso(deadline_ms(event, now))}"


def why_gated(scope: Scope, event: Event, now: Moment, behind: Behind) -> Explanation:
    """Of one that is approved, and so released."""
    until_ms = deadline_ms(event, now)
    by = event.release.by if event.release else event.made_by
    return Explanation(
        event,
        scope.name,
        Rule.GATE,
        sentence_of_gated(event, now),
        (
            f"It was approved by {by} and is released; all of its wave start together.",
            *whom(behind),
            *(both_hands(event.notice, now) if event.notice else ()),
            "Silence stops nothing: the wave has one deadline.",
        ),
        waits_on=tuple(mate.event_id for mate in behind.mates) or ("the clock",),
        until_ms=until_ms,
        released_by=(*words_on(behind, ()), by_the_clock(until_ms, "starts")),
    )


def rest_of_wave(event: Event) -> str:
    assert event.gate is not None
    return f"the rest of wave {event.gate.wave} of operation {event.gate.operation}"


def whom(behind: Behind) -> tuple[str, ...]:
    """The tenants that hold it, as far as they may be named."""
    where = f" on host {behind.host}" if behind.host else ""
    said = [f"{listed(mate.vms)} of scope {mate.scope} ({mate.event_id})" for mate in behind.mates]
    named = (f"Not released yet{where}: {listed(said)}.",) if said else ()
    others = (f"{'Others' if said else 'Other VMs'}{where} are not released yet.",) if behind.hidden else ()
    return (*named, *others)


def words_on(behind: Behind, own: Sequence[str]) -> tuple[str, ...]:
    """What an operator can say to open the gate: enough only when everybody who holds it is known."""
    ids = [*own, *(mate.event_id for mate in behind.mates)]
    if behind.hidden or not ids:
        return ()
    approve = f"`notbefore approve {' '.join(ids)}`, an operator's word on all that are not released"
    others = [mate.event_id for mate in behind.mates]
    cancel = (f"`notbefore cancel {' '.join(others)}`, which takes the others out of the wave",) if others else ()
    return (approve, *(cancel if not own else ()))


def deadline_ms(event: Event, now: Moment) -> int:
    return kept_at_ms(event.notice, now) if event.notice else now.wall_ms
