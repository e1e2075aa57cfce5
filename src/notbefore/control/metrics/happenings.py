"""What a committed history record tells the meters: starts, ends, approvals, waves.

Rule 1: the node that committed a record counts it, and no other; so sums over nodes are right.
Rule 2: a write of unknown outcome is not counted, even if it turns out to be there.
"""

from notbefore.control.metrics.meters import REASONS, SPEAKERS, Meters
from notbefore.core.history import Change, HistoryRecord
from notbefore.core.kinds import ENDED
from notbefore.core.lifecycle import Happening
from notbefore.core.model import Event
from notbefore.core.operation import ENDED_OPERATION
from notbefore.core.rollout import ENDED_ROLLOUT
from notbefore.core.times import SECOND_MS

APPROVED = "approved"
HAPPENINGS = frozenset(map(str, Happening))


def count_record(meters: Meters, record: HistoryRecord | None) -> None:
    for change in record.changes if record else ():
        if change.event:
            count_change(meters, change, change.event)
        elif change.operation or change.rollout:
            count_maintenance(meters, change.what)


def count_maintenance(meters: Meters, what: str) -> None:
    """What operations and rollouts tell of themselves (core/operation_steps.py, core/rollout_steps.py)."""
    plain = {"wave announced": meters.waves, "gate opened": meters.gates, "rollout halted": meters.rollouts_halted}
    if what in plain:
        plain[what].inc()
    for noun, ended, outcomes in (
        ("operation", meters.operations_ended, ENDED_OPERATION),
        ("rollout", meters.rollouts_ended, ENDED_ROLLOUT),
    ):
        for outcome in outcomes:
            if what == f"{noun} {outcome.lower()}":
                ended.labels(outcome).inc()


def count_change(meters: Meters, change: Change, event: Event) -> None:
    if change.what == APPROVED and change.by.kind in SPEAKERS:
        meters.approvals.labels(change.by.kind).inc()
    if change.what not in HAPPENINGS:
        return
    happening = Happening(change.what)
    if happening in REASONS:
        meters.started.labels(event.type, REASONS[happening]).inc()
    elif event.status in ENDED:
        meters.ended.labels(event.type, event.status).inc()
    if happening is Happening.DUE and event.started_at_ms is not None and event.not_before_ms is not None:
        meters.start_lag.observe(max(0, event.started_at_ms - event.not_before_ms) / SECOND_MS)
