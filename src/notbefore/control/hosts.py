"""Hosts: declare, read, remove; their maintenance; and the word that one has failed.

Rule 1: a host is there when it is declared or a VM is on it.
Rule 2: a failure is told to each scope by itself: one that cannot take it keeps none of the others from theirs, and the
answer says which could not. To say it again does nothing to those that took it.
"""

from typing import Annotated, Any

from fastapi import Response, status
from pydantic import StrictStr

from notbefore.control import answers, examples, rollout_answers, rollout_examples
from notbefore.control.bodies import Body, one_of
from notbefore.control.long_lists import listed
from notbefore.control.openapi import answered
from notbefore.control.parameters import HostName
from notbefore.control.plane import ControlPlane, Operator, Plane
from notbefore.control.roles import Role, needs
from notbefore.control.rollout_bodies import HostMaintenanceBody, maintenance_type
from notbefore.control.rollout_shapes import shown_operation, shown_plan
from notbefore.control.router import router_under
from notbefore.control.shapes import counted_host, live_event, shown_host
from notbefore.core.errors import Refusal, UnknownScope
from notbefore.core.hosts import DEFAULT_EXECUTOR, EXECUTORS, checked_host
from notbefore.core.model import Actor
from notbefore.core.operation import Operation
from notbefore.core.operation_begin import maintenance_begun
from notbefore.core.requests import FailHost
from notbefore.core.vm_operations import MAINTENANCE_DESCRIPTION

router = router_under("/v1/hosts", "hosts")
VIEWER = needs(Role.VIEWER, fleet_wide=True)
OPERATOR = needs(Role.OPERATOR, fleet_wide=True)
ADMIN = needs(Role.ADMIN, fleet_wide=True)


class HostBody(Body, json_schema_extra={"examples": [examples.HOST_BODY]}):
    executor: Annotated[StrictStr, one_of(EXECUTORS, "Who carries out impacts there.")] = DEFAULT_EXECUTOR


@router.get(
    "",
    summary="Every host that is declared or has VMs on it",
    dependencies=[VIEWER],
    responses=answered({200: "The hosts, by name"}, answers.Hosts, examples.HOSTS),
)
async def list_hosts(plane: Plane) -> Any:
    return listed("hosts", map(counted_host, await plane.node.hosts.known()))


@router.get(
    "/{host}",
    summary="One host",
    dependencies=[VIEWER],
    responses=answered({200: "The host"}, answers.Host, examples.HOST, "unknown_host"),
)
async def read_host(host: HostName, plane: Plane) -> dict[str, Any]:
    return shown_host(await plane.node.hosts.one(host))


@router.put(
    "/{host}",
    summary="Declare a host: replaces the whole, idempotent",
    dependencies=[ADMIN],
    responses=answered(
        {200: "It was declared already", 201: "It is declared from now on"},
        answers.Host,
        examples.HOST,
        "limit_reached",
    ),
)
async def put_host(
    host: HostName, plane: Plane, by: Operator, response: Response, body: HostBody | None = None
) -> dict[str, Any]:
    wanted = checked_host(host, (body or HostBody()).executor)
    is_new = await plane.node.hosts.declare(wanted, by)
    response.status_code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
    return shown_host(await plane.node.hosts.one(host))


@router.delete(
    "/{host}",
    summary="Remove a host",
    status_code=status.HTTP_204_NO_CONTENT,
    dependencies=[ADMIN],
    responses=answered({204: "It is gone"}, None, None, "unknown_host", "host_in_use"),
)
async def delete_host(host: HostName, plane: Plane, by: Operator) -> None:
    await plane.node.hosts.remove(host, by)


@router.post(
    "/{host}/maintenance",
    summary="Platform maintenance of a host, over every scope that has VMs on it, wave by wave",
    status_code=202,
    dependencies=[OPERATOR],
    responses=answered(
        {200: "The plan: nothing was made", 202: "The operation"},
        rollout_answers.HostMaintenance,
        rollout_examples.HOST_MAINTENANCE,
        "unknown_host",
        "limit_reached",
        "too_early",
    ),
)
async def maintain_host(
    host: HostName, body: HostMaintenanceBody, plane: Plane, by: Operator, response: Response
) -> dict[str, Any]:
    """Each wave holds at most one update domain of each scope, with one common NotBefore. An approved event waits for
    the others of its wave; at the NotBefore all of them start.
    """
    known = await plane.node.hosts.one(host)
    scopes = plane.node.snapshot.scopes_on(host)
    begun = maintenance_begun(wished(known.host.name, body, plane, by), scopes, plane.node.witness.now_everywhere())
    if body.plan:
        response.status_code = status.HTTP_200_OK
        plan = await plane.planning.made(plane.node.operations.planning(begun.operation, plane.node.rollouts.expected))
        return {"plan": shown_plan(plan)}
    operation = await plane.node.operations.begin(begun)
    return {"operation": shown_operation(operation, scopes, plane.node.witness.now_everywhere())}


def wished(host: str, body: HostMaintenanceBody, plane: ControlPlane, by: Actor) -> Operation:
    return Operation(
        id=plane.node.ids(),
        type=maintenance_type(body.type),
        made_by=by,
        made_at_ms=plane.node.clock.now().wall_ms,
        host=host,
        description=MAINTENANCE_DESCRIPTION if body.description is None else body.description,
        duration_s=-1 if body.duration_s is None else body.duration_s,
        not_before_ms=body.not_before_ms(),
    )


@router.post(
    "/{host}/failed",
    summary="The host is gone: its VMs reboot now",
    status_code=202,
    dependencies=[OPERATOR],
    responses=answered(
        {202: "What was started, and who could not be told"},
        answers.HostFailure,
        examples.HOST_FAILURE,
        "unknown_host",
        "scope_too_large",
    ),
)
async def host_failed(host: HostName, plane: Plane, by: Operator) -> dict[str, Any]:
    """Without notice, in every scope that has running VMs on it. To repeat it does only what is left."""
    known = await plane.node.hosts.one(host)
    events: list[dict[str, Any]] = []
    refusals: dict[str, Refusal] = {}
    for scope in known.vms:
        try:
            events += await told(plane, scope, host, by)
        except UnknownScope:
            continue  # removed meanwhile, and its VMs with it
        except Refusal as refusal:
            refusals[scope] = refusal
    if refusals and len(refusals) == len(known.vms):
        raise next(iter(refusals.values()))
    not_done = [{"scope": scope, "code": one.code, "message": one.message} for scope, one in refusals.items()]
    return {"events": events, "not_done": not_done}


async def told(plane: ControlPlane, scope: str, host: str, by: Actor) -> list[dict[str, Any]]:
    request = FailHost(scope=scope, request_id=plane.node.ids(), by=by, host=host)
    taken = await plane.node.turns.take(request)
    now = plane.node.witness.now(taken.scope)
    found = [event for event_id in taken.answer.event_ids if (event := taken.scope.event(event_id))]
    return [live_event(taken.scope, event, now) for event in found]
