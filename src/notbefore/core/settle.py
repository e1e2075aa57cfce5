"""What follows by itself: events that become visible, and events that start.

Rule 1: after every decision the scope is settled; a second settling at the same moment changes nothing.
Rule 2: an event starts when it is due on both clocks, or released and held by no coupled Terminate (S1).
Rule 3: the next update domain has its turn when the former has ended and rested (S5).
"""

from notbefore.core.approval import is_auto_approved, is_held, releasing_approval
from notbefore.core.domains import domains_having_their_turn, has_its_turn, is_planned_platform
from notbefore.core.draft import Draft
from notbefore.core.kinds import Status
from notbefore.core.lifecycle import Happening
from notbefore.core.listening import listens, why_no_notice
from notbefore.core.model import THE_CLOCK, Approval, Event, Scope
from notbefore.core.times import SECOND_MS, Moment, rounded_up_to_second
from notbefore.core.values import replace


def settle(draft: Draft) -> None:
    while _start_ready(draft) or _enter_next_domain(draft):
        pass


def make_visible(draft: Draft, event: Event, why: str) -> Event:
    """Give the event its notice, or start it at once when it gets none."""
    end_rest_of_other_domain(draft, event)
    if event.hidden:
        return draft.move(event, Happening.NO_NOTICE, "the scope gives no events for user operations")
    if event.unplanned:
        return draft.move(event, Happening.NO_NOTICE, f"{why}: there is no time for notice")
    if is_auto_approved(draft.scope, event):
        rule = f"{event.source}:{event.type}"
        return draft.move(event, Happening.AUTO_APPROVED, f"the scope approves {rule} by itself")
    if not listens(draft.scope, draft.now):
        return draft.move(event, Happening.NOT_LISTENED, why_no_notice(draft.scope))
    until_ms = max(earliest_not_before_ms(draft.scope, event, draft.now), event.asked_not_before_ms or 0)
    noticed = replace(event, notice=draft.now.promise(until_ms), visible_since_ms=draft.now.wall_ms)
    return draft.move(noticed, Happening.SCHEDULED, why)


def end_rest_of_other_domain(draft: Draft, event: Event) -> None:
    """A turn that was given is not taken back, whatever the wall clock does afterwards."""
    rest = draft.scope.recovery
    if rest and is_planned_platform(event) and rest.update_domain != event.update_domain:
        draft.scope = replace(draft.scope, recovery=None)


def earliest_not_before_ms(scope: Scope, event: Event, now: Moment) -> int:
    return rounded_up_to_second(now.wall_ms + scope.settings.notice_for(event.type) * SECOND_MS)


def next_due_ms(scope: Scope, now: Moment) -> int | None:
    """When, by the wall clock as it goes now, a Tick could change this scope; None when only others can."""
    waits = [e.notice.remaining_ms(now) for e in scope.events_in(Status.SCHEDULED) if e.notice]
    queued = scope.events_in(Status.QUEUED)
    if queued and not domains_having_their_turn(scope):
        waits.append(scope.recovery.span.remaining_ms(now) if scope.recovery else 0)
    return now.wall_ms + min(waits) if waits else None


def _start_ready(draft: Draft) -> bool:
    for event in draft.scope.events_in(Status.SCHEDULED):
        approval = event.release or releasing_approval(draft.scope, event)
        if approval and not is_held(draft.scope, event, draft.now):
            if event.gate is None or event.gate.open:
                draft.move(event, Happening.APPROVED, f"approved by {approval.by}", approval.by)
                return True
            event = _released(draft, event, approval)  # noqa: PLW2901  the same event, a step further
        if event.notice and event.notice.has_passed(draft.now):
            draft.move(event, Happening.DUE, "its notice ended and nobody has to approve any more", THE_CLOCK)
            return True
    return False


def _released(draft: Draft, event: Event, approval: Approval) -> Event:
    """Approved, an operation's event waits for the others of its wave (SPEC §3.4); due, they all are."""
    if event.release is not None:
        return event
    released = replace(event, release=approval)
    draft.put(released)
    draft.tell("released", f"approved by {approval.by}; waits for the rest of its wave", approval.by, event=released)
    return released


def _enter_next_domain(draft: Draft) -> bool:
    """The first in the queue brings every queued event of its domain along: they may go down together."""
    queued = draft.scope.events_in(Status.QUEUED)
    if not queued or not has_its_turn(draft.scope, queued[0].update_domain, draft.now):
        return False
    for event in queued:
        if event.update_domain == queued[0].update_domain:
            make_visible(draft, event, f"update domain {event.update_domain} has its turn")
    return True
