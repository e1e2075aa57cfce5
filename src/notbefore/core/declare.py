"""Declaring a scope: which VMs it has and how it behaves (SPEC §1, DESIGN §5).

Rule 1: a declaration replaces the whole and is idempotent; incarnation, events and *asked* stay.
Rule 2: what would hurt a live event is refused and names the event, unless forced.
Rule 3: a removed scope keeps its incarnation, so that declaring it again never goes back (S3).
"""

from ipaddress import IPv6Address, ip_address

from notbefore.core.draft import Answer, Draft
from notbefore.core.errors import AddressTaken, Invalid, LiveEvent
from notbefore.core.history import Declaration
from notbefore.core.impacts import drop_vm
from notbefore.core.kinds import EventType, Policy, Source
from notbefore.core.model import Event, Scope, Vm, name_key
from notbefore.core.requests import DeclareScope, RemoveScope
from notbefore.core.scope_settings import (
    DEFAULT_POLICY,
    NOTICE_MAX_S,
    RECOVERY_MAX_S,
    TERMINATE_NOTICE_MAX_S,
    USER_OPERATIONS_MAX,
    ScopeSettings,
)
from notbefore.core.values import replace

NAME_MAX = 128
VMS_PER_SCOPE_MAX = 1000
ADDRESSES_PER_VM_MAX = 16


def declare_scope(draft: Draft, request: DeclareScope) -> Answer:
    check_name("scope", request.scope)
    check_settings(request.settings)
    vms = checked_vms(keeping_states(draft.scope, request))
    refuse_moves_under_maintenance(draft.scope, vms)
    if not request.force:
        refuse_removal_of_live_vms(draft.scope, vms)
    declared = replace(draft.scope, name=request.scope, kind=request.kind, settings=request.settings, removed=False)
    if declared == draft.scope and vms == draft.scope.vms:
        return Answer()
    kept = {name_key(vm.name) for vm in vms}
    draft.scope = declared
    for vm in [vm for vm in declared.vms if name_key(vm.name) not in kept]:
        drop_vm(draft, vm, f"{vm.name} was removed from the scope by {request.by}")
    draft.scope = replace(draft.scope, vms=vms)
    declaration = Declaration(request.kind, request.settings, vms)
    draft.tell("declared", f"declared by {request.by} with {len(vms)} VMs", declaration=declaration)
    return Answer()


def keeping_states(scope: Scope, request: DeclareScope) -> tuple[Vm, ...]:
    known = {name_key(vm.name): vm.state for vm in scope.vms}
    return tuple(
        vm if vm.name in request.with_state else replace(vm, state=known.get(name_key(vm.name), vm.state))
        for vm in request.vms
    )


def remove_scope(draft: Draft, request: RemoveScope) -> Answer:
    if draft.scope.events and not request.force:
        what = f"Scope '{draft.scope.name}' cannot be removed: it has a live event"
        raise in_the_way(draft.scope, draft.scope.events[0], what, "; or force it")
    for vm in draft.scope.vms:
        drop_vm(draft, vm, f"{vm.name} was removed with its scope by {request.by}")
    draft.scope = replace(draft.scope, vms=(), asked_ms={}, hit_ms={}, recovery=None, removed=True)
    gone = Declaration(draft.scope.kind, draft.scope.settings, (), removed=True)
    draft.tell("removed", f"removed by {request.by}", declaration=gone)
    return Answer()


def refuse_removal_of_live_vms(scope: Scope, vms: tuple[Vm, ...]) -> None:
    kept = {name_key(vm.name) for vm in vms}
    for vm in scope.vms:
        live = scope.live_events_of(vm.name)
        if live and name_key(vm.name) not in kept:
            raise in_the_way(scope, live[0], f"{vm.name} cannot be removed: it has a live event", "; or force it", vm)


def refuse_moves_under_maintenance(scope: Scope, vms: tuple[Vm, ...]) -> None:
    """One event holds VMs of one update domain and host [seed]; no force may break that while it lives."""
    for vm in vms:
        before = scope.vm(vm.name)
        if before is None or (before.update_domain, before.host) == (vm.update_domain, vm.host):
            continue
        for event in scope.live_events_of(vm.name):
            if event.source is not Source.PLATFORM:
                continue
            raise in_the_way(
                scope, event, f"{vm.name} cannot change its update domain or host under a live event", "", vm
            )


