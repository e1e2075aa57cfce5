"""Operations and rollouts told by hand, for the laws to judge: really stepped, then kept as they are or spoilt.

Rule 1: what is right comes from the core, driven here as the runtime drives it; what is wrong has one fact changed.
"""

from dataclasses import replace

from law_steps import OPERATOR, Run, asking, declare

from notbefore.core.errors import Refusal
from notbefore.core.expected import Expected
from notbefore.core.fleet_seen import Fleet
from notbefore.core.history import Change, HistoryRecord
from notbefore.core.kinds import ENDED, EventType
from notbefore.core.model import Vm, name_key
from notbefore.core.operation import Operation, OperationStatus, Stage
from notbefore.core.operation_begin import begun
from notbefore.core.operation_steps import Sight, answered, cancelled, joining, step, withdrawn
from notbefore.core.requests import ApproveEvents, CompleteEvent, LeaveWave, OpenGate, Tick
from notbefore.core.rollout import Limits, Over, Rollout
from notbefore.core.rollout_steps import operation_of, paused, roll, stopped, withdraws
from notbefore.ports import StoredRecord
from notbefore.simulation.laws.ledger import Ledger
from notbefore.simulation.laws.operations import OperationsKept
from notbefore.simulation.laws.progress import Progress
from notbefore.simulation.laws.rollout_limits import RolloutLimits
from notbefore.simulation.laws.rollouts import RolloutCourse
from notbefore.simulation.laws.wave_book import WaveBook
from notbefore.simulation.laws.waves import Waves
from notbefore.simulation.steps import DocumentPut
from notbefore.stores.codec import ENCODINGS

ID = "00000000-0000-4000-8000-000000000001"
OPERATION, ROLLOUT = "operation", "rollout"
OTHER = "bank"


