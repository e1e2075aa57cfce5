"""Faults that an emulator plays when it is told to: list, set, clear. Only where `serve` allows them.

Rule 1: VMs are found before anything is set; a name that several scopes have is refused, since it might mean either.
"""

from collections.abc import Iterator
from typing import Annotated

from fastapi import Path, Query, status
from pydantic import Field, StrictFloat, StrictInt, StrictStr

from notbefore.control import answers, examples
from notbefore.control.bodies import Body, one_of, told
from notbefore.control.openapi import answered
from notbefore.control.parameters import TEXT_MAX
from notbefore.control.plane import ControlPlane, Plane
from notbefore.control.roles import Role, needs
from notbefore.control.router import router_under
from notbefore.control.shapes import Json
from notbefore.core.errors import Invalid, Refusal, UnknownScope, UnknownVm
from notbefore.core.model import name_key
from notbefore.faults.book import FaultBook
from notbefore.faults.fault import (
    DELAY_MAX_S,
    KINDS,
    OPTION_MAX_S,
    SEED_MAX,
    SPAN_MAX_S,
    TIMES_MAX,
    VMS_MAX,
    Edge,
    Fault,
    On,
    Order,
    kind_named,
    no_faults_here,
)
from notbefore.runtime.snapshot import Snapshot

CANDIDATES_SHOWN_MAX = 10

FaultId = Annotated[str, Path(description="A fault's id.", examples=["f1"])]
OfKind = Annotated[str | None, Query(max_length=TEXT_MAX, description="Only those of this kind.", examples=["500"])]
Number = StrictInt | StrictFloat

router = router_under("/v1/faults", "faults")
admin = needs(Role.ADMIN, fleet_wide=True)


class FaultBody(Body, json_schema_extra={"examples": [examples.FAULT_BODY]}):
    """Seconds are for the kinds that take them."""

    kind: Annotated[StrictStr, one_of(KINDS, "What goes wrong.")]
    vms: Annotated[list[StrictStr], told("Names, or `scope/vm`; none: all.", maxItems=VMS_MAX)] = []
    times: Annotated[StrictInt | None, told("Until then; null: until it is cleared.", minimum=1, maximum=TIMES_MAX)] = (
        None
    )
    probability: Annotated[Number | None, told("Of each strike; null: always.", minimum=0, maximum=1)] = None
    seed: Annotated[
        StrictInt | None, told("What chance is drawn from; null: drawn too.", minimum=0, maximum=SEED_MAX)
    ] = None
    on: Annotated[StrictStr, one_of(On, "Which requests.")] | None = Field(default=None, description="null: any.")
    delay_s: Annotated[Number | None, told("Real seconds.", minimum=0, maximum=DELAY_MAX_S)] = None
    after_s: Annotated[Number | None, told("On the clock of events.", minimum=0, maximum=SPAN_MAX_S)] = None
    notice_s: Annotated[Number | None, told("On the clock of events.", minimum=0, maximum=SPAN_MAX_S)] = None
    duration_s: Annotated[Number | None, told("Whole seconds.", minimum=0, maximum=SPAN_MAX_S)] = None

    def order(self) -> Order:
        options = {name: getattr(self, name) for name in OPTION_MAX_S}
        return Order(self.kind, tuple(self.vms), self.times, self.probability, self.seed, self.on, options)


@router.get(
    "",
    summary="The faults that are set, spent ones included",
    dependencies=[needs(Role.VIEWER, fleet_wide=True)],
    responses=answered({200: "The faults"}, answers.Faults, examples.FAULTS, "not_allowed"),
)
async def list_faults(plane: Plane) -> dict[str, list[Json]]:
    return {"faults": [shown_fault(one) for one in book_of(plane).all()]}


@router.post(
    "",
    summary="Set a fault; it strikes from now on",
    status_code=status.HTTP_201_CREATED,
    dependencies=[admin],
    responses=answered(
        {201: "The fault"}, answers.Fault, examples.FAULT, "not_allowed", "unknown_vm", "unknown_scope", "limit_reached"
    ),
)
async def add_fault(body: FaultBody, plane: Plane) -> Json:
    """In memory alone: a server that is started anew has none."""
    snapshot = plane.node.snapshot
    fault = book_of(plane).add(body.order(), lambda vms: tuple(dict.fromkeys(full_name(snapshot, vm) for vm in vms)))
    return shown_fault(fault)


@router.delete(
    "",
    summary="Clear every fault, or those of a kind; each ends at once",
    dependencies=[admin],
    responses=answered({200: "How many"}, answers.ClearedFaults, examples.CLEARED_FAULTS, "not_allowed"),
)
async def clear_faults(plane: Plane, kind: OfKind = None) -> dict[str, int]:
    book = book_of(plane)
    return {"cleared": book.clear(None if kind is None else kind_named(kind).name)}


@router.delete(
    "/{fault_id}",
    summary="Clear one fault; it ends at once",
    dependencies=[admin],
    responses=answered(
        {200: "How many: one"}, answers.ClearedFaults, examples.CLEARED_FAULTS, "not_allowed", "unknown_fault"
    ),
)
async def clear_fault(fault_id: FaultId, plane: Plane) -> dict[str, int]:
    book_of(plane).clear_one(fault_id)
    return {"cleared": 1}


def book_of(plane: ControlPlane) -> FaultBook:
    if plane.faults is None:
        raise no_faults_here()
    return plane.faults


def shown_fault(fault: Fault) -> Json:
    return {
        "id": fault.id,
        "kind": fault.kind.name,
        "vms": list(fault.vms),
        "times": fault.times,
        "probability": fault.probability,
        "seed": fault.seed,
        "on": fault.on if fault.kind.edge is Edge.ANSWER else None,
        **{name: fault.options.get(name) for name in OPTION_MAX_S},
        "struck": fault.struck,
        "spent": fault.spent,
    }


class NowhereSuchVm(UnknownVm):
    """Said without a scope."""

    def __init__(self, vm: str) -> None:
        Refusal.__init__(self, f"No scope has a VM '{vm}'.", "`notbefore vms` lists them all.", {"vm": vm})


def full_name(snapshot: Snapshot, name: str) -> str:
    """As `scope/vm`, the way they were declared."""
    scope_name, slash, vm_name = name.partition("/")
    if slash:
        return _said_whole(snapshot, scope_name, vm_name)
    found = list(_named(snapshot, name))
    if len(found) > 1:
        raise Invalid(
            f"Several scopes have a VM '{name}': {', '.join(found[:CANDIDATES_SHOWN_MAX])}.",
            "Write scope/vm.",
            {"field": "vms", "vm": name, "candidates": found[:CANDIDATES_SHOWN_MAX]},
        )
    if not found:
        raise NowhereSuchVm(name)
    return found[0]


def _said_whole(snapshot: Snapshot, scope_name: str, vm_name: str) -> str:
    view = snapshot.view(scope_name)
    if view is None:
        raise UnknownScope(scope_name)
    vm = view.scope.vm(vm_name)
    if vm is None:
        raise UnknownVm(scope_name, vm_name)
    return f"{view.scope.name}/{vm.name}"


def _named(snapshot: Snapshot, name: str) -> Iterator[str]:
    for scope in snapshot.scopes():
        for vm in scope.vms:
            if name_key(vm.name) == name_key(name):
                yield f"{scope.name}/{vm.name}"
