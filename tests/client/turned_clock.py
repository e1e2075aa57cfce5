"""A clock for the client that passes as soon as somebody waits on it. Standard library only."""

import asyncio


class TurnedClock:
    """Waiting moves it; nothing else does. Chance is always the middle."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.slept: list[float] = []

    def steady_s(self) -> float:
        return self.now_s

    def wall_s(self) -> float:
        return 1_700_000_000.0 + self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds

    async def async_sleep(self, seconds: float) -> None:
        self.sleep(seconds)
        await asyncio.sleep(0)

    def chance(self) -> float:
        return 0.5
