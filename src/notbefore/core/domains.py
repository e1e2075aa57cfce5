"""One update domain at a time: whose turn it is in a scope (SPEC §3.4, S5).

Rule 1: planned platform events of at most one update domain are Scheduled or Started; the others are Queued.
Rule 2: first come, first served; a domain keeps its turn while any of its events lives, and rests afterwards.
Preempt, Terminate and host failures stand outside this rule.
"""

from notbefore.core.kinds import MAINTENANCE_TYPES, Source, Status
from notbefore.core.model import Event, Scope
from notbefore.core.times import Moment


def is_planned_platform(event: Event) -> bool:
    return event.source is Source.PLATFORM and event.type in MAINTENANCE_TYPES and not event.unplanned


def domains_having_their_turn(scope: Scope) -> set[int]:
    return {e.update_domain for e in scope.events_in(Status.SCHEDULED, Status.STARTED) if is_planned_platform(e)}


def has_its_turn(scope: Scope, update_domain: int, now: Moment) -> bool:
    """Whether an event of this domain may become visible now, as far as the other domains are concerned."""
    if domains_having_their_turn(scope) - {update_domain}:
        return False
    rest = scope.recovery
    return rest is None or rest.update_domain == update_domain or rest.span.has_passed(now)


def must_queue(scope: Scope, event: Event, now: Moment) -> bool:
    """A new event waits behind those that queue already, even for a domain that has its turn: none is overtaken."""
    if not is_planned_platform(event):
        return False
    ahead = [e for e in scope.events_in(Status.QUEUED) if e.update_domain != event.update_domain]
    return bool(ahead) or not has_its_turn(scope, event.update_domain, now)


def rest_after_s(scope: Scope, event: Event) -> int:
    """How long a domain rests after this event: as long as the scope wants, or the operation that made it."""
    return max(scope.settings.recovery_s, event.recovery_s)
