"""Waiting in real time for something to become true, woken by the server's changes.

Rule 1: the condition is looked at in the thread, or on the loop, of whoever waits.
Rule 2: what only the server can make true is looked at when the server has changed; anything else also now and then.
Rule 3: a condition that would have to be awaited is refused where nobody awaits it: any coroutine counts as true.
"""

import inspect
from collections.abc import Callable
from typing import Any

from notbefore.clock import RealTime
from notbefore.core.errors import Invalid
from notbefore.testing.bell import Bell

LOOK_AGAIN_S = 0.02
REAL_TIME = RealTime()

Condition = Callable[[], Any]


def waited_for(met: Condition, bell: Bell, timeout_s: float, look_again_s: float = LOOK_AGAIN_S) -> Any:
    """What the condition came to: the first true value, or the last false one."""
    until_s = REAL_TIME.steady_s() + timeout_s
    while True:
        seen = bell.count
        value, left_s = looked_at(met), until_s - REAL_TIME.steady_s()
        if value or left_s <= 0:
            return value
        bell.wait(seen, min(left_s, look_again_s))


def looked_at(met: Condition) -> Any:
    """What a plain callable says now."""
    value = met()
    if inspect.iscoroutine(value):
        value.close()
    if inspect.isawaitable(value):
        raise Invalid("The condition is a coroutine function, which only wait_until_async awaits.")
    return value


async def waited_for_async(met: Condition, bell: Bell, timeout_s: float, look_again_s: float = LOOK_AGAIN_S) -> Any:
    """The same without blocking the loop; the condition may be a coroutine function."""
    until_s = REAL_TIME.steady_s() + timeout_s
    while True:
        seen = bell.count
        value = met()
        value = await value if inspect.isawaitable(value) else value
        left_s = until_s - REAL_TIME.steady_s()
        if value or left_s <= 0:
            return value
        await bell.wait_async(seen, min(left_s, look_again_s))
