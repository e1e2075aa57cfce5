"""Operations: host maintenance over every scope that has VMs on the host (SPEC §3.4); list, read, cancel.

Rule 1: they show every scope by name, so they are for tokens of the whole fleet.
Rule 2: a wave of a rollout is an operation too, and the rollout's to cancel: it would begin it anew.
Not here: the maintenance that makes one (hosts.py).
"""

from typing import Annotated, Any

from fastapi import Query

from notbefore.control import rollout_answers as answers
from notbefore.control import rollout_examples as examples
from notbefore.control.bodies import word
from notbefore.control.openapi import answered
from notbefore.control.parameters import OperationId
from notbefore.control.plane import ControlPlane, Operator, Plane
from notbefore.control.roles import Role, needs
from notbefore.control.rollout_shapes import shown_operation
from notbefore.control.router import router_under
from notbefore.core.errors import NotAllowed, UnknownOperation, WrongStatus
from notbefore.core.operation import Operation, OperationStatus

LIVE = "live"
VIEWER = needs(Role.VIEWER, fleet_wide=True)
OPERATOR = needs(Role.OPERATOR, fleet_wide=True)
OfStatus = Annotated[
    str | None,
    Query(
        description="Only these; `live` are those that are not over.",
        json_schema_extra={"enum": [LIVE, *OperationStatus]},
    ),
]

router = router_under("/v1/operations", "operations")


@router.get(
    "",
    summary="Operations: those that go on, and the newest of those that ended",
    dependencies=[VIEWER],
    responses=answered({200: "The operations"}, answers.Operations, examples.OPERATIONS),
)
async def list_operations(plane: Plane, status: OfStatus = None) -> dict[str, Any]:
    book = plane.node.operations.book
    if status == LIVE:
        found = [one for one in book.all() if not one.is_over]
    else:
        wanted = word(OperationStatus, status, "status") if status is not None else None
        found = [one for one in book.all() if wanted in (None, one.status)]
    return {"operations": [shown(plane, one) for one in found]}


@router.get(
    "/{operation_id}",
    summary="One operation",
    dependencies=[VIEWER],
    responses=answered({200: "The operation"}, answers.Operation, examples.OPERATION, "unknown_operation"),
)
async def read_operation(operation_id: OperationId, plane: Plane) -> dict[str, Any]:
    return shown(plane, operation_there(plane, operation_id))


@router.post(
    "/{operation_id}/cancel",
    summary="Cancel an operation as a whole: what has not started is withdrawn",
    dependencies=[OPERATOR],
    responses=answered(
        {200: "The operation as it is afterwards"},
        answers.Operation,
        examples.CANCELLED_OPERATION,
        "unknown_operation",
        "wrong_status",
        "not_allowed",
    ),
)
async def cancel_operation(operation_id: OperationId, plane: Plane, by: Operator) -> dict[str, Any]:
    """What has started is waited for. To say it again changes nothing."""
    there = operation_there(plane, operation_id)
    if there.is_over:
        raise WrongStatus(there.id, there.status, "cancelled", "operation")
    if there.rollout:
        raise NotAllowed(
            f"Operation {there.id} is a wave of rollout {there.rollout}, which would only begin it anew.",
            f"`notbefore rollouts cancel {there.rollout}`, or `notbefore cancel EVENT` for one of its events.",
            {"operation": there.id, "rollout": there.rollout},
        )
    return shown(plane, await plane.node.operations.cancel(there.id, by, f"cancelled by {by}"))


def operation_there(plane: ControlPlane, operation_id: str) -> Operation:
    found = plane.node.operations.book.get(operation_id)
    if found is None:
        raise UnknownOperation(operation_id)
    return found


def shown(plane: ControlPlane, operation: Operation) -> dict[str, Any]:
    return shown_operation(operation, plane.node.snapshot.by_key, plane.node.witness.now_everywhere())