def in_the_way(scope: Scope, event: Event, what: str, otherwise: str, vm: Vm | None = None) -> LiveEvent:
    return LiveEvent(
        f"{what}: {event.id} ({event.type}, {event.status}).",
        f"`notbefore cancel {event.id}`, or wait for its end{otherwise}.",
        {"scope": scope.name, "event": event.id, **({"vm": vm.name} if vm else {})},
    )


def check_name(noun: str, name: str) -> None:
    if not 1 <= len(name) <= NAME_MAX or not name.isprintable() or "/" in name:
        raise Invalid(
            f"{name!r} cannot be the name of a {noun}: 1 to {NAME_MAX} printable characters without '/'.",
            facts={noun: name},
        )


def checked_vms(vms: tuple[Vm, ...]) -> tuple[Vm, ...]:
    """The VMs with their addresses in canonical form; names and addresses each at most once."""
    if len(vms) > VMS_PER_SCOPE_MAX:
        raise Invalid(
            f"A scope has at most {VMS_PER_SCOPE_MAX} VMs, not {len(vms)}.", facts={"field": "vms", "vms": len(vms)}
        )
    names: set[str] = set()
    owners: dict[str, str] = {}
    checked = []
    for vm in vms:
        check_name("VM", vm.name)
        if name_key(vm.name) in names:
            raise Invalid(f"VM '{vm.name}' is named twice (letter case aside).", facts={"vm": vm.name, "field": "name"})
        names.add(name_key(vm.name))
        if vm.host:
            check_name("host", vm.host)
        if len(vm.addresses) > ADDRESSES_PER_VM_MAX:
            raise Invalid(
                f"VM '{vm.name}' has more than {ADDRESSES_PER_VM_MAX} addresses.",
                facts={"vm": vm.name, "field": "addresses"},
            )
        if vm.update_domain < 0:
            raise Invalid(
                f"VM '{vm.name}' has a negative update domain.", facts={"vm": vm.name, "field": "update_domain"}
            )
        addresses = tuple(dict.fromkeys(canonical_address(address) for address in vm.addresses))
        for address in addresses:
            if address in owners:
                raise AddressTaken(
                    f"Address {address} is claimed by {owners[address]} and {vm.name}: it would identify nobody.",
                    "Give each VM its own address.",
                    {"address": address, "vms": [owners[address], vm.name], "vm": vm.name, "field": "addresses"},
                )
            owners[address] = vm.name
        checked.append(replace(vm, addresses=addresses))
    return tuple(checked)


def canonical_address(address: str) -> str:
    """One spelling per address; an IPv4-mapped IPv6 address counts as IPv4 (SPEC §5)."""
    try:
        parsed = ip_address(address)
    except ValueError:
        raise Invalid(f"{address!r} is not an IP address.", facts={"address": address}) from None
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return str(parsed)


def check_settings(settings: ScopeSettings) -> None:
    for event_type, notice_s in settings.notice_s.items():
        longest_s = TERMINATE_NOTICE_MAX_S if event_type is EventType.TERMINATE else NOTICE_MAX_S
        if not 0 <= notice_s <= longest_s:
            raise Invalid(
                f"notice_s of {event_type} is 0 to {longest_s} seconds, not {notice_s}.",
                facts={"type": event_type, "field": f"settings.notice_s.{event_type}"},
            )
    if not 0 <= settings.recovery_s <= RECOVERY_MAX_S:
        raise Invalid(
            f"recovery_s is 0 to {RECOVERY_MAX_S} seconds, not {settings.recovery_s}.",
            facts={"field": "settings.recovery_s"},
        )
    if not 0 <= settings.user_operations_max <= USER_OPERATIONS_MAX:
        raise Invalid(
            f"user_operations_max is 0 to {USER_OPERATIONS_MAX}, not {settings.user_operations_max}.",
            facts={"field": "settings.user_operations_max"},
        )
    known_rules = {f"{source}:{event_type}" for source in Source for event_type in EventType}
    for rule in settings.auto_approve:
        if rule not in known_rules:
            raise Invalid(
                f"auto_approve has {rule!r}, which is no source and type such as 'User:Reboot'.",
                facts={"rule": rule, "field": "settings.auto_approve"},
            )
    for decides_for, policy in settings.approval.items():
        if decides_for not in {DEFAULT_POLICY, *EventType} or policy not in set(Policy):
            raise Invalid(
                f"approval has {decides_for!r}: {policy!r}; it maps 'default' or an event type to any, all or leader.",
                facts={"field": f"settings.approval.{decides_for}"},
            )
