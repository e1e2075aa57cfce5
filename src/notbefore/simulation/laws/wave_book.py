"""Operations and rollouts as they are committed, and their events as their scopes have them: read once for all laws.

Rule 1: what an operation says of an event, and what the scope says, are kept apart: the laws compare them.
Rule 2: walls compare when the machines that they hang on have been stepped by the same.
Not here: judging.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from notbefore.core.kinds import VmState
from notbefore.core.model import Event, name_key
from notbefore.core.operation import Member, Operation
from notbefore.core.rollout import Rollout, RolloutWave
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.ledger import Ledger, Move
from notbefore.simulation.steps import ClockStepped, Committed, DocumentPut, Step
from notbefore.stores.codec import ENCODINGS

OPERATION = "operation"
ROLLOUT = "rollout"

WaveKey = tuple[str, int]
VmKey = tuple[str, str]


@dataclass(slots=True)
class Part:
    """One event of a wave, as its scope has it, ended or not."""

    key: str
    event: Event
    wave: WaveKey
    hosts: frozenset[str]
    is_over: bool = False

    @property
    def has_started(self) -> bool:
        return self.event.started_at_ms is not None

    @property
    def may_start(self) -> bool:
        """Released, started or over."""
        return self.is_over or self.has_started or self.event.release is not None

    @property
    def vms(self) -> tuple[VmKey, ...]:
        return tuple((self.key, name_key(vm)) for vm in self.event.vms)


class Begun(NamedTuple):
    """A wave that a rollout has said: of which target, when, and by how much the sayer's wall had been stepped."""

    rollout: str
    target: str
    wave: RolloutWave
    stepped_ms: int


class PartMoved(NamedTuple):
    part: Part
    move: Move


class Turned(NamedTuple):
    """A document before and after; none before it was made, none after it was removed."""

    operation: tuple[Operation | None, Operation | None] | None = None
    rollout: tuple[Rollout | None, Rollout | None] | None = None


@dataclass(slots=True)
class WaveBook:
    ledger: Ledger
    operations: dict[str, Operation] = field(default_factory=dict)
    rollouts: dict[str, Rollout] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    # Of each wave: every event that it ever meant to have, and those that came.
    members: dict[WaveKey, dict[str, Member]] = field(default_factory=dict)
    came: dict[WaveKey, dict[str, Part]] = field(default_factory=dict)
    # By operation: the wave of a rollout that it is.
    begun: dict[str, Begun] = field(default_factory=dict)
    # When a VM was last not there, not running or on another host than before; and when something last hit it.
    unsettled_us: dict[VmKey, int] = field(default_factory=dict)
    hit: dict[VmKey, tuple[int, int, int]] = field(default_factory=dict)
    stepped_ms: dict[str, int] = field(default_factory=dict)
    _step: Step | None = None
    _moved: tuple[PartMoved, ...] = ()
    _turned: Turned = field(default_factory=Turned)

    def moved(self, step: Committed, facts: Facts) -> tuple[PartMoved, ...]:
        """The events of waves that this commit made, changed or ended."""
        self._read(step, facts)
        return self._moved

    def turned(self, step: DocumentPut, facts: Facts) -> Turned:
        self._read(step, facts)
        return self._turned

    def see(self, step: Step, facts: Facts) -> None:
        """So that nothing is missed; whoever asks for the same step again gets the same."""
        self._read(step, facts)

    def of_operation(self, operation: str) -> Iterable[Part]:
        return (part for (of, _), parts in self.came.items() if of == operation for part in parts.values())

    def walls_agree(self, facts: Facts) -> bool:
        return len({self.stepped_ms.get(process.machine, 0) for process in facts.processes.values()}) == 1

    def stepped(self, process: str, facts: Facts) -> int:
        return self.stepped_ms.get(facts.processes[process].machine, 0)

    def _read(self, step: Step, facts: Facts) -> None:
        if step is self._step:
            return
        self._step = step
        if isinstance(step, Committed):
            self._moved = self._parts_moved(step, facts)
        elif isinstance(step, DocumentPut):
            self._turned = self._turn(step, facts)
        elif isinstance(step, ClockStepped):
            self.stepped_ms[step.machine] = self.stepped_ms.get(step.machine, 0) + step.by_ms

    def _parts_moved(self, step: Committed, facts: Facts) -> tuple[PartMoved, ...]:
        commit = self.ledger.read(step)
        if commit.vms_changed:
            self._note_vms(step)
        found = []
        for move in commit.moves:
            event = move.after or (move.told[-1].event if move.told else None) or move.before
            assert event is not None
            if move.starts:
                wall_ms = event.started_at_ms or 0
                for vm in event.vms:
                    self.hit[commit.key, name_key(vm)] = (step.at_us, wall_ms, self.stepped(step.process, facts))
            if event.gate:
                found.append(PartMoved(self._part(step, move, event), move))
        return tuple(found)

    def _part(self, step: Committed, move: Move, event: Event) -> Part:
        assert event.gate is not None
        wave = (event.gate.operation, event.gate.wave)
        part = self.parts.get(event.id)
        if part is None:
            vms = [vm for vm in map(step.after.vm, event.vms) if vm]
            hosts = frozenset(name_key(vm.host) for vm in vms if vm.host)
            part = self.parts[event.id] = Part(step.after.key, event, wave, hosts)
            self.came.setdefault(wave, {})[event.id] = part
        part.event, part.is_over = event, move.after is None
        return part

    def _note_vms(self, step: Committed) -> None:
        before = {name_key(vm.name): vm for vm in step.before.vms} if step.before else {}
        after = {name_key(vm.name): vm for vm in step.after.vms}
        for name in before.keys() | after.keys():
            was, now = before.get(name), after.get(name)
            moved = was is None or now is None or name_key(was.host) != name_key(now.host)
            if moved or now is None or now.state is not VmState.RUNNING:
                self.unsettled_us[step.after.key, name] = step.at_us
            if now is None:
                self.hit.pop((step.after.key, name), None)

    def _turn(self, step: DocumentPut, facts: Facts) -> Turned:
        if step.kind == OPERATION:
            was = self.operations.get(step.key)
            operation = ENCODINGS.operations.decode(step.body) if step.body is not None else None
            if operation is None:
                self.operations.pop(step.key, None)
            else:
                self.operations[step.key] = operation
                for member in operation.wave.members if operation.wave else ():
                    self.members.setdefault((operation.id, member.wave), {})[member.event_id] = member
            return Turned(operation=(was, operation))
        if step.kind == ROLLOUT:
            before = self.rollouts.get(step.key)
            rollout = ENCODINGS.rollouts.decode(step.body) if step.body is not None else None
            if rollout is None:
                self.rollouts.pop(step.key, None)
            else:
                self.rollouts[step.key] = rollout
                self._note_begun(rollout, self.stepped(step.process, facts))
            return Turned(rollout=(before, rollout))
        return Turned()

    def _note_begun(self, rollout: Rollout, stepped_ms: int) -> None:
        for target in rollout.in_hand:
            if target.wave:
                begun = Begun(rollout.id, target.name, target.wave, stepped_ms)
                self.begun.setdefault(target.wave.operation, begun)
