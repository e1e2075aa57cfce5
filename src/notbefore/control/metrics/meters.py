"""The instruments that are told of something when it happens: counters and histograms.

Rule 1: every combination of labels that can occur is there from the start: a rate needs a number to rise from.
Not here: what is only looked at when somebody asks (scrape.py).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeVar

from prometheus_client import Counter, Histogram
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric

from notbefore.core.kinds import ENDED, EventType
from notbefore.core.lifecycle import Happening
from notbefore.core.operation import ENDED_OPERATION
from notbefore.core.rollout import ENDED_ROLLOUT

REASONS = {
    Happening.APPROVED: "approved",
    Happening.DUE: "notice_ended",
    Happening.AUTO_APPROVED: "auto_approved",
    Happening.NOT_LISTENED: "nobody_listens",
    Happening.NO_NOTICE: "no_notice",
}
SPEAKERS = ("vm", "operator")
OUTCOMES = ("done", "failed")
OPERATIONS = ("load", "commit", "changes", "history", "documents", "put_document", "retire")
STORE_ERRORS = ("conflict", "unknown", "away")
ORIGINS = ("this_node", "other_node")

# In seconds. One second is what a start may be late (L1), 0.1 what another node's commit may need (DESIGN §2).
LAG_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
IMPACT_BUCKETS = (1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
STORE_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
VISIBLE_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)

TYPES = tuple(EventType)

Instrument = TypeVar("Instrument", bound=MetricWrapperBase)


class MaintenanceMeters:
    """Of operations and rollouts."""

    def __init__(self) -> None:
        self.waves = counter(
            "notbefore_waves",
            "Waves of operations that were announced: at most one update domain of each scope, with one NotBefore.",
        )
        self.gates = counter(
            "notbefore_gates_opened",
            "Waves whose events were all released, so that none had to wait for its NotBefore.",
        )
        self.operations_ended = counter(
            "notbefore_operations_ended",
            "Operations that ended, by outcome. Failed: an impact of theirs did.",
            outcome=ENDED_OPERATION,
        )
        self.rollouts_ended = counter(
            "notbefore_rollouts_ended", "Rollouts that ended, by outcome.", outcome=ENDED_ROLLOUT
        )
        self.rollouts_halted = counter(
            "notbefore_rollouts_halted", "Times that a rollout halted itself because impacts failed."
        )


class Meters(MaintenanceMeters):
    def __init__(self) -> None:
        super().__init__()
        self.started = counter(
            "notbefore_events_started",
            "Events that started, by type and by what released them. notice_ended: nobody approved in time;"
            " nobody_listens and no_notice: the VMs were not told beforehand.",
            type=TYPES,
            reason=REASONS.values(),
        )
        self.ended = counter(
            "notbefore_events_ended",
            "Events that ended, by type and outcome. Failed: the executor gave up after its last try.",
            type=TYPES,
            outcome=ENDED,
        )
        self.approvals = counter(
            "notbefore_approvals",
            "Approvals recorded, by who spoke. A repeated approval is not counted again.",
            by=SPEAKERS,
        )
        self.start_lag = histogram(
            "notbefore_start_lag_seconds",
            "How long after its NotBefore an event started whose notice ended unapproved. Above 1 is late.",
            LAG_BUCKETS,
        )
        self.impacts = histogram(
            "notbefore_impact_duration_seconds",
            "How long attempts to carry an impact out on one VM took, by type and outcome, on the server's clock."
            " A failed attempt is tried again until its limit.",
            IMPACT_BUCKETS,
            type=TYPES,
            outcome=OUTCOMES,
        )
        self.retries = counter(
            "notbefore_impact_retries",
            "Attempts that were not the first on their VM: after a failure, or taken over from a node that died.",
            type=TYPES,
        )
        self.store = histogram(
            "notbefore_store_operation_duration_seconds",
            "How long the store took, by operation, as the server waited for it; failed ones included."
            " A commit is on disk when it ends.",
            STORE_BUCKETS,
            operation=OPERATIONS,
        )
        self.store_errors = counter(
            "notbefore_store_errors",
            "Store operations that failed. conflict: another commit came first, which is tried again and harmless;"
            " unknown: the write may be there or not, and is read again; away: the store cannot be used.",
            operation=OPERATIONS,
            error=STORE_ERRORS,
        )
        self.visible = histogram(
            "notbefore_commit_visible_seconds",
            "From a decision to its being visible in this process. this_node: since it was handed to the store;"
            " other_node: since the time in its history record, by the other machine's clock (one sample a look).",
            VISIBLE_BUCKETS,
            origin=ORIGINS,
        )

    def collect(self) -> Iterator[Metric]:
        for instrument in vars(self).values():
            for family in instrument.collect():
                # When a counter was made says nothing that the start time of the process does not.
                family.samples = [one for one in family.samples if not one.name.endswith("_created")]
                yield family


def counter(name: str, sentence: str, **labels: Iterable[str]) -> Counter:
    return filled(Counter(name, sentence, tuple(labels), registry=None), labels)


def histogram(name: str, sentence: str, buckets: Sequence[float], **labels: Iterable[str]) -> Histogram:
    return filled(Histogram(name, sentence, tuple(labels), buckets=buckets, registry=None), labels)


def filled(instrument: Instrument, labels: Mapping[str, Iterable[str]]) -> Instrument:
    """The instrument, with every combination of its label values at zero; one without labels is there by itself."""
    for values in product(*labels.values()) if labels else ():
        instrument.labels(*values)
    return instrument
