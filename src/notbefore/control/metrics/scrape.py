"""What is looked at when somebody asks: the fleet, the outbox, the store's health, the requests counted so far.

Rule 1: reading only, in bounded time; a family that has no source yet is left out.
"""

import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from notbefore import __version__
from notbefore.control.metrics.fleet import Fleet
from notbefore.control.metrics.measured_store import MeasuredStore
from notbefore.core.times import SECOND_MS
from notbefore.runtime.delivery import Delivery
from notbefore.runtime.node import Node

Key = TypeVar("Key", bound=tuple[str, ...])


class DataPlane(Protocol):
    """What the data plane counted by itself."""

    @property
    def refusals(self) -> Mapping[str, int]: ...
    @property
    def connections_open(self) -> int: ...
    @property
    def connections_refused(self) -> int: ...
    @property
    def polls_held(self) -> int: ...
    @property
    def polls_refused(self) -> int: ...
    @property
    def polls_ended(self) -> Mapping[str, int]: ...
    def requests(self) -> Iterable[tuple[str, str, int, int]]:
        """Method, route, status, how many."""


class WorkersSeen(Protocol):
    """The processes that answer VMs, where that is not this one."""

    @property
    def serving(self) -> int: ...
    @property
    def restarts(self) -> int: ...
    @property
    def late(self) -> int: ...
    def answered_by(self) -> Mapping[str, int]:
        """How many requests each answered, by its number."""


class Delivering(Protocol):
    """Who is told of history, by the name of each target."""

    @property
    def deliveries(self) -> Mapping[str, Delivery]: ...


class OpenStreams(Protocol):
    @property
    def open(self) -> int: ...
    @property
    def cut_off(self) -> int: ...


class ControlRequests:
    """What the control API answered; the data plane's counterpart."""

    def __init__(self) -> None:
        self.answered: Counter[tuple[str, str, int]] = Counter()
        self.refusals: Counter[str] = Counter()

    def count(self, method: str, route: str, status: int) -> None:
        self.answered[method, route, status] += 1
        # A first failure has to be a rise from nought, or no alert sees it.
        self.answered[method, route, 500] += 0

    def requests(self) -> Iterator[tuple[str, str, int, int]]:
        for key, count in self.answered.items():
            yield (*key, count)


def requests_of(control: ControlRequests, data_plane: DataPlane | None) -> Iterator[Metric]:
    planes = (("control", control), ("metadata", data_plane)) if data_plane else (("control", control),)
    requests = CounterMetricFamily(
        "notbefore_requests",
        "Answered requests by listener, method, route and status. Routes are templates; other: no route of ours,"
        " or refused before one was looked for; malformed: no HTTP.",
        labels=("plane", "method", "route", "status"),
    )
    refusals = CounterMetricFamily(
        "notbefore_refusals",
        "Requests refused with an error code; docs/reference/errors.md says what each means.",
        labels=("plane", "code"),
    )
    for plane, counted in planes:
        for method, route, status, count in counted.requests():
            requests.add_metric((plane, method, route, str(status)), count)
        for code, count in counted.refusals.items():
            refusals.add_metric((plane, code), count)
    yield requests
    yield refusals


def connections_of(data_plane: DataPlane) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "notbefore_metadata_connections", "Open connections to the metadata service.", data_plane.connections_open
    )
    yield CounterMetricFamily(
        "notbefore_metadata_connections_refused",
        "Connections answered 503 at once because their caller, or all callers, had too many open.",
        data_plane.connections_refused,
    )


def workers_of(data_plane: DataPlane, workers: WorkersSeen | None) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "notbefore_workers",
        "Processes that answer VMs now; 1 when the server does it itself.",
        workers.serving if workers else 1,
    )
    yield CounterMetricFamily(
        "notbefore_worker_restarts", "Workers that ended and were replaced.", workers.restarts if workers else 0
    )
    yield CounterMetricFamily(
        "notbefore_worker_late",
        "Times that a worker took longer than a second to see a change, so that an answer did not wait for it.",
        workers.late if workers else 0,
    )
    answered = CounterMetricFamily(
        "notbefore_worker_requests",
        "Requests of VMs by the worker that answered them: how the kernel spreads the load.",
        labels=("worker",),
    )
    alone = {"0": sum(count for *_, count in data_plane.requests())}
    for worker, count in (workers.answered_by() if workers else alone).items():
        answered.add_metric((worker,), count)
    yield answered