class Waved(Run):
    """A run judged by the laws of waves, or by those given."""

    def __init__(self, *laws):
        book = WaveBook(Ledger())
        waves = (Waves, OperationsKept, RolloutCourse, RolloutLimits, Progress)
        super().__init__(*(laws or [law(book) for law in waves]))
        self.kept = {}

    # -- Documents

    def put(self, value, changes=(), process="one"):
        kind = OPERATION if isinstance(value, Operation) else ROLLOUT
        encoding = ENCODINGS.operations if kind == OPERATION else ENCODINGS.rollouts
        self.kept[value.id] = value
        self._put(kind, value.id, encoding.encode(value), changes, process)

    def remove(self, value):
        kind = OPERATION if isinstance(value, Operation) else ROLLOUT
        self._put(kind, value.id, None, (), "one")

    def _put(self, kind, key, body, changes, process):
        at_ms = self.wall_ms(process)
        record = HistoryRecord("", at_ms, f"{kind} {self.now_us}", 0, tuple(changes)) if changes else None
        if record:
            self.records.append(StoredRecord(len(self.records) + 1, record))
        self.see(DocumentPut(self.now_us, process, kind, key, body, record))

    # -- Operations

    @property
    def operation(self):
        return self.kept[ID]

    def wished(self, **facts):
        facts = {"host": "h1", "type": EventType.REBOOT, **facts}
        return Operation(id=ID, made_by=OPERATOR, made_at_ms=self.wall_ms("one"), **facts)

    def begin(self, **facts):
        stepped = begun(self.wished(**facts), self.fleet)
        self.put(stepped.operation, stepped.changes)

    def cancel(self, key=ID):
        stepped = cancelled(self.kept[key], OPERATOR, "cancelled by operator ops")
        if stepped.changes:
            self.put(stepped.operation, stepped.changes)

    @property
    def fleet(self):
        return {key: stored.scope for key, stored in self.scopes.items() if not stored.scope.removed}

    def stepped(self, key=ID):
        operation = self.kept[key]
        events = {one.event_id: self.event_of(one) for one in (operation.wave.members if operation.wave else ())}
        sight = Sight(self.fleet, {event_id: event for event_id, event in events.items() if event})
        return step(operation, sight, self.moment("one"))

    def event_of(self, member):
        scope = self.scope(member.scope)
        if scope and (event := scope.event(member.event_id)):
            return event
        told = [change.event for stored in self.records for change in stored.record.changes if change.event]
        return next((e for e in reversed(told) if e.id == member.event_id and e.status in ENDED), None)

    def drive(self, key=ID):
        """As far as it goes now."""
        before = None
        while before != (self.kept[key], self.scopes):
            before = (self.kept[key], dict(self.scopes))
            stepped = self.stepped(key)
            if stepped.operation != self.kept[key]:
                self.put(stepped.operation, stepped.changes)
            for member in self.members(key):
                self.say(key, member)

    def members(self, key=ID):
        wave = self.kept[key].wave
        return wave.members if wave else ()

    def say(self, key, member):
        operation = self.kept[key]
        facts = asking({"scope": member.scope, "event_id": member.event_id})
        if operation.status is OperationStatus.CANCELLING:
            if member.stage not in (Stage.STARTED, Stage.OVER):
                self.take(LeaveWave(**facts, joined_by=operation.join_id(member.event_id), why=operation.why))
            if member.stage is Stage.ASKED and self.event_of(member) is None:
                self.put(withdrawn(operation, member.event_id))
        elif member.stage is Stage.ASKED:
            self.join(key, member)
        elif member.stage is Stage.RELEASED and operation.wave.gate_open and self.event_of(member).release:
            self.take(OpenGate(**facts))

    def join(self, key, member):
        operation = self.kept[key]
        try:
            self.take(joining(operation, operation.wave, member))
            refusal = ""
        except Refusal as refused:
            refusal = refused.message
        self.put(answered(operation, member.event_id, refusal, self.moment("one")))

    # -- Rollouts

    def roll_out(self, *names, over=Over.HOSTS, limits=None, key=ID, **facts):
        facts = {"type": EventType.REBOOT, "made_by": OPERATOR, "made_at_ms": self.wall_ms("one"), **facts}
        rollout = Rollout(id=key, over=over, limits=limits or Limits(max_hosts=1), waiting=names, **facts)
        self.put(rollout, (change_of("rollout begun", key),))
        return rollout

    def rolled(self, key=ID):
        operations = {one.id: one for one in self.kept.values() if isinstance(one, Operation)}
        return roll(self.kept[key], Fleet(self.fleet, operations, Expected()), self.moment("one"))

    def roll_on(self, key=ID):
        """The rollout and its operations, as far as they go now; the second in which waves are counted passes."""
        before = None
        while before != (self.kept, self.scopes):
            before = (dict(self.kept), dict(self.scopes))
            rolled = self.rolled(key)
            if rolled.rollout != self.kept[key]:
                self.put(rolled.rollout, rolled.changes)
            for target in self.kept[key].in_hand:
                self.drive_wave(key, target)

    def drive_wave(self, key, target):
        if target.wave is None:
            return
        if target.wave.operation not in self.kept:
            self.put(operation_of(self.kept[key], target, target.wave).operation)
        if withdraws(self.kept[key]):
            self.cancel(target.wave.operation)
        if not self.kept[target.wave.operation].is_over:
            self.drive(target.wave.operation)

    def pause(self, key=ID):
        rolled = paused(self.kept[key], OPERATOR)
        self.put(rolled.rollout, rolled.changes)

    def stop(self, key=ID):
        rolled = stopped(self.kept[key], OPERATOR)
        self.put(rolled.rollout, rolled.changes)

    # -- Events

    def events(self, scope="shop"):
        return self.scope(scope).events

    def approve_all(self, scope="shop"):
        ids = tuple(event.id for event in self.events(scope))
        self.take(ApproveEvents(**asking({"scope": scope}), event_ids=ids))

    def complete_all(self, scope="shop"):
        for event in self.events(scope):
            self.take(CompleteEvent(**asking({"scope": scope}), event_id=event.id))

    def tick(self, scope="shop"):
        self.take(Tick(**asking({"scope": scope})))

    def later(self, seconds):
        self.at(self.now_us / 1_000_000 + seconds)


def change_of(what, key=ID, **facts):

    return Change(what, "because", OPERATOR, **({ROLLOUT: key} | facts))


def on(host, name, domain=0):
    return Vm(name, update_domain=domain, host=host)


def two_tenants(*laws, **settings):
    """A minute ago two scopes were declared with a VM each on host h1; shop has a second one there in another domain."""
    run = Waved(*laws)
    run.take(declare(on("h1", "a"), on("h1", "b", 1), **settings))
    run.take(declare(on("h1", "x"), scope=OTHER))
    run.at(60)
    return run


def in_a_wave(*laws, **settings):
    """Host h1 is maintained: the first wave is announced in both scopes."""
    run = two_tenants(*laws, **settings)
    run.begin()
    run.drive()
    return run


def with_member(operation, event_id, **facts):
    member = next(one for one in operation.wave.members if one.event_id == event_id)
    return replace(operation, wave=operation.wave.with_member(replace(member, **facts)))


def member_of(run, scope="shop", key=ID):
    return next(one for one in run.members(key) if name_key(one.scope) == scope)
