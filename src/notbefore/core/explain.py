"""Why an event stands where it stands, in one sentence for an operator."""

from notbefore.core.approval import holding_terminate, releasing_approval, voices_missing
from notbefore.core.domains import domains_having_their_turn
from notbefore.core.kinds import Policy, Status
from notbefore.core.model import Event, Scope, name_key
from notbefore.core.times import Moment, iso


def waiting_for(scope: Scope, event: Event, now: Moment) -> str:
    match event.status:
        case Status.QUEUED:
            return _why_queued(scope, event, now)
        case Status.SCHEDULED:
            return _why_scheduled(scope, event, now)
        case Status.STARTED:
            over = {name_key(outcome.vm) for outcome in event.outcomes}
            left = [vm for vm in event.vms if name_key(vm) not in over]
            return f"the impact on {', '.join(left)} to be over"
        case _:
            return "nothing: it is over"


def _why_queued(scope: Scope, event: Event, now: Moment) -> str:
    busy = sorted(domains_having_their_turn(scope) - {event.update_domain})
    if busy:
        return f"its turn: update domain {busy[0]} is having its own"
    if scope.recovery and not scope.recovery.span.has_passed(now):
        rest = scope.recovery
        return f"its turn: update domain {rest.update_domain} rests until {iso(rest.span.until_ms)}"
    return "its turn: other update domains queue before it"


def _why_scheduled(scope: Scope, event: Event, now: Moment) -> str:
    deadline = f"or {iso(event.not_before_ms)}" if event.not_before_ms is not None else ""
    if releasing_approval(scope, event):
        holding = holding_terminate(scope, event, now)
        held_by = f"the approval of {holding.id}, a Terminate as early as this one" if holding else "its start"
        return f"{held_by}, {deadline}"
    missing = voices_missing(scope, event, event.approvals)
    match scope.settings.policy_for(event.type):
        case Policy.ANY:
            return f"the approval of any VM of scope {scope.name}, {deadline}"
        case Policy.ALL:
            return f"the approval of {', '.join(missing)}, {deadline}"
        case Policy.LEADER:
            return f"the approval of its leader {', '.join(missing)}, {deadline}"
