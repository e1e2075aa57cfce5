"""A node: one process's share of the work on a store. Builds the runtime from its ports and starts it.

Called by: wiring.py, the simulator, `notbefore.testing`.
"""

from notbefore.ports import Clock, Encodings, Executor, Ids, Store, Tasks
from notbefore.runtime.asked import Asked
from notbefore.runtime.book import Book
from notbefore.runtime.hearing import Hearing
from notbefore.runtime.hosts import Hosts
from notbefore.runtime.operations import KIND as OPERATION
from notbefore.runtime.operations import Operations
from notbefore.runtime.outbox import Outbox
from notbefore.runtime.rollouts import KIND as ROLLOUT
from notbefore.runtime.rollouts import Rollouts
from notbefore.runtime.snapshot import Snapshot
from notbefore.runtime.timer import Timer
from notbefore.runtime.turn import Turns
from notbefore.runtime.witness import Witness


class Node:
    def __init__(
        self, name: str, store: Store, executor: Executor, clock: Clock, tasks: Tasks, ids: Ids, encodings: Encodings
    ) -> None:
        self.name = name
        self.store = store
        self.clock = clock
        self.ids = ids
        self._tasks = tasks
        asked = Asked()
        self.snapshot = Snapshot(store, clock)
        self.snapshot.subscribe(asked.forget_saved)
        self.witness = Witness(self.snapshot, clock)
        self.turns = Turns(name, store, self.witness, tasks, self.snapshot, asked)
        self.hearing = Hearing(self.turns, self.snapshot, asked, clock, tasks, ids)
        self.asked = asked
        self.hosts = Hosts(store, self.snapshot, clock, ids)
        operations = Book(OPERATION, store, encodings.operations, clock, tasks, ids)
        self.operations = Operations(operations, self.turns, self.snapshot, self.witness, store, clock, tasks)
        rollouts = Book(ROLLOUT, store, encodings.rollouts, clock, tasks, ids)
        self.rollouts = Rollouts(rollouts, self.operations, self.snapshot, self.witness, clock, tasks)
        self._timer = Timer(self.turns, self.snapshot, self.witness, clock, tasks, ids)
        self._outbox = Outbox(name, self.turns, self.snapshot, store, executor, clock, tasks, ids)

    def impacts_in_hand(self) -> int:
        return self._outbox.in_hand()

    async def start(self) -> None:
        """Load what is there, then let time and effects flow."""
        await self.snapshot.load()
        for book in (self.operations.book, self.rollouts.book):
            await book.look()
            self.snapshot.on_any_change(book.look)
        self._tasks.spawn_aside("follow the store", self.snapshot.follow())
        self._tasks.spawn("timer", self._timer.run())
        self._tasks.spawn("outbox", self._outbox.run())
        self._tasks.spawn("operations", self.operations.run())
        self._tasks.spawn("rollouts", self.rollouts.run())
