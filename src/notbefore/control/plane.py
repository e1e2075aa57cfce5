"""What every route needs: the node it speaks for, who asks, and what this server allows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from notbefore.clock import ManualClock
from notbefore.core.model import Actor
from notbefore.runtime.node import Node


@dataclass(frozen=True, slots=True)
class ControlPlane:
    node: Node
    tokens: dict[str, str]
    """Secrets by the name of their token."""
    manual_clock: ManualClock | None
    is_ready: Callable[[], bool]


async def plane_of(request: Request) -> ControlPlane:
    return cast(ControlPlane, request.app.state.plane)


async def operator_of(request: Request) -> Actor:
    return cast(Actor, request.state.operator)


Plane = Annotated[ControlPlane, Depends(plane_of)]
Operator = Annotated[Actor, Depends(operator_of)]
