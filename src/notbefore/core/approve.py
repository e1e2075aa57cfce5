"""Taking a word: a VM's or an operator's approval of events (SPEC §2.4).

Rule 1: all or nothing: one id that names no current event of the scope, and nothing is recorded.
Rule 2: repeating is harmless; approving what has started is harmless.
Not here: whose word counts (approval.py), starting (settle.py).
"""

from notbefore.core.draft import Answer, Draft
from notbefore.core.errors import Invalid, UnknownEvent, UnknownVm, WrongStatus
from notbefore.core.kinds import Status
from notbefore.core.listening import hear
from notbefore.core.model import Actor, ActorKind, Approval, Event, Scope
from notbefore.core.requests import ApproveEvents
from notbefore.core.values import replace
from notbefore.core.visibility import is_visible

APPROVALS_PER_REQUEST_MAX = 100


def approve_events(draft: Draft, request: ApproveEvents) -> Answer:
    if not 1 <= len(request.event_ids) <= APPROVALS_PER_REQUEST_MAX:
        raise Invalid(
            f"A request approves 1 to {APPROVALS_PER_REQUEST_MAX} events, not {len(request.event_ids)}.",
            facts={"limit": APPROVALS_PER_REQUEST_MAX},
        )
    by = speaker(draft, request)
    events = [approvable(draft.scope, event_id, from_a_vm=by.kind is ActorKind.VM) for event_id in request.event_ids]
    for event in events:
        record_approval(draft, event.id, by)
    return Answer(tuple(event.id for event in events))


def speaker(draft: Draft, request: ApproveEvents) -> Actor:
    """Who speaks, by the name it was declared with. A POST shows that a VM listens, as a GET does (SPEC §2.5)."""
    if request.by.kind is not ActorKind.VM:
        return request.by
    vm = draft.scope.vm(request.by.name)
    if vm is None:
        raise UnknownVm(draft.scope.name, request.by.name)
    hear(draft, {vm.name: draft.now.wall_ms})
    return Actor(ActorKind.VM, vm.name)


def approvable(scope: Scope, event_id: str, *, from_a_vm: bool) -> Event:
    event = scope.event(event_id)
    # What a VM cannot see it cannot tell from what is not there.
    if event is None or (from_a_vm and not is_visible(event)):
        raise UnknownEvent(event_id)
    if event.status is Status.QUEUED:
        raise WrongStatus(event.id, event.status, "approved")
    return event


def record_approval(draft: Draft, event_id: str, by: Actor) -> None:
    event = draft.scope.event(event_id)
    if event is None or event.status is not Status.SCHEDULED:
        return
    if any(approval.by == by for approval in event.approvals):
        return
    approval = Approval(by, draft.now.wall_ms)
    approved = replace(event, approvals=(*event.approvals, approval))
    draft.put(approved)
    draft.tell("approved", f"approved by {by}", by, event=approved)
