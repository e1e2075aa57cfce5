"""What the data plane needs of the node behind it: the one of this process, or a worker's way to its parent's.

Rule 1: a snapshot to answer from; everything that changes anything is asked for, and may refuse.
"""

from collections.abc import Callable
from typing import Protocol

from notbefore.core.requests import ApproveEvents
from notbefore.ports import Clock
from notbefore.runtime.snapshot import Snapshot, View, VmRef


class Hears(Protocol):
    @property
    def asked_of(self) -> Callable[[str], dict[str, int] | None]:
        """When VMs of a scope asked, until that is taken along; None: none of them was heard since."""
        ...

    def enables(self, view: View, now_ms: int) -> bool:
        """Whether a question now has to be committed before its answer."""
        ...

    def heard(self, ref: VmRef, view: View, now_ms: int) -> None: ...

    async def enable(self, ref: VmRef, view: View) -> None: ...


class TakesTurns(Protocol):
    async def take(self, request: ApproveEvents) -> object: ...


class NodeFace(Protocol):
    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def hearing(self) -> Hears: ...

    @property
    def turns(self) -> TakesTurns: ...

    def ids(self) -> str: ...
