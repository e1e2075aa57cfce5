"""Plans made beside the event loop, one at a time: a plan over thousands of hosts takes seconds of work.

Rule 1: what is planned was copied before; a plan sees the fleet as it was when it was asked for.
Rule 2: so many wait for their plan, and no more.
"""

import asyncio
from collections.abc import Callable

from notbefore.core.errors import LimitReached
from notbefore.core.rollout_plan import Plan

PLANS_WAITING_MAX = 8


class Planning:
    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._waiting = 0

    async def made(self, plan: Callable[[], Plan]) -> Plan:
        if self._waiting >= PLANS_WAITING_MAX:
            raise LimitReached(
                f"{PLANS_WAITING_MAX} plans are being made, and no more may be.",
                "Try again in a few seconds.",
                {"limit": PLANS_WAITING_MAX},
            )
        self._waiting += 1
        try:
            async with self._one_at_a_time:
                return await asyncio.to_thread(plan)
        finally:
            self._waiting -= 1
