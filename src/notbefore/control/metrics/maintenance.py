"""Operations and rollouts under way, in numbers. There are few of them, so a scrape looks at each.

Rule 1: what ended is counted when it happens (meters.py); here is what goes on.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from notbefore.control.metrics.scrape import by_labels
from notbefore.core.operation import ENDED_OPERATION, Operation, OperationStatus
from notbefore.core.rollout import ENDED_ROLLOUT, Rollout, RolloutStatus
from notbefore.core.times import SECOND_MS
from notbefore.runtime.node import Node

LIVE_OPERATION = tuple(status for status in OperationStatus if status not in ENDED_OPERATION)
LIVE_ROLLOUT = tuple(status for status in RolloutStatus if status not in ENDED_ROLLOUT)


def maintenance_of(node: Node) -> Iterator[Metric]:
    operations, rollouts = node.operations.book.live(), node.rollouts.book.live()
    now_ms = node.clock.now().wall_ms
    yield by_labels(
        "notbefore_operations",
        "Operations under way, by status: maintenance of a host, or one wave of a rollout.",
        ("status",),
        {(status,): sum(one.status is status for one in operations) for status in LIVE_OPERATION},
    )
    yield GaugeMetricFamily(
        "notbefore_operation_age_seconds", "Age of the oldest operation under way; 0: none is.", age(operations, now_ms)
    )
    yield by_labels(
        "notbefore_rollouts",
        "Rollouts that are not over, by status. Halted: impacts failed, and somebody has to look.",
        ("status",),
        {(status,): sum(one.status is status for one in rollouts) for status in LIVE_ROLLOUT},
    )
    yield GaugeMetricFamily(
        "notbefore_rollout_age_seconds",
        "Age of the oldest rollout that is not over; 0: none is.",
        age(rollouts, now_ms),
    )
    yield by_labels(
        "notbefore_rollout_targets",
        "Hosts and scopes of rollouts that are not over, by how far they are.",
        ("state",),
        {(state,): count for state, count in targets(rollouts).items()},
    )
    yield by_labels(
        "notbefore_rollout_vms",
        "VMs of rollouts that are not over. touched: an impact began; failed: of those, it failed;"
        " skipped: gone, or their event was cancelled.",
        ("outcome",),
        {(outcome,): sum(getattr(one, outcome) for one in rollouts) for outcome in ("touched", "failed", "skipped")},
    )


def age(live: Sequence[Operation] | Sequence[Rollout], now_ms: int) -> float:
    return max((now_ms - one.made_at_ms for one in live), default=0) / SECOND_MS


def targets(rollouts: Sequence[Rollout]) -> Counter[str]:
    found = Counter({"waiting": 0, "in_hand": 0, "done": 0})
    for one in rollouts:
        found += Counter({"waiting": len(one.waiting), "in_hand": len(one.in_hand), "done": len(one.done)})
    return Counter({state: found[state] for state in ("waiting", "in_hand", "done")})
