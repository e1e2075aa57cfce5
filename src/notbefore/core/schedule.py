"""Making events: single operations, platform maintenance of one scope, a failed host (SPEC §3.1, §3.3, §3.4).

Rule 1: one event per VM for operations [seed, real]; per update domain and host for maintenance [seed].
Rule 2: a NotBefore shorter than the notice is refused with the earliest allowed time.
"""

from collections.abc import Iterable, Sequence

from notbefore.core.approval import is_auto_approved
from notbefore.core.domains import must_queue
from notbefore.core.draft import Answer, Draft
from notbefore.core.errors import AlreadyScheduled, Invalid, LimitReached, NotSpot, TooEarly, UnknownVm, VmDeallocated
from notbefore.core.kinds import MAINTENANCE_TYPES, EventType, Source, Status, VmState
from notbefore.core.lifecycle import Happening
from notbefore.core.listening import listens
from notbefore.core.model import Event, Scope, Vm, is_on, name_key, names_of
from notbefore.core.requests import FailHost, Maintain, OperateVm
from notbefore.core.settle import earliest_not_before_ms, make_visible
from notbefore.core.times import iso, rounded_up_to_second
from notbefore.core.values import replace
from notbefore.core.vm_operations import FAILURE_DESCRIPTION, MAINTENANCE_DESCRIPTION, VM_OPERATIONS


def operate_vm(draft: Draft, request: OperateVm) -> Answer:
    operation = VM_OPERATIONS[request.operation]
    vm = running_vm(draft.scope, request.vm)
    if operation.type is EventType.PREEMPT:
        refuse_unless_spot(draft.scope, vm)
    event = Event(
        id=request.nth_event_id(0),
        type=operation.type,
        source=operation.source,
        vms=(vm.name,),
        made_at_ms=draft.now.wall_ms,
        made_by=request.by,
        update_domain=vm.update_domain,
        description=operation.description if request.description is None else request.description,
        duration_s=-1 if request.duration_s is None else request.duration_s,
        hidden=operation.source is Source.USER and not draft.scope.settings.user_events,
    )
    refuse_second_of_a_kind(draft.scope, event)
    refuse_eleventh(draft, event)
    admit(draft, with_asked_time(draft, event, request.not_before_ms), f"{operation.name} asked for by {request.by}")
    return Answer((event.id,))


def maintain(draft: Draft, request: Maintain) -> Answer:
    if request.type not in MAINTENANCE_TYPES:
        allowed = ", ".join(MAINTENANCE_TYPES)
        raise Invalid(f"Platform maintenance is one of {allowed}, not {request.type}.", facts={"type": request.type})
    made = []
    for n, group in enumerate(groups_going_down_together(chosen_vms(draft.scope, request))):
        event = replace(
            platform_event(draft, n, group, request.type),
            description=MAINTENANCE_DESCRIPTION if request.description is None else request.description,
            duration_s=-1 if request.duration_s is None else request.duration_s,
        )
        refuse_second_of_a_kind(draft.scope, event)
        admit(draft, with_asked_time(draft, event, request.not_before_ms), f"maintenance asked for by {request.by}")
        made.append(event.id)
    return Answer(tuple(made))


def fail_host(draft: Draft, request: FailHost) -> Answer:
    """No notice: the failure has happened. Each domain's VMs come back in an event of their own.

    A VM that is coming back from a failure already is not hit twice: a report that is repeated makes nothing new.
    """
    there = [vm for vm in draft.scope.vms if is_on(vm, request.host) and vm.state is VmState.RUNNING]
    coming_back = [event for event in draft.scope.events_in(Status.STARTED) if event.unplanned]
    hit = [vm for vm in there if not any(event.has_vm(vm.name) for event in coming_back)]
    made = [event.id for event in coming_back if any(event.has_vm(vm.name) for vm in there)]
    for n, group in enumerate(groups_going_down_together(hit)):
        event = platform_event(draft, n, group, EventType.REBOOT)
        event = replace(event, description=FAILURE_DESCRIPTION, unplanned=True)
        make_visible(draft, event, f"its host failed ({request.host})")
        made.append(event.id)
    return Answer(tuple(made))


def platform_event(draft: Draft, n: int, group: Sequence[Vm], event_type: EventType) -> Event:
    """The n-th event of a request, over VMs that go down together."""
    return Event(
        id=draft.request.nth_event_id(n),
        type=event_type,
        source=Source.PLATFORM,
        vms=names_of(group),
        made_at_ms=draft.now.wall_ms,
        made_by=draft.request.by,
        update_domain=group[0].update_domain,
    )


def admit(draft: Draft, event: Event, why: str) -> None:
    """Let a new event in: visible now, or queued until its update domain has its turn."""
    if must_queue(draft.scope, event, draft.now):
        draft.move(event, Happening.QUEUED, f"{why}; another update domain has its turn")
    else:
        make_visible(draft, event, why)