def streams_of(streams: OpenStreams) -> Iterator[Metric]:
    yield GaugeMetricFamily("notbefore_streams", "Open streams of history (/v1/stream).", streams.open)
    yield CounterMetricFamily(
        "notbefore_streams_cut_off",
        "Streams that were ended because their reader took nothing for too long. It is told so when it resumes.",
        streams.cut_off,
    )


def news_of(notifying: Delivering, now_ms: int) -> Iterator[Metric]:
    targets = ("target",)
    behind = GaugeMetricFamily(
        "notbefore_notify_lag_records",
        "Changes that a target has not got yet, as counted by the server that delivers to it; 0 on the others.",
        labels=targets,
    )
    late = GaugeMetricFamily(
        "notbefore_notify_lag_seconds",
        "Age, on the server's clock, of the oldest change that a target has not got yet.",
        labels=targets,
    )
    tries = CounterMetricFamily(
        "notbefore_notify_deliveries",
        "Tries to tell a target of a change. told: it has it; failed: it is tried again; given_up: it was refused too"
        " often and is lost to that target.",
        labels=("target", "outcome"),
    )
    for name, delivery in notifying.deliveries.items():
        lag = delivery.lag
        behind.add_metric((name,), lag.news)
        late.add_metric((name,), max(0, now_ms - lag.since_ms) / SECOND_MS if lag.since_ms is not None else 0)
        for outcome, count in delivery.outcomes.items():
            tries.add_metric((name, outcome), count)
    yield from (behind, late, tries)


def long_polls_of(data_plane: DataPlane) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "notbefore_metadata_long_polls",
        "Questions held now until their document changes or their time is up.",
        data_plane.polls_held,
    )
    ended = CounterMetricFamily(
        "notbefore_metadata_long_polls_ended",
        "Questions that were held. changed: woken by a change; expired: waited in vain; left: the client went away;"
        " released: answered early, because it stopped sending or the server stopped.",
        labels=("end",),
    )
    for end, count in data_plane.polls_ended.items():
        ended.add_metric((end,), count)
    yield ended
    yield CounterMetricFamily(
        "notbefore_metadata_long_polls_refused",
        "Questions that asked to wait and were answered at once: too many were held, or the server was stopping.",
        data_plane.polls_refused,
    )


def fleet_of(fleet: Fleet, now_ms: int) -> Iterator[Metric]:
    yield GaugeMetricFamily("notbefore_scopes", "Declared scopes.", fleet.scopes)
    yield GaugeMetricFamily(
        "notbefore_scopes_listening",
        "Scopes that would get notice now: a VM of theirs asked within a day, or they are set to listening = always."
        " The others' impacts start without notice.",
        fleet.listening(now_ms),
    )
    yield by_labels("notbefore_vms", "Declared VMs by state.", ("state",), {(k,): n for k, n in fleet.vms.items()})
    yield by_labels(
        "notbefore_events",
        "Live events by type and status. Queued ones wait for their update domain's turn and are not shown to VMs.",
        ("type", "status"),
        fleet.events,
    )
    yield by_labels(
        "notbefore_outbox_effects",
        "Committed impacts without an outcome. waiting: no node has taken it; claimed: a node carries it out;"
        " resting: it failed and waits for its next try; behind: another impact on the same VM comes first.",
        ("state",),
        {(state,): count for state, count in fleet.effects.items()},
    )


def health_of(node: Node, store: MeasuredStore) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "notbefore_outbox_in_hand", "Impacts this node is carrying out or reporting now.", node.impacts_in_hand()
    )
    yield GaugeMetricFamily(
        "notbefore_snapshot_age_seconds",
        "Since the store's changes were last read. Documents are served from memory and may be this old;"
        " it stays near 1 while the store answers.",
        store.unfollowed_s(),
    )
    yield GaugeMetricFamily(
        "notbefore_store_away",
        "1 while the store cannot be read: documents are served as last known, and approvals are answered 503.",
        int(node.snapshot.store_away),
    )


def build_of(clock_kind: str) -> Iterator[Metric]:
    build = {(__version__, platform.python_version()): 1}
    yield by_labels("notbefore_build_info", "The running program; always 1.", ("version", "python"), build)
    sentence = "Which clock drives events, real, manual or rate; always 1. A manual one stands until it is turned."
    yield by_labels("notbefore_clock_info", sentence, ("kind",), {(clock_kind,): 1})


def by_labels(name: str, sentence: str, labels: tuple[str, ...], values: Mapping[Key, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, sentence, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
