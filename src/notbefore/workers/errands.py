"""What workers may not do themselves, done for them on the parent's node.

Rule 1: answered after the commit, and after every worker has seen it: whoever is told finds it wherever it asks next.
Rule 2: a refusal goes back whole, so that the worker's answer to its VM is that of one process, byte for byte.
Rule 3: what a worker asked for is done to its end, also when the worker is gone meanwhile.
Rule 4: *asked* is taken as the newest of each VM, and never as later than now.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping

from notbefore.core.errors import Refusal, UnknownScope
from notbefore.core.model import Actor, ActorKind
from notbefore.core.requests import ApproveEvents
from notbefore.runtime.node import Node
from notbefore.runtime.snapshot import VmRef
from notbefore.workers.frames import Answered, Approve, Broke, Enable, Refused, as_bytes, as_said
from notbefore.workers.steps import Steps

Errand = Approve | Enable
Answer = Callable[[Answered | Broke], None]

log = logging.getLogger("notbefore.workers")


class Errands:
    def __init__(self, node: Node, steps: Steps) -> None:
        self._node = node
        self._steps = steps
        self._under_way: set[asyncio.Task[None]] = set()

    def begin(self, errand: Errand, answer: Answer) -> None:
        task = asyncio.get_running_loop().create_task(self._run(errand, answer), name="errand of a worker")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def ended(self) -> None:
        await asyncio.gather(*self._under_way)

    def hear(self, heard: Mapping[str, Mapping[str, int]]) -> None:
        now_ms = self._node.clock.now().wall_ms
        for scope, vms in heard.items():
            view = self._node.snapshot.view_by_key(scope)
            if view is None:
                continue
            known = self._node.asked.unsaved(scope)
            for vm, at_ms in vms.items():
                if known.get(vm, 0) < at_ms:
                    self._node.hearing.heard(VmRef(scope, vm), view, min(at_ms, now_ms))

    async def _run(self, errand: Errand, answer: Answer) -> None:
        try:
            refused = await self._refused(errand)
        except Exception:  # whatever it is, the worker's VM is not to wait for ever
            log.exception("broke down over what a worker asked for")
            answer(Broke(errand.number))
            return
        await self._steps.everybody()
        answer(Answered(errand.number, refused))

    async def _refused(self, errand: Errand) -> Refused | None:
        try:
            await self._carry_out(errand)
        except Refusal as refusal:
            facts = json.dumps(refusal.facts, default=str)
            return Refused(refusal.code, as_bytes(refusal.message), as_bytes(refusal.hint), facts)
        return None

    async def _carry_out(self, errand: Errand) -> None:
        if isinstance(errand, Approve):
            by = Actor(ActorKind.VM, errand.vm)
            scope, ids = errand.scope, tuple(as_said(one) for one in errand.event_ids)
            await self._node.turns.take(ApproveEvents(scope=scope, request_id=errand.request_id, by=by, event_ids=ids))
            return
        view = self._node.snapshot.view_by_key(errand.scope)
        if view is None:
            raise UnknownScope(errand.scope)
        await self._node.hearing.enable(VmRef(errand.scope, errand.vm), view)
