"""Who is told of history in a simulated run: somebody who wants everything, or the starts of some scopes.

Rule 1: a receiver knows again what it has got; what it does when its way from a machine is unwell depends on the news:
some are not reached, some refused every time, of some the answer is lost, some only take longer.
Implements: ports.Notifier, one per process and target, all of one receiver.
"""

from collections.abc import Callable, Mapping
from random import Random

from notbefore.core.news import Gap, Interest, News
from notbefore.ports import NotTold
from notbefore.runtime.delivery import Patience, Target
from notbefore.simulation.scheduler import MS_US, SECOND_US, Scheduler
from notbefore.simulation.steps import NewsArrived, NewsRefused, Step
from notbefore.simulation.trouble import Trouble

QUICK_US = (1 * MS_US, 50 * MS_US)
SLOW_US = (1 * SECOND_US, 20 * SECOND_US)
INTERESTS: Mapping[str, Interest] = {"everything": Interest(), "starts": Interest(("B*", "m*"), ("started",))}
WAYS = ("away", "refused", "lost", "slow")


class Receivers:
    def __init__(self, seed: str, scheduler: Scheduler, tell: Callable[[Step], None]) -> None:
        # One of them in each run: two would cost twice as much, and each is told for itself.
        self._name = Random(f"{seed}/receivers").choice(tuple(INTERESTS))
        self._scheduler = scheduler
        self._tell = tell
        self._known: set[tuple[str, str]] = set()

    def targets_for(self, process: str, suffers: Callable[[Trouble], bool], chance: Random) -> list[Target]:
        way = WayTo(self._name, process, self, suffers, chance)
        return [Target(self._name, way, INTERESTS[self._name], Patience())]

    async def take(self, process: str, target: str, news: News | Gap, for_us: int) -> None:
        await self._scheduler.sleep(for_us)
        again = (target, news.id) in self._known
        self._known.add((target, news.id))
        self._tell(NewsArrived(self._scheduler.now_us, process, target, news, again))

    async def refuse(self, process: str, target: str, news: News | Gap, for_us: int) -> None:
        await self._scheduler.sleep(for_us)
        self._tell(NewsRefused(self._scheduler.now_us, process, target, news))


class WayTo:
    def __init__(
        self, target: str, process: str, receivers: Receivers, suffers: Callable[[Trouble], bool], chance: Random
    ) -> None:
        self._target = target
        self._process = process
        self._receivers = receivers
        self._suffers = suffers
        self._chance = chance

    async def tell(self, news: News | Gap) -> None:
        unwell = self._suffers(Trouble.RECEIVER_AWAY) and self._chance.random() < 0.9
        way = WAYS[int(news.id[:8], 16) % len(WAYS)] if unwell else ""
        for_us = self._chance.randrange(*(SLOW_US if way == "slow" else QUICK_US))
        if way == "away":
            raise NotTold("nobody is there", retry_after_s=self._chance.choice((0.0, 0.0, 30.0)))
        if way == "refused":
            await self._receivers.refuse(self._process, self._target, news, for_us)
            raise NotTold("not wanted", refused=True)
        await self._receivers.take(self._process, self._target, news, for_us)
        if way == "lost":
            raise NotTold("no answer")

    def close(self) -> None:
        """Nothing is held."""
