"""What runs have reached of operations and rollouts, read from their documents: statuses, stages, waits.

Rule 1: what a rollout waits for is asked of the code that decides; the laws judge it, here it is only counted.
"""

from collections.abc import Iterator

from notbefore.core.expected import Expected
from notbefore.core.fleet_seen import Fleet
from notbefore.core.operation import Operation, OperationStatus, Stage
from notbefore.core.rollout import Rollout, RolloutStatus
from notbefore.core.rollout_blocks import block_of
from notbefore.core.times import Moment
from notbefore.simulation.facts import Facts
from notbefore.simulation.steps import DocumentPut
from notbefore.stores.codec import ENCODINGS

# How the beginning of a reason to wait is called here.
WAITS = {
    "its window": "window",
    "the budget: max_": "budget",
    "the budget: ": "rate",
    "a VM was hit": "rest",
    "scope ": "another's turn or rest",
}


def wave_rows() -> list[str]:
    return [
        *(f"operation {status}" for status in OperationStatus),
        *(f"stage {stage}" for stage in Stage),
        "gate opened",
        "wave refused",
        "withdrawn before it came",
        *(f"rollout {status}" for status in RolloutStatus),
        *(f"rollout waits: {what}" for what in WAITS.values()),
    ]


class WaveCoverage:
    def __init__(self) -> None:
        self._operations: dict[str, Operation] = {}
        self._rollouts: dict[str, Rollout] = {}

    def rows_of(self, step: DocumentPut, facts: Facts) -> Iterator[str]:
        if step.body is not None and step.kind == "operation":
            operation = ENCODINGS.operations.decode(step.body)
            yield from operation_rows(self._operations.get(step.key), operation)
            self._operations[step.key] = operation
        elif step.body is not None and step.kind == "rollout":
            rollout = ENCODINGS.rollouts.decode(step.body)
            before = self._rollouts.get(step.key)
            if before is None or before.status is not rollout.status:
                yield f"rollout {rollout.status}"
            self._rollouts[step.key] = rollout
            yield from self._waits_of(rollout, Moment(facts.wall_ms(step.process), 0, ""), facts)

    def _waits_of(self, rollout: Rollout, now: Moment, facts: Facts) -> Iterator[str]:
        if rollout.status is not RolloutStatus.RUNNING:
            return
        scopes = {key: stored.scope for key, stored in facts.scopes.items() if not stored.scope.removed}
        block = block_of(rollout, Fleet(scopes, self._operations, Expected()), now)
        if block and (what := next((word for begin, word in WAITS.items() if block.why.startswith(begin)), "")):
            yield f"rollout waits: {what}"


def operation_rows(before: Operation | None, after: Operation) -> Iterator[str]:
    if before is None or before.status is not after.status:
        yield f"operation {after.status}"
    known = {member.event_id: member.stage for member in before.members()} if before else {}
    for member in after.members():
        if known.get(member.event_id) is not member.stage:
            yield f"stage {member.stage}"
    if after.wave and after.wave.gate_open and not (before and before.wave and before.wave.gate_open):
        yield "gate opened"
    gone = known.keys() - {member.event_id for member in after.members()}
    if gone:
        yield "withdrawn before it came" if after.status is OperationStatus.CANCELLING else "wave refused"
