"""Scopes: declare, read, remove; and the operations on their VMs."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Path, Query, Response, status

from notbefore.control import answers, examples
from notbefore.control.bodies import MaintenanceBody, OperationBody, ScopeBody, word
from notbefore.control.long_lists import listed
from notbefore.control.openapi import answered
from notbefore.control.parameters import Force, Plan, ScopeName, VmName
from notbefore.control.plane import ControlPlane, Operator, Plane
from notbefore.control.roles import By, Caller, Role, needs
from notbefore.control.router import router_under
from notbefore.control.shapes import live_event, shown_scope
from notbefore.core.declare import canonical_address
from notbefore.core.errors import AddressTaken, Invalid, UnknownScope
from notbefore.core.kinds import EventType, Kind, Status
from notbefore.core.model import Scope, name_key
from notbefore.core.requests import DeclareScope, Maintain, OperateVm, RemoveScope
from notbefore.core.vm_operations import VM_OPERATIONS
from notbefore.event_loop import give_way
from notbefore.runtime.snapshot import VmRef
from notbefore.stores.codec import encode_scope

RELEASING_MAX = 1000
Operation = Annotated[
    str,
    Path(description="What to do to it.", examples=["restart"], json_schema_extra={"enum": list(VM_OPERATIONS)}),
]
Releasing = Annotated[
    list[str] | None,
    Query(
        max_length=RELEASING_MAX,
        description="Of a plan: leave the addresses of this scope aside, which will have released them by then.",
    ),
]

router = router_under("/v1/scopes", "scopes")


@router.get(
    "",
    summary="Every scope with its VMs and the settings in force",
    dependencies=[needs(Role.VIEWER)],
    responses=answered({200: "The scopes, by name"}, answers.Scopes, examples.SCOPES),
)
async def list_scopes(plane: Plane, caller: By) -> Any:
    views = map(plane.node.snapshot.view_by_key, plane.node.snapshot.keys())
    return listed("scopes", (shown(plane, view.scope) for view in views if view and caller.sees(view.scope.name)))


@router.get(
    "/{scope}",
    summary="One scope",
    dependencies=[needs(Role.VIEWER)],
    responses=answered({200: "The scope"}, answers.Scope, examples.SCOPE, "unknown_scope"),
)
async def read_scope(scope: ScopeName, plane: Plane) -> dict[str, Any]:
    view = plane.node.snapshot.view(scope)
    if view is None:
        raise UnknownScope(scope)
    return shown(plane, view.scope)


@router.put(
    "/{scope}",
    summary="Declare a scope: replaces the whole, idempotent; with plan only says what it would be",
    dependencies=[needs(Role.ADMIN)],
    responses=answered(
        {200: "It was there, or would be so", 201: "It is new"},
        answers.Scope,
        examples.SCOPE,
        "live_event",
        "address_taken",
        "scope_too_large",
    ),
)
async def put_scope(
    scope: ScopeName,
    body: ScopeBody,
    plane: Plane,
    caller: By,
    response: Response,
    *,
    force: Force = False,
    plan: Plan = False,
    releasing: Releasing = None,
) -> dict[str, Any]:
    """Events, incarnation and who asked stay. Moving a VM to another update domain or host under a live maintenance
    event is refused even when forced.
    """
    request = DeclareScope(
        scope=scope,
        request_id=plane.node.ids(),
        by=caller.actor,
        kind=word(Kind, body.kind, "kind"),
        settings=body.settings.settings(),
        vms=tuple(vm.vm(f"vms.{place}.") for place, vm in enumerate(body.vms)),
        with_state=frozenset(vm.name for vm in body.vms if vm.state),
        force=force,
    )
    if plan:
        decision = await plane.node.turns.preview(request)
        refuse_taken_addresses(plane, request, caller, releasing or ())
        encode_scope(decision.scope)  # refuses what no store would take
        return shown(plane, decision.scope)
    refuse_taken_addresses(plane, request, caller)
    is_new = plane.node.snapshot.view(scope) is None
    taken = await plane.node.turns.take(request)
    response.status_code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
    return shown(plane, taken.scope)


@router.delete(
    "/{scope}",
    summary="Remove a scope",
    status_code=status.HTTP_204_NO_CONTENT,
    dependencies=[needs(Role.ADMIN)],
    responses=answered(
        {204: "It is gone, or could be removed"}, None, None, "unknown_scope", "live_event", "scope_too_large"
    ),
)
async def delete_scope(
    scope: ScopeName, plane: Plane, by: Operator, *, force: Force = False, plan: Plan = False
) -> None:
    """Declared again later it goes on counting its incarnation."""
    request = RemoveScope(scope=scope, request_id=plane.node.ids(), by=by, force=force)
    if plan:
        await plane.node.turns.preview(request)
    else:
        await plane.node.turns.take(request)


@router.post(
    "/{scope}/vms/{vm}/{operation}",
    summary="restart, redeploy, freeze, evict or terminate a VM",
    status_code=202,
    dependencies=[needs(Role.OPERATOR)],
    responses=answered(
        {202: "The event: Scheduled, Queued, or Started already"},
        answers.Event,
        examples.EVENT,
        "unknown_scope",
        "unknown_vm",
        "vm_deallocated",
        "not_spot",
        "already_scheduled",
        "limit_reached",
        "too_early",
        "scope_too_large",
    ),
)
async def operate(
    scope: ScopeName, vm: VmName, operation: Operation, plane: Plane, by: Operator, body: OperationBody | None = None
) -> dict[str, Any]:
    """restart makes a Reboot, redeploy a Redeploy, freeze a Freeze, evict a Preempt, terminate a Terminate."""
    if operation not in VM_OPERATIONS:
        known = ", ".join(VM_OPERATIONS)
        raise Invalid(f"There is no operation {operation!r}.", f"It is one of: {known}.", {"operation": operation})
    wanted = body or OperationBody()
    taken = await plane.node.turns.take(
        OperateVm(
            scope=scope,
            request_id=plane.node.ids(),
            by=by,
            operation=operation,
            vm=vm,
            not_before_ms=wanted.not_before_ms(),
            duration_s=wanted.duration_s,
            description=wanted.description,
        )
    )
    return shown_events(plane, taken.scope, taken.answer.event_ids)[0]


@router.post(
    "/{scope}/maintenance",
    summary="Platform maintenance, one update domain at a time",
    status_code=202,
    dependencies=[needs(Role.OPERATOR)],
    responses=answered(
        {200: "The plan: what would be made; its ids are never used", 202: "What was made"},
        answers.Maintained,
        examples.MAINTAINED,
        "unknown_scope",
        "unknown_vm",
        "vm_deallocated",
        "already_scheduled",
        "too_early",
        "scope_too_large",
    ),
)
async def maintain(
    scope: ScopeName, body: MaintenanceBody, plane: Plane, by: Operator, response: Response
) -> dict[str, list[dict[str, Any]]]:
    """One event for each update domain, and for each host in it. The first domain's become visible now, the others are
    Queued. A VM has to be in each of `vms`, `update_domains` and `hosts` that is given; none given: the whole scope.
    """
    request = Maintain(
        scope=scope,
        request_id=plane.node.ids(),
        by=by,
        type=word(EventType, body.type, "type"),
        vms=tuple(body.vms),
        update_domains=tuple(body.update_domains),
        hosts=tuple(body.hosts),
        not_before_ms=body.not_before_ms(),
        duration_s=body.duration_s,
        description=body.description,
    )
    if body.plan:
        response.status_code = status.HTTP_200_OK
        decision = await plane.node.turns.preview(request)
        made = shown_events(plane, decision.scope, decision.answer.event_ids)
    else:
        taken = await plane.node.turns.take(request)
        made = shown_events(plane, taken.scope, taken.answer.event_ids)
    return {
        "events": [event for event in made if event["status"] != Status.QUEUED],
        "queued": [event for event in made if event["status"] == Status.QUEUED],
    }


def shown(plane: ControlPlane, scope: Scope) -> dict[str, Any]:
    return shown_scope(scope, plane.node.clock.now(), plane.node.asked)


def shown_events(plane: ControlPlane, scope: Scope, event_ids: tuple[str, ...]) -> list[dict[str, Any]]:
    found = [event for event_id in event_ids if (event := scope.event(event_id))]
    now = plane.node.witness.now(scope)
    shown = [live_event(scope, event, now) for event in found]
    give_way()
    return shown


def refuse_taken_addresses(
    plane: ControlPlane, request: DeclareScope, caller: Caller, releasing: Sequence[str] = ()
) -> None:
    """Refuse what can be seen: an address that a VM of another scope has already (SPEC §5)."""
    # Of scopes hidden from the caller nothing is left aside: the answer would tell whose the address is.
    left_aside = {name_key(request.scope), *(name_key(one) for one in releasing if caller.sees(one))}
    for vm in request.vms:
        for address in map(canonical_address, vm.addresses):
            for owner in plane.node.snapshot.owners_of(address):
                if owner.scope not in left_aside:
                    raise address_taken(address, vm.name, owner, caller)


def address_taken(address: str, vm: str, owner: VmRef, caller: Caller) -> AddressTaken:
    """Whose it is, unless that is hidden from the caller."""
    whose, facts = "another VM", {"address": address, "vm": vm}
    if caller.sees(owner.scope):
        whose, facts = f"a VM of scope '{owner.scope}'", {**facts, "scope": owner.scope, "owner": owner.vm}
    sentence = f"Address {address} of {vm} belongs to {whose} already."
    return AddressTaken(sentence, "Give each VM its own address.", facts)
