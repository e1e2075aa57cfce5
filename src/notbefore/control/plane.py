"""What every route needs: the node it speaks for, who asks, and what this server allows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Protocol, cast

from fastapi import Depends, Request

from notbefore.clock import ManualClock
from notbefore.control.metrics.page import Metrics
from notbefore.control.planning import Planning
from notbefore.control.streams import Streams
from notbefore.control.token_book import TokenBook
from notbefore.core.model import Actor
from notbefore.event_loop import give_way
from notbefore.faults.book import FaultBook
from notbefore.runtime.node import Node


class Workers(Protocol):
    async def heard(self) -> None:
        """Return when what was asked and counted anywhere is known here, or somebody took too long."""
        ...

    async def in_step(self) -> None:
        """Return when all have seen what is now, or somebody took too long."""
        ...


@dataclass(frozen=True, slots=True)
class ControlPlane:
    node: Node
    tokens: TokenBook
    manual_clock: ManualClock | None
    is_ready: Callable[[], bool]
    streams: Streams
    keep_days: int = 0
    """How long history is kept; 0 is for ever."""
    metrics: Metrics = field(default_factory=Metrics)
    planning: Planning = field(default_factory=Planning)
    faults: FaultBook | None = None
    """Where they are allowed."""
    workers: Workers | None = None
    """Other processes that answer VMs."""


async def plane_of(request: Request) -> ControlPlane:
    give_way()
    return cast(ControlPlane, request.app.state.plane)


async def operator_of(request: Request) -> Actor:
    """The token's name stands in history beside what was done with it."""
    give_way()
    return cast(Actor, request.state.caller.actor)


Plane = Annotated[ControlPlane, Depends(plane_of)]
Operator = Annotated[Actor, Depends(operator_of)]
