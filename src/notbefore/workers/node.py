"""What a worker has in the node's place: a snapshot to read, and the parent for everything else.

Rule 1: the data plane cannot tell it from a node (metadata/node_face.py).
Rule 2: hearing that a VM asked is one entry in a dict; the parent gets them together.
"""

from collections.abc import Callable, Iterator
from uuid import uuid4

from notbefore.core.listening import LISTENS_FOR_MS
from notbefore.core.requests import ApproveEvents
from notbefore.ports import Clock
from notbefore.runtime.snapshot import Snapshot, View, VmRef
from notbefore.workers.frames import HEARD_PER_FRAME_MAX
from notbefore.workers.post import Post

Heard = dict[str, dict[str, int]]


class WorkerNode:
    def __init__(self, snapshot: Snapshot, clock: Clock, post: Post) -> None:
        self.snapshot = snapshot
        self.clock = clock
        self.hearing = WorkerHearing(post)
        self.turns = WorkerTurns(post)

    def ids(self) -> str:
        return str(uuid4())


class WorkerTurns:
    def __init__(self, post: Post) -> None:
        self._post = post

    async def take(self, request: ApproveEvents) -> None:
        await self._post.approve(request.scope, request.by.name, request.request_id, request.event_ids)


class WorkerHearing:
    def __init__(self, post: Post) -> None:
        self._post = post
        self._heard: Heard = {}
        self.asked_of: Callable[[str], dict[str, int] | None] = self._heard.get

    def enables(self, view: View, now_ms: int) -> bool:
        return now_ms - view.newest_asked_ms > LISTENS_FOR_MS

    def heard(self, ref: VmRef, view: View, now_ms: int) -> None:  # noqa: ARG002  the parent looks at its own
        self._heard.setdefault(ref.scope, {})[ref.vm] = now_ms

    async def enable(self, ref: VmRef, view: View) -> None:  # noqa: ARG002  likewise
        await self._post.enable(ref.scope, ref.vm)

    def taken(self) -> Iterator[Heard]:
        """Who was heard since the last time, in parts that fit a frame; at least one part."""
        heard = self._heard.copy()
        self._heard.clear()
        part: Heard = {}
        vms = ((scope, vm, at_ms) for scope, asked_ms in heard.items() for vm, at_ms in asked_ms.items())
        for count, (scope, vm, at_ms) in enumerate(vms, 1):
            part.setdefault(scope, {})[vm] = at_ms
            if count % HEARD_PER_FRAME_MAX == 0:
                yield part
                part = {}
        yield part

    @property
    def has_heard(self) -> bool:
        return bool(self._heard)
