"""The client's clock in a hurry: what it waits between two questions passes a hundred times as fast.

So that an agent which retries, or asks once a second, costs a test no seconds. How long a socket waits stays real time.
"""

from notbefore.client.clock import SystemClock

HURRY = 100.0


class HurriedClock(SystemClock):
    """Implements: client.Clock."""

    def __init__(self, hurry: float = HURRY) -> None:
        self._hurry = hurry

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds / self._hurry)

    async def async_sleep(self, seconds: float) -> None:
        await super().async_sleep(seconds / self._hurry)
