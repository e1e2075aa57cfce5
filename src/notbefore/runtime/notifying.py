"""Everybody who is told of history: one delivery for each, so that no target waits for another.

Rule 1: a target that is new begins before anything is served; one that is gone leaves its cursor to other nodes.
Called by: wiring.py at the start and at a reload, the simulator; the metrics look at `deliveries`.
"""

from collections.abc import Callable, Sequence

from notbefore.ports import Clock, Store, Tasks
from notbefore.runtime.delivery import Delivery, Target
from notbefore.runtime.snapshot import Snapshot


class Notifying:
    def __init__(
        self,
        node: str,
        store: Store,
        snapshot: Snapshot,
        clock: Clock,
        tasks: Tasks,
        chance: Callable[[], float],
    ) -> None:
        self._node = node
        self._store = store
        self._clock = clock
        self._tasks = tasks
        self._chance = chance
        self.deliveries: dict[str, Delivery] = {}
        snapshot.on_any_change(self._look)

    async def start(self, targets: Sequence[Target]) -> None:
        for target in targets:
            await self._add(target).begin()
        for name, delivery in self.deliveries.items():
            self._tasks.spawn_aside(f"notify {name}", delivery.run())

    def change(self, targets: Sequence[Target]) -> None:
        """Other settings: the same target goes on where it was, by its new way."""
        wanted = {target.name: target for target in targets}
        for name in [name for name in self.deliveries if name not in wanted]:
            self.deliveries.pop(name).end()
        for name, target in wanted.items():
            if known := self.deliveries.get(name):
                known.change(target)
            else:
                self._tasks.spawn_aside(f"notify {name}", self._add(target).run())

    def _add(self, target: Target) -> Delivery:
        made = Delivery(self._node, target, self._store, self._clock, self._tasks, self._chance)
        self.deliveries[target.name] = made
        return made

    async def _look(self) -> None:
        for delivery in self.deliveries.values():
            delivery.look()
