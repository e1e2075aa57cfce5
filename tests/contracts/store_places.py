"""The stores under contract, and how each is opened: by this process or by a child of it.

A third party's store joins by one more row in OPENERS and, in conftest.py, a place to put it.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from notbefore.clock import SystemClock
from notbefore.control.metrics.measured_store import MeasuredStore
from notbefore.control.metrics.meters import Meters
from notbefore.ports import Store
from notbefore.stores.sqlite import SqliteStore


async def open_sqlite(where: str, node: str) -> Store:
    return await SqliteStore.open(Path(where), node)


async def open_measured(where: str, node: str) -> Store:
    """As a server has it: with a watch beside it."""
    return MeasuredStore(await open_sqlite(where, node), SystemClock(), Meters())


OPENERS: Mapping[str, Callable[[str, str], Awaitable[Store]]] = {"sqlite": open_sqlite, "measured": open_measured}


@dataclass(frozen=True)
class StorePlace:
    """Where one test's data is: opened twice, it is the same data."""

    kind: str
    where: str

    async def open(self, node: str) -> Store:
        return await OPENERS[self.kind](self.where, node)
