"""All that one server measures, and the page Prometheus reads.

Made by: wiring.py, which hands it the parts to watch. Shown by: routes.py.
"""

import asyncio
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from notbefore.control.metrics.fleet import Fleet
from notbefore.control.metrics.maintenance import maintenance_of
from notbefore.control.metrics.measured_executor import MeasuredExecutor
from notbefore.control.metrics.measured_store import MeasuredStore
from notbefore.control.metrics.meters import Meters
from notbefore.control.metrics.scrape import (
    ControlRequests,
    DataPlane,
    Delivering,
    OpenStreams,
    WorkersSeen,
    build_of,
    connections_of,
    fleet_of,
    health_of,
    long_polls_of,
    news_of,
    requests_of,
    streams_of,
    workers_of,
)
from notbefore.ports import Clock, Executor, Store
from notbefore.runtime.node import Node

OPENMETRICS = "application/openmetrics-text"
END = b"# EOF\n"  # of a page of OpenMetrics


class Metrics(Collector):
    def __init__(self, clock_kind: str = "real") -> None:
        self.control = ControlRequests()
        self._clock_kind = clock_kind
        self._meters = Meters()
        self._fleet = Fleet()
        self._store: MeasuredStore | None = None
        self._node: Node | None = None
        self._data_plane: DataPlane | None = None
        self._notifying: Delivering | None = None
        self._streams: OpenStreams | None = None
        self._workers: WorkersSeen | None = None
        self._registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._registry.register(self)

    def measured_store(self, store: Store, clock: Clock) -> Store:
        self._store = MeasuredStore(store, clock, self._meters)
        return self._store

    def measured_executor(self, executor: Executor, clock: Clock) -> Executor:
        return MeasuredExecutor(executor, clock, self._meters)

    def watch_node(self, node: Node) -> None:
        """Before it starts: what it loads is counted as well."""
        self._node = node
        node.snapshot.subscribe(self._fleet.take)
        if self._store:
            node.snapshot.subscribe(self._store.visible.applied)

    def watch_data_plane(self, data_plane: DataPlane) -> None:
        self._data_plane = data_plane

    def watch_workers(self, workers: WorkersSeen) -> None:
        self._workers = workers

    def watch_notifying(self, notifying: Delivering) -> None:
        self._notifying = notifying

    def watch_streams(self, streams: OpenStreams) -> None:
        self._streams = streams

    def describe(self) -> Iterator[Metric]:
        """Nothing beforehand: the registry would else collect once to learn the names."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield from build_of(self._clock_kind)
        yield from requests_of(self.control, self._data_plane)
        if self._data_plane:
            yield from connections_of(self._data_plane)
            yield from long_polls_of(self._data_plane)
            yield from workers_of(self._data_plane, self._workers)
        if self._streams:
            yield from streams_of(self._streams)
        if self._node and self._notifying:
            yield from news_of(self._notifying, self._node.clock.now().wall_ms)
        if self._node:
            yield from fleet_of(self._fleet, self._node.clock.now().wall_ms)
            yield from maintenance_of(self._node)
            if self._store:
                yield from health_of(self._node, self._store)
        yield from self._meters.collect()

    async def page(self, accept: str) -> tuple[bytes, str]:
        """The whole page and its content type, as the scraper asks for it; others have their turn between families."""
        # The library reads versions out of the header and breaks down over bad ones, so it is asked for two it knows.
        encode, content_type = choose_encoder(f"{OPENMETRICS}; version=1.0.0" if OPENMETRICS in accept.lower() else "")
        parts: list[bytes] = []
        for family in self._registry.collect():
            parts.append(encode(OneFamily(family)).removesuffix(END))
            await asyncio.sleep(0)
        if OPENMETRICS in content_type:
            parts.append(END)
        return b"".join(parts), content_type


class OneFamily(Collector):
    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> list[Metric]:
        return [self._family]
