"""Whose word releases an event, and what else it waits for (SPEC §2.4, §3.2).

Rule 1: any VM of the scope may speak; whether its word counts is the policy's matter.
Rule 2: an operator's approval releases under any policy.
Rule 3: the deadline always wins: silence stops nothing (L2).
"""

from collections.abc import Iterator

from notbefore.core.kinds import EventType, Policy, Status
from notbefore.core.model import ActorKind, Approval, Event, Scope, name_key
from notbefore.core.times import Moment


def releasing_approval(scope: Scope, event: Event) -> Approval | None:
    """The approval that completed what the policy asks for, or None while somebody must still speak."""
    for count, approval in enumerate(event.approvals, start=1):
        if approval.by.kind is ActorKind.OPERATOR:
            return approval
        if not voices_missing(scope, event, event.approvals[:count]):
            return approval
    return None


def voices_missing(scope: Scope, event: Event, approvals: tuple[Approval, ...]) -> tuple[str, ...]:
    """The VMs whose word the policy still asks for; for `any` those named in the event stand for all."""
    spoken = {name_key(a.by.name) for a in approvals if a.by.kind is ActorKind.VM}
    match scope.settings.policy_for(event.type):
        case Policy.ANY:
            return () if spoken else event.vms
        case Policy.ALL:
            return tuple(vm for vm in event.vms if name_key(vm) not in spoken)
        case Policy.LEADER:
            # The first machine in Resources leads [seed].
            return tuple(vm for vm in event.vms[:1] if name_key(vm) not in spoken)


def terminates_holding(scope: Scope, event: Event, now: Moment) -> Iterator[Event]:
    """The other Terminates that hold this approved one: as early or earlier, and neither approved nor due [real]."""
    if event.type is not EventType.TERMINATE or event.notice is None:
        return
    for other in scope.events_in(Status.SCHEDULED):
        if other.id == event.id or other.type is not EventType.TERMINATE or other.notice is None:
            continue
        as_early = other.notice.until_ms <= event.notice.until_ms
        if as_early and not other.notice.has_passed(now) and releasing_approval(scope, other) is None:
            yield other


def is_held(scope: Scope, event: Event, now: Moment) -> bool:
    return next(terminates_holding(scope, event, now), None) is not None


def is_auto_approved(scope: Scope, event: Event) -> bool:
    return f"{event.source}:{event.type}" in scope.settings.auto_approve
