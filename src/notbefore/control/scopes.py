"""Scopes: declare, read, remove; and the operations on their VMs."""

from typing import Any

from fastapi import APIRouter, Response, status

from notbefore.control.bodies import MaintenanceBody, OperationBody, ScopeBody, word
from notbefore.control.plane import ControlPlane, Operator, Plane
from notbefore.control.shapes import live_event, shown_scope
from notbefore.core.declare import canonical_address
from notbefore.core.errors import AddressTaken, Invalid, UnknownScope
from notbefore.core.kinds import EventType, Kind, Status
from notbefore.core.model import Scope, name_key
from notbefore.core.operations import OPERATIONS
from notbefore.core.requests import DeclareScope, Maintain, OperateVm, RemoveScope

router = APIRouter(prefix="/v1/scopes", tags=["scopes"])


@router.get("", summary="Every scope with its VMs and the settings in force")
async def list_scopes(plane: Plane) -> dict[str, Any]:
    scopes = sorted(plane.node.snapshot.scopes(), key=lambda scope: scope.key)
    return {"scopes": [shown(plane, scope) for scope in scopes]}


@router.get("/{scope}", summary="One scope")
async def read_scope(scope: str, plane: Plane) -> dict[str, Any]:
    view = plane.node.snapshot.view(scope)
    if view is None:
        raise UnknownScope(scope)
    return shown(plane, view.scope)


@router.put("/{scope}", summary="Declare a scope: replaces the whole, idempotent")
async def put_scope(
    scope: str, body: ScopeBody, plane: Plane, by: Operator, response: Response, *, force: bool = False
) -> dict[str, Any]:
    request = DeclareScope(
        scope=scope,
        request_id=plane.node.ids(),
        by=by,
        kind=word(Kind, body.kind, "kind"),
        settings=body.settings.settings(),
        vms=tuple(vm.vm() for vm in body.vms),
        with_state=frozenset(vm.name for vm in body.vms if vm.state),
        force=force,
    )
    refuse_taken_addresses(plane, request)
    is_new = plane.node.snapshot.view(scope) is None
    taken = await plane.node.turns.take(request)
    response.status_code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
    return shown(plane, taken.scope)


@router.delete("/{scope}", summary="Remove a scope", status_code=status.HTTP_204_NO_CONTENT)
async def delete_scope(scope: str, plane: Plane, by: Operator, *, force: bool = False) -> None:
    await plane.node.turns.take(RemoveScope(scope=scope, request_id=plane.node.ids(), by=by, force=force))


@router.post(
    "/{scope}/vms/{vm}/{operation}", summary="restart, redeploy, freeze, evict or terminate a VM", status_code=202
)
async def operate(
    scope: str, vm: str, operation: str, plane: Plane, by: Operator, body: OperationBody | None = None
) -> dict[str, Any]:
    if operation not in OPERATIONS:
        known = ", ".join(OPERATIONS)
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


@router.post("/{scope}/maintenance", summary="Platform maintenance, one update domain at a time", status_code=202)
async def maintain(
    scope: str, body: MaintenanceBody, plane: Plane, by: Operator, response: Response
) -> dict[str, list[dict[str, Any]]]:
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
    return [live_event(scope, event, now) for event in found]


def refuse_taken_addresses(plane: ControlPlane, request: DeclareScope) -> None:
    """Refuse what can be seen: an address that a VM of another scope has already (SPEC §5)."""
    for vm in request.vms:
        for address in map(canonical_address, vm.addresses):
            for owner in plane.node.snapshot.owners_of(address):
                if owner.scope != name_key(request.scope):
                    raise AddressTaken(
                        f"Address {address} of {vm.name} belongs to a VM of scope '{owner.scope}' already.",
                        "Give each VM its own address.",
                        {"address": address, "scope": owner.scope, "vm": owner.vm},
                    )
