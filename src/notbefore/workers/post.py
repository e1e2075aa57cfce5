"""A worker's word to its parent, and the answer to it.

Rule 1: what is asked is bounded in number; beyond, it is refused as a store that is away refuses.
Rule 2: a refusal is raised as the class it was in the parent.
"""

import asyncio
import json
from collections.abc import Callable
from itertools import count

from notbefore.core.errors import REFUSALS, Refusal, StoreUnavailable
from notbefore.workers.frames import (
    ASKED_IN_FLIGHT_MAX,
    Answered,
    Approve,
    Broke,
    Enable,
    Frame,
    Refused,
    as_bytes,
    as_said,
)


class Post:
    def __init__(self, send: Callable[[Frame], None]) -> None:
        self._send = send
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[None]] = {}

    async def approve(self, scope: str, vm: str, request_id: str, event_ids: tuple[str, ...]) -> None:
        ids = tuple(as_bytes(one) for one in event_ids)
        await self._asked(Approve(next(self._numbers), scope, vm, request_id, ids))

    async def enable(self, scope: str, vm: str) -> None:
        await self._asked(Enable(next(self._numbers), scope, vm))

    def answered(self, answer: Answered | Broke) -> None:
        waiter = self._waiting.pop(answer.number, None)
        if waiter is None or waiter.done():
            return
        if isinstance(answer, Broke):
            waiter.set_exception(RuntimeError("The parent broke down over what was asked; its log says how."))
        elif answer.refused:
            waiter.set_exception(refusal_of(answer.refused))
        else:
            waiter.set_result(None)

    async def _asked(self, errand: Approve | Enable) -> None:
        if len(self._waiting) >= ASKED_IN_FLIGHT_MAX:
            raise StoreUnavailable("Too much waits for the store.", "Ask again.", {"limit": ASKED_IN_FLIGHT_MAX})
        answered = self._waiting[errand.number] = asyncio.get_running_loop().create_future()
        try:
            self._send(errand)
            await answered
        finally:
            self._waiting.pop(errand.number, None)


def refusal_of(refused: Refused) -> Refusal:
    """Classes with a message of their own are made without writing it anew."""
    kind = REFUSALS.get(refused.code, Refusal)
    refusal = kind.__new__(kind)
    Refusal.__init__(refusal, as_said(refused.message), as_said(refused.hint), json.loads(refused.facts))
    return refusal
