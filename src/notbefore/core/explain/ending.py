"""How an event ended, and why, as history tells it."""

from collections.abc import Sequence

from notbefore.core.explain.explanation import Explanation, Rule, Told, listed
from notbefore.core.kinds import ENDED, Status
from notbefore.core.model import Event
from notbefore.core.times import iso


def why_over(scope_name: str, event: Event, story: Sequence[Told] = ()) -> Explanation:
    return Explanation(
        event,
        scope_name,
        Rule.OVER,
        "nothing: it is over",
        (*_announced(event), *_started(event, story), *_ended(event, story), *_on_each(event)),
    )


def _announced(event: Event) -> tuple[str, ...]:
    if event.notice is None or event.visible_since_ms is None:
        return ()
    return (f"It was announced at {iso(event.visible_since_ms)}, not before {iso(event.notice.until_ms)}.",)


def _started(event: Event, story: Sequence[Told]) -> tuple[str, ...]:
    if event.started_at_ms is None:
        return ("It never started.",)
    why = next((f": {told.change.why}" for told in story if _status(told) is Status.STARTED), "")
    return (f"It started at {iso(event.started_at_ms)}{why}.",)


def _ended(event: Event, story: Sequence[Told]) -> tuple[str, ...]:
    if event.ended_at_ms is None:
        return ()
    last = next((told.change for told in story if _status(told) in ENDED), None)
    by = f" ({last.by})" if last and str(last.by) not in last.why else ""
    why = f": {last.why}{by}" if last else ""
    return (f"It ended as {event.status} at {iso(event.ended_at_ms)}{why}.",)


def _status(told: Told) -> Status | None:
    return told.change.event.status if told.change.event else None


def _on_each(event: Event) -> tuple[str, ...]:
    """What showed that the impact was over, VM by VM."""
    outcomes = [f"{one.vm} ({'' if one.done else 'given up: '}{one.evidence})" for one in event.outcomes]
    return (f"VM by VM: {listed(outcomes)}.",) if outcomes else ()
