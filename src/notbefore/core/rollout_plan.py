"""Plans: a rollout, or the operation of one host, imagined to its end with nobody approving anything (imagined.py).

Rule 1: a plan begins where things stand: waves that are under way are in it, and a rollout that was paused or halted is
planned as if it went on now.
Rule 2: it ends at the latest after so many waves, or where nothing goes on any more, and says so.
Rule 3: pure, and seconds of work for thousands of hosts: whoever has others to serve plans beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from notbefore.core.expected import Expected
from notbefore.core.fleet_seen import Fleet
from notbefore.core.imagined import EndedWave, Imagined
from notbefore.core.model import Scope
from notbefore.core.operation import Operation
from notbefore.core.rollout import Rollout, RolloutStatus
from notbefore.core.rollout_blocks import block_of
from notbefore.core.rollout_steps import failed_so_far, operation_of, roll
from notbefore.core.times import Moment
from notbefore.core.values import replace

WAVES_PLANNED_MAX = 5000
GOES_ON = (RolloutStatus.PAUSED, RolloutStatus.HALTED)


@dataclass(frozen=True, slots=True)
class PlannedPart:
    scope: str
    update_domain: int
    vms: tuple[str, ...]
    event_id: str


@dataclass(frozen=True, slots=True)
class PlannedWave:
    """When its events become visible, start and end, when nobody approves; which target it belongs to."""

    number: int
    target: str
    visible_ms: int
    not_before_ms: int
    ends_ms: int
    parts: tuple[PlannedPart, ...]

    @property
    def vms(self) -> int:
        return sum(len(part.vms) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Plan:
    """`stuck` says what keeps it from its end, when it does not come to one."""

    waves: tuple[PlannedWave, ...]
    ends_ms: int | None
    stuck: str = ""

    @property
    def is_stuck(self) -> bool:
        """Not merely longer than plans are."""
        return bool(self.stuck) and len(self.waves) < WAVES_PLANNED_MAX


def plan_of(
    rollout: Rollout,
    scopes: Mapping[str, Scope],
    operations: Mapping[str, Operation],
    expected: Expected,
    now: Moment,
) -> Plan:
    """From where the rollout is now to its end; `operations` are those of its waves under way."""
    if rollout.is_over:
        return Plan((), rollout.ended_at_ms)
    imagined = ImaginedRollout(rollout, Fleet(scopes, operations, expected), now)
    while not imagined.rollout.is_over and len(imagined.waves) < WAVES_PLANNED_MAX:
        imagined.settle()
        next_ms = imagined.fleet.next_ms(imagined.look_again_ms)
        if imagined.rollout.is_over or next_ms is None:
            break
        imagined.fleet.at_ms = next_ms
    over = imagined.rollout.is_over
    return Plan(tuple(imagined.waves), imagined.fleet.at_ms if over else None, "" if over else imagined.why_stuck())


def plan_of_operation(operation: Operation, scopes: Mapping[str, Scope], expected: Expected, now: Moment) -> Plan:
    """Of one host's maintenance, from where it is now to its end."""
    fleet = Imagined(scopes, (operation,), expected, now.wall_ms)
    while not fleet.operations[operation.id].is_over and len(fleet.ended) < WAVES_PLANNED_MAX:
        fleet.settle_scopes()
        while fleet.drive_operations():
            pass
        next_ms = fleet.next_ms()
        if fleet.operations[operation.id].is_over or next_ms is None:
            break
        fleet.at_ms = next_ms
    over = fleet.operations[operation.id].is_over
    waves = tuple(planned(one, one.wave.number, operation.host) for one in fleet.ended)
    return Plan(waves, fleet.at_ms if over else None, "" if over else nothing_goes_on(len(waves)))


class ImaginedRollout:
    """A rollout over a fleet in the mind."""

    def __init__(self, rollout: Rollout, seen: Fleet, now: Moment) -> None:
        if rollout.status in GOES_ON:
            forgiven = failed_so_far(rollout, seen)
            rollout = replace(rollout, status=RolloutStatus.RUNNING, forgiven=forgiven)
        self.rollout = rollout
        self.fleet = Imagined(seen.scopes, seen.operations.values(), seen.expected, now.wall_ms)
        self.waves: list[PlannedWave] = []
        self.look_again_ms: int | None = None
        self._fleet_seen = Fleet(self.fleet.scopes, self.fleet.operations, self.fleet.expected)
        self._seen_after = 0

    def settle(self) -> None:
        """Everything that happens at this time."""
        self.fleet.settle_scopes()
        while self._drive_operations() or self._roll():
            pass

    def why_stuck(self) -> str:
        if len(self.waves) >= WAVES_PLANNED_MAX:
            return nothing_goes_on(len(self.waves))
        block = block_of(self.rollout, self._seen(), self.fleet.now)
        return nothing_goes_on(len(self.waves)) + (f": {block.why}" if block else "")

    def _seen(self) -> Fleet:
        """The same one, with its lists of VMs, as long as no VM comes or goes."""
        if self._seen_after != self.fleet.moves:
            self._seen_after = self.fleet.moves
            self._fleet_seen = Fleet(self.fleet.scopes, self.fleet.operations, self.fleet.expected)
        return self._fleet_seen

    def _drive_operations(self) -> bool:
        moved = self.fleet.drive_operations()
        for one in self.fleet.ended:
            target, wave = next(
                (target, target.wave)
                for target in self.rollout.in_hand
                if target.wave and target.wave.operation == one.operation
            )
            self.waves.append(planned(one, wave.number, target.name))
        self.fleet.ended.clear()
        return moved

    def _roll(self) -> bool:
        before = self.rollout
        rolled = roll(before, self._seen(), self.fleet.now)
        self.rollout, self.look_again_ms = rolled.rollout, rolled.look_again_ms
        operations = self.fleet.operations
        for target in self.rollout.in_hand:
            if target.wave and target.wave.operation not in operations:
                operations[target.wave.operation] = operation_of(self.rollout, target, target.wave).operation
        under_way = {target.wave.operation for target in self.rollout.in_hand if target.wave}
        for gone in set(operations) - under_way:
            del operations[gone]
        return self.rollout != before


def planned(ended: EndedWave, number: int, target: str) -> PlannedWave:
    parts = tuple(PlannedPart(one.scope, one.update_domain, one.vms, one.event_id) for one in ended.members)
    return PlannedWave(number, target, ended.wave.formed_at_ms, ended.starts_ms, ended.ends_ms, parts)


def nothing_goes_on(waves: int) -> str:
    if waves >= WAVES_PLANNED_MAX:
        return f"only the first {waves} waves are planned"
    return f"after {waves} waves nothing goes on by itself"
