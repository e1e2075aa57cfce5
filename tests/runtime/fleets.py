"""Fleets of several scopes and hosts, and the operations and rollouts over them, for the runtime's tests."""

from uuid import uuid4

from nodes import OPERATOR

from notbefore.core.kinds import EventType
from notbefore.core.model import Vm
from notbefore.core.operation import Operation
from notbefore.core.operation_begin import begun
from notbefore.core.rollout import Limits, Over, Rollout


def vm(name, host="h1", domain=0):
    return Vm(name, update_domain=domain, host=host)


async def maintain_host(node, host="h1", event_type=EventType.REBOOT, **wishes):
    """As POST /v1/hosts/{host}/maintenance would."""
    wished = Operation(
        id=str(uuid4()),
        type=event_type,
        made_by=OPERATOR,
        made_at_ms=node.clock.now().wall_ms,
        host=host,
        description="Host server is undergoing maintenance.",
        **wishes,
    )
    operation = await node.node.operations.begin(begun(wished, node.node.snapshot.by_key))
    await node.tasks.settled()
    return operation.id


async def roll_out(node, names, over=Over.HOSTS, event_type=EventType.REBOOT, limits=None):
    rollout = Rollout(
        id=str(uuid4()),
        type=event_type,
        over=over,
        made_by=OPERATOR,
        made_at_ms=node.clock.now().wall_ms,
        limits=limits or Limits(max_hosts=1),
        waiting=tuple(names),
    )
    plan = node.node.rollouts.plan(rollout)
    await node.node.rollouts.begin(rollout, OPERATOR)
    await node.tasks.settled()
    return rollout.id, plan


def live_events(node, scope):
    return node.node.snapshot.view(scope).scope.events