def running_vm(scope: Scope, name: str) -> Vm:
    vm = scope.vm(name)
    if vm is None:
        raise UnknownVm(scope.name, name)
    if vm.state is VmState.DEALLOCATED:
        raise VmDeallocated(
            f"{vm.name} is deallocated: there is nothing left to act on.",
            "Declare it with state = running once it is back.",
            {"scope": scope.name, "vm": vm.name},
        )
    return vm


def refuse_unless_spot(scope: Scope, vm: Vm) -> None:
    """Preempt: a spot VM is taken away [real]; any other is its owner's to keep."""
    if not vm.spot:
        raise NotSpot(
            f"{vm.name} is not a spot VM, and only those are evicted.",
            f"Declare it with spot = true in scope '{scope.name}' (`notbefore apply`, or PUT /v1/scopes/SCOPE), "
            "or `notbefore terminate` it.",
            {"scope": scope.name, "vm": vm.name},
        )


def chosen_vms(scope: Scope, request: Maintain) -> Sequence[Vm]:
    named = [running_vm(scope, name) for name in request.vms]
    domains, hosts = set(request.update_domains), set(map(name_key, request.hosts))
    refuse_unknown(scope, "update domain", domains, {vm.update_domain for vm in scope.vms})
    refuse_unknown(scope, "host", hosts, {name_key(vm.host) for vm in scope.vms})
    chosen = [
        vm
        for vm in scope.vms
        if vm.state is VmState.RUNNING
        and (not named or vm in named)
        and (not domains or vm.update_domain in domains)
        and (not hosts or name_key(vm.host) in hosts)
    ]
    if not chosen:
        raise Invalid(f"Scope '{scope.name}' has no running VM to maintain there.", facts={"scope": scope.name})
    return chosen


def refuse_unknown(scope: Scope, noun: str, asked: set[int] | set[str], known: set[int] | set[str]) -> None:
    for stranger in sorted(map(str, set(asked) - set(known))):
        there = ", ".join(sorted(str(name) for name in known if name != ""))
        raise Invalid(
            f"Scope '{scope.name}' has no VM in {noun} '{stranger}'.",
            f"It has VMs in: {there or 'none'}.",
            {"scope": scope.name, noun.replace(" ", "_"): stranger},
        )


def groups_going_down_together(vms: Iterable[Vm]) -> list[list[Vm]]:
    """One group per update domain and host, in that order: one event holds VMs of one of each [seed]."""
    groups: dict[tuple[int, str], list[Vm]] = {}
    for vm in vms:
        groups.setdefault((vm.update_domain, name_key(vm.host)), []).append(vm)
    return [groups[together] for together in sorted(groups)]


def with_asked_time(draft: Draft, event: Event, not_before_ms: int | None) -> Event:
    if not_before_ms is None:
        return event
    asked_ms = rounded_up_to_second(not_before_ms)
    earliest_ms = earliest_not_before_ms(draft.scope, event, draft.now)
    if asked_ms < earliest_ms:
        raise TooEarly(
            f"A {event.type} in scope '{draft.scope.name}' may not start before {iso(earliest_ms)}: "
            f"it gets {draft.scope.settings.notice_for(event.type)} s of notice.",
            "Ask for that time or a later one, or for none.",
            {"earliest": iso(earliest_ms), "asked": iso(asked_ms)},
        )
    return replace(event, asked_not_before_ms=asked_ms)


def refuse_second_of_a_kind(scope: Scope, event: Event) -> None:
    for other in scope.events_in(Status.SCHEDULED, Status.QUEUED):
        same = other.type is event.type and other.source is event.source
        for vm in event.vms:
            if same and other.has_vm(vm):
                raise AlreadyScheduled(
                    f"{vm} already has a {other.type} {other.status}: event {other.id}.",
                    f"`notbefore approve {other.id}` lets it start; `notbefore cancel {other.id}` withdraws it.",
                    {"scope": scope.name, "vm": vm, "event": other.id},
                )


def refuse_eleventh(draft: Draft, event: Event) -> None:
    """At most ten user operations are Scheduled at once [seed]; one that starts at once never is."""
    starts_at_once = event.hidden or is_auto_approved(draft.scope, event) or not listens(draft.scope, draft.now)
    if event.source is not Source.USER or starts_at_once:
        return
    limit = draft.scope.settings.user_operations_max
    scheduled = [e for e in draft.scope.events_in(Status.SCHEDULED) if e.source is Source.USER]
    if len(scheduled) >= limit:
        raise LimitReached(
            f"Scope '{draft.scope.name}' has {len(scheduled)} user operations scheduled, and at most {limit} may be.",
            "Approve or cancel one, wait for one to start, or set user_operations_max.",
            {"scope": draft.scope.name, "limit": limit, "scheduled": len(scheduled)},
        )
