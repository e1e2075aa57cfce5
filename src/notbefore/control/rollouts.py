"""Rollouts: maintenance of many hosts or scopes within limits (SPEC §3.4); begin, plan, read, pause, resume, cancel.

Rule 1: a rollout is begun with its plan, and refused when it would never come to its end.
Rule 2: a plan changes nothing.
"""

import asyncio
from typing import Annotated, Any

from fastapi import Path, Query, Response, status

from notbefore.control import rollout_answers as answers
from notbefore.control import rollout_examples as examples
from notbefore.control.bodies import word
from notbefore.control.openapi import answered
from notbefore.control.parameters import RolloutId
from notbefore.control.plane import ControlPlane, Operator, Plane
from notbefore.control.roles import Role, needs
from notbefore.control.rollout_bodies import RolloutBody, maintenance_type
from notbefore.control.rollout_shapes import shown_plan, shown_rollout
from notbefore.control.router import router_under
from notbefore.core.errors import Invalid, UnknownRollout
from notbefore.core.model import Actor
from notbefore.core.rollout import Over, Rollout, RolloutStatus
from notbefore.core.rollout_plan import Plan
from notbefore.core.rollout_targets import chosen_targets
from notbefore.core.vm_operations import MAINTENANCE_DESCRIPTION

LIVE = "live"
ACTIONS = ("pause", "resume", "cancel")
VIEWER = needs(Role.VIEWER, fleet_wide=True)
OPERATOR = needs(Role.OPERATOR, fleet_wide=True)
Action = Annotated[
    str,
    Path(description="What to say to it.", examples=["pause"], json_schema_extra={"enum": list(ACTIONS)}),
]
OfStatus = Annotated[
    str | None,
    Query(
        description="Only these; `live` are those that are not over.",
        json_schema_extra={"enum": [LIVE, *RolloutStatus]},
    ),
]

router = router_under("/v1/rollouts", "rollouts")


@router.get(
    "",
    summary="Rollouts: those that go on, and the newest of those that ended",
    dependencies=[VIEWER],
    responses=answered({200: "The rollouts"}, answers.Rollouts, examples.ROLLOUTS),
)
async def list_rollouts(plane: Plane, status: OfStatus = None) -> dict[str, Any]:
    book = plane.node.rollouts.book
    if status == LIVE:
        found = [one for one in book.all() if not one.is_over]
    else:
        wanted = word(RolloutStatus, status, "status") if status is not None else None
        found = [one for one in book.all() if wanted in (None, one.status)]
    return {"rollouts": [shown(plane, one) for one in found]}


@router.get(
    "/{rollout_id}",
    summary="One rollout",
    dependencies=[VIEWER],
    responses=answered({200: "The rollout"}, answers.Rollout, examples.ROLLOUT, "unknown_rollout"),
)
async def read_rollout(rollout_id: RolloutId, plane: Plane) -> dict[str, Any]:
    return shown(plane, rollout_there(plane, rollout_id))


@router.get(
    "/{rollout_id}/plan",
    summary="From here to its end, when nobody approves and nothing fails",
    dependencies=[VIEWER],
    responses=answered({200: "The plan"}, answers.Planned, examples.PLANNED, "unknown_rollout", "limit_reached"),
)
async def read_plan(rollout_id: RolloutId, plane: Plane) -> dict[str, Any]:
    """One that is paused or halted is planned as if it were resumed now."""
    return {"plan": shown_plan(await planned(plane, rollout_there(plane, rollout_id)))}


@router.post(
    "",
    summary="Begin a rollout; with plan only say what would happen",
    status_code=202,
    dependencies=[OPERATOR],
    responses=answered(
        {200: "The plan alone: nothing was begun", 202: "The rollout, and its plan"},
        answers.BegunRollout,
        examples.BEGUN_ROLLOUT,
        "limit_reached",
    ),
)
async def begin_rollout(body: RolloutBody, plane: Plane, by: Operator, response: Response) -> dict[str, Any]:
    """Its targets are taken in hand one after the other, and touched in waves: of each scope one update domain at a
    time, announced with one common NotBefore. Where no limit says how much at once, it is one host, or one scope.
    """
    rollout = await wished(body, plane, by)
    plan = await planned(plane, rollout)
    if body.plan:
        response.status_code = status.HTTP_200_OK
        return {"plan": shown_plan(plan)}
    if plan.is_stuck:
        raise Invalid(
            f"This rollout would never come to its end: {plan.stuck}.",
            "Give it longer windows, or a shorter duration_s.",
            {"field": "limits.windows"},
        )
    begun = await plane.node.rollouts.begin(rollout, by)
    return {"rollout": shown(plane, begun), "plan": shown_plan(plan)}


@router.post(
    "/{rollout_id}/{action}",
    summary="pause, resume or cancel a rollout",
    dependencies=[OPERATOR],
    responses=answered(
        {200: "The rollout as it is afterwards"},
        answers.Rollout,
        examples.PAUSED_ROLLOUT,
        "unknown_rollout",
        "wrong_status",
    ),
)
async def say_to_rollout(rollout_id: RolloutId, action: Action, plane: Plane, by: Operator) -> dict[str, Any]:
    """`pause`, while Running: nothing new is begun, what is announced goes on. `resume`, while Paused or Halted: on
    from where it was; failures so far halt it no more. `cancel`: what has not started is withdrawn, what has is waited
    for.
    """
    rollouts = plane.node.rollouts
    words = {"pause": rollouts.pause, "resume": rollouts.resume, "cancel": rollouts.cancel}
    if action not in words:
        raise Invalid(f"There is no action {action!r}.", f"It is one of: {', '.join(ACTIONS)}.", {"action": action})
    return shown(plane, await words[action](rollout_id, by))


async def wished(body: RolloutBody, plane: ControlPlane, by: Actor) -> Rollout:
    """As it would be begun now."""
    event_type, chosen = maintenance_type(body.type), body.chosen()
    limits = body.limits.limits(chosen.over)
    hosts = [host.name for host in await plane.node.hosts.declared()] if chosen.over is Over.HOSTS else []
    return Rollout(
        id=plane.node.ids(),
        type=event_type,
        over=chosen.over,
        made_by=by,
        made_at_ms=plane.node.clock.now().wall_ms,
        limits=limits,
        description=MAINTENANCE_DESCRIPTION if body.description is None else body.description,
        duration_s=-1 if body.duration_s is None else body.duration_s,
        # Aside: it looks at every VM there is.
        waiting=await asyncio.to_thread(chosen_targets, chosen, dict(plane.node.snapshot.by_key), hosts),
    )


async def planned(plane: ControlPlane, rollout: Rollout) -> Plan:
    return await plane.planning.made(plane.node.rollouts.planning(rollout))


def rollout_there(plane: ControlPlane, rollout_id: str) -> Rollout:
    found = plane.node.rollouts.book.get(rollout_id)
    if found is None:
        raise UnknownRollout(rollout_id)
    return found


def shown(plane: ControlPlane, rollout: Rollout) -> dict[str, Any]:
    return shown_rollout(rollout, plane.node.rollouts.fleet(rollout), plane.node.witness.now_everywhere())
