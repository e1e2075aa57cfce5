"""One who asks everything of a scope, possible and impossible, at any time, and keeps what was decided.

Rule 1: a choice is read off the digits of a number; the same words and numbers are always the same journey.
Rule 2: what is refused is kept as a turn too.
Called by: journeys.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from uuid import UUID, uuid5

from builders import EXECUTOR, NOON, OPERATION, OPERATOR, SHOP

from notbefore.core.decide import decide
from notbefore.core.draft import Decision
from notbefore.core.errors import Refusal
from notbefore.core.history import Change
from notbefore.core.kinds import MAINTENANCE_TYPES, EventType, Eviction, Kind, Listening, Policy, Status
from notbefore.core.model import THE_SERVICE, Actor, ActorKind, Event, Scope, Vm
from notbefore.core.requests import (
    ApproveEvents,
    CancelEvent,
    ClaimEffect,
    CompleteEvent,
    DeclareScope,
    FailHost,
    ImpactFailed,
    ImpactFinished,
    JoinWave,
    LeaveWave,
    Maintain,
    NoteAsked,
    OpenGate,
    OperateVm,
    RemoveScope,
    Request,
    Tick,
)
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment
from notbefore.core.vm_operations import VM_OPERATIONS

NAMES = ("vm-0", "vm-1", "vm-2", "vm-3", "vm-4")
# Of these the first so many are spot VMs.
SPOTS = 3
STRANGER = "00000000-0000-0000-0000-00000000DEAD"
# Far more than there are choices in the longest step, a declaration.
NUMBERS = 2**48


@dataclass(frozen=True)
class Turn:
    """One request and what became of it: a decision, or a refusal."""

    before: Scope | None
    request: Request
    now: Moment
    decision: Decision | None = None
    refusal: Refusal | None = None

    def __str__(self) -> str:
        asked = [f"{f.name}={v}" for f in fields(self.request)[3:] if (v := getattr(self.request, f.name)) != f.default]
        answer = self.refusal.code if self.refusal else [change.what for change in self.changes]
        when = f"{self.now.wall_ms - NOON.wall_ms:+} ms, {self.now.boot_id}"
        return f"  {when}: {type(self.request).__name__} {' '.join(asked)[:400]} -> {answer}"

    @property
    def after(self) -> Scope | None:
        return self.decision.scope if self.decision else self.before

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.decision.record.changes if self.decision and self.decision.record else ()

    @property
    def events_before(self) -> dict[str, Event]:
        return {event.id: event for event in self.before.events} if self.before else {}

    @property
    def events_after(self) -> dict[str, Event]:
        return {event.id: event for event in self.after.events} if self.after else {}


class Journey:
    def __init__(self) -> None:
        self.turns: list[Turn] = []

    @property
    def taken(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.decision]

    def __repr__(self) -> str:
        return "\n".join(("Journey:", *map(str, self.turns)))


class Digits:
    """A number as a row of small choices; when it is used up every further choice is the first."""

    def __init__(self, number: int) -> None:
        self.number = number

    def of(self, choices: Sequence):
        self.number, digit = divmod(self.number, len(choices))
        return choices[digit]


class Traveller:
    def __init__(self) -> None:
        self.scope: Scope | None = None
        self.now = NOON
        self.journey = Journey()
        self.ended: list[str] = []
        self.joined: list[JoinWave] = []

    def take(self, request: Request) -> None:
        before = self.scope
        try:
            decision = decide(before, request, self.now)
        except Refusal as refusal:
            self.journey.turns.append(Turn(before, request, self.now, refusal=refusal))
            return
        turn = Turn(before, request, self.now, decision)
        self.journey.turns.append(turn)
        self.ended += turn.events_before.keys() - turn.events_after.keys()
        self.scope = decision.scope

    def asking(self, by: Actor = OPERATOR) -> dict:
        return {"scope": SHOP, "request_id": str(UUID(int=len(self.journey.turns) + 1)), "by": by}

    # -- Choices

    def some_event_id(self, d: Digits) -> str:
        live = [event.id for event in self.scope.events]
        scheduled = [event.id for event in self.scope.events_in(Status.SCHEDULED)]
        event_id = d.of(d.of((scheduled, scheduled, live)) or live or [STRANGER])
        return d.of((*[event_id] * 8, event_id.lower(), (self.ended or [STRANGER])[-1], STRANGER))

    def some_joined_id(self, d: Digits) -> str:
        waiting = [event.id for event in self.scope.events_in(Status.SCHEDULED) if event.gate]
        return d.of((d.of(waiting or [STRANGER]), self.some_event_id(d)))

    def some_name(self, d: Digits) -> str:
        name = d.of((*NAMES[:3], *NAMES, "vm-9"))
        return d.of((name, name, name.upper()))

    def some_not_before(self, d: Digits) -> int | None:
        ahead_s = d.of((None, None, None, 1, 600.5, 900, 900.001, 7200))
        return None if ahead_s is None else self.now.wall_ms + round(ahead_s * 1000)

    def some_impact(self, d: Digits) -> tuple[str, str, int]:
        pending = d.of(self.scope.pending if self.scope and self.scope.pending else [None])
        if pending is None:
            return STRANGER, "vm-0", 1
        return pending.effect.event_id, pending.effect.vm, pending.attempt + d.of((0, 0, 0, -1, 1))

    # -- Time

    def wait(self, d: Digits) -> None:
        due = [e.not_before_ms - self.now.wall_ms for e in (self.scope.events if self.scope else ()) if e.not_before_ms]
        ms = d.of((0, 1, 1_000, 30_000, 60_000, 600_000, 900_000, 90_000_000, max(0, *due, 0), max(0, *due, 1) - 1))
        self.now = Moment(self.now.wall_ms + ms, self.now.boot_ms + ms, self.now.boot_id)
        self.take(Tick(scope=SHOP, request_id=self.asking()["request_id"]))

    def step_the_wall(self, d: Digits) -> None:
        self.now = Moment(
            self.now.wall_ms + d.of((900_000, -600_000, 1, -1, 10**8, -(10**8))), self.now.boot_ms, self.now.boot_id
        )

    def boot_again(self, d: Digits) -> None:
        self.now = Moment(
            self.now.wall_ms + d.of((0, 60_000, 3_600_000)), d.of((0, 10**9)), f"boot-{len(self.journey.turns)}"
        )

    # -- Requests

    def declare(self, d: Digits) -> None:
        force, keep_states = d.of((False, False, True)), d.of((True, False))
        uds, hosts, shift = d.of((1, 2, 3)), d.of((1, 2, 3)), d.of((0, 1))
        names = NAMES[: d.of((5, 5, 4, 3, 1))]
        names = tuple(map(str.upper, names)) if d.of((False, False, True)) else names
        vms = tuple(
            Vm(name, (n + shift) % uds, host=("", "h1", "H2")[(n // 2 + shift) % hosts], spot=n < SPOTS)
            for n, name in enumerate(names)
        )
        scope_settings = ScopeSettings(
            listening=d.of((*[Listening.ALWAYS] * 4, Listening.AUTO, Listening.NEVER)),
            approval=d.of(({}, {"default": Policy.ALL}, {"default": Policy.LEADER}, {"Reboot": Policy.LEADER})),
            auto_approve=d.of(((), (), ("User:Reboot",), ("Platform:Freeze", "User:Terminate"))),
            notice_s=d.of(({}, {EventType.REBOOT: 0, EventType.TERMINATE: 1}, dict.fromkeys(EventType, 60))),
            user_events=d.of((True, True, False)),
            user_operations_max=d.of((10, 1, 2)),
            recovery_s=d.of((0, 30, 600)),
            legacy_underscore=d.of((False, True)),
            eviction=d.of((Eviction.DEALLOCATE, Eviction.DELETE)),
        )
        self.take(
            DeclareScope(
                **self.asking(),
                kind=Kind.SCALE_SET,
                settings=scope_settings,
                vms=vms,
                with_state=frozenset() if keep_states else frozenset(names),
                force=force,
            )
        )

    def remove(self, d: Digits) -> None:
        self.take(RemoveScope(**self.asking(), force=d.of((False, True, False))))

    def operate(self, d: Digits) -> None:
        self.take(
            OperateVm(
                **self.asking(),
                operation=d.of(tuple(VM_OPERATIONS)),
                vm=self.some_name(d),
                not_before_ms=self.some_not_before(d),
                duration_s=d.of((None, 0, 9)),
            )
        )

    def terminate(self, d: Digits) -> None:
        ahead_s = d.of((None, 900, 901))
        not_before_ms = None if ahead_s is None else self.now.wall_ms + ahead_s * 1000
        vm = d.of(NAMES)
        self.take(OperateVm(**self.asking(), operation="terminate", vm=vm, not_before_ms=not_before_ms))

    def maintain(self, d: Digits) -> None:
        event_type = d.of((*MAINTENANCE_TYPES, *MAINTENANCE_TYPES, EventType.PREEMPT))
        named = d.of(({}, {"update_domains": (d.of((0, 1, 2)),)}, {"hosts": (d.of(("h1", "h2")),)}, None))
        named = {"vms": (self.some_name(d), self.some_name(d))} if named is None else named
        self.take(Maintain(**self.asking(), type=event_type, **named, not_before_ms=self.some_not_before(d)))

    def join(self, d: Digits) -> None:
        """An operation's event for VMs that are mostly of one update domain and host; or one of before once more."""
        if self.joined and d.of((False, False, False, False, True)):
            self.take(d.of(self.joined[-3:]))
            return
        first = self.scope.vm(self.some_name(d))
        alike = [vm.name for vm in self.scope.vms if first and vm.update_domain == first.update_domain]
        alike = [name for name in alike if self.scope.vm(name).host == first.host]
        asking = self.asking()
        event_id = str(uuid5(UUID(asking["request_id"]), "joined")).upper()
        wish = JoinWave(
            **asking,
            event_id=event_id,
            operation=OPERATION,
            wave=d.of((1, 2)),
            type=d.of(MAINTENANCE_TYPES),
            vms=d.of((tuple(alike), tuple(alike), tuple(alike[:1]), (self.some_name(d), self.some_name(d)))),
            not_before_ms=self.now.wall_ms + d.of((901_000, 901_000, 7_200_000, 1_000)),
            duration_s=-1,
            description="",
            recovery_s=d.of((0, 0, 60, 1200)),
        )
        self.joined.append(wish)
        if d.of((True, True, True, False)):
            self.take(wish)

    def open_gate(self, d: Digits) -> None:
        self.take(OpenGate(**self.asking(THE_SERVICE), event_id=self.some_joined_id(d)))

    def leave(self, d: Digits) -> None:
        """Of one that came, or has not come yet."""
        wish = d.of(self.joined[-3:] or [None])
        event_id, joined_by = (wish.event_id, wish.request_id) if wish else (STRANGER, STRANGER)
        self.take(
            LeaveWave(
                **self.asking(),
                event_id=event_id,
                joined_by=joined_by,
                why="no longer wanted",
                keeps=d.of((False, False, True)),
            )
        )

    def fail_host(self, d: Digits) -> None:
        self.take(FailHost(**self.asking(), host=d.of(("h1", "H2", "h9"))))

    def approve(self, d: Digits) -> None:
        ids = tuple(self.some_event_id(d) for _ in range(d.of((1, 1, 2, 3))))
        event = self.scope.event(ids[0])
        vm = d.of((*event.vms, *event.vms, self.some_name(d)) if event else (self.some_name(d),))
        by = d.of((Actor(ActorKind.VM, vm), Actor(ActorKind.VM, vm), OPERATOR))
        self.take(ApproveEvents(**self.asking(by), event_ids=ids))

    def cancel(self, d: Digits) -> None:
        self.take(CancelEvent(**self.asking(), event_id=self.some_event_id(d)))

    def complete(self, d: Digits) -> None:
        self.take(CompleteEvent(**self.asking(), event_id=self.some_event_id(d)))

    def ask(self, d: Digits) -> None:
        vm = self.some_name(d)
        at_ms = self.now.wall_ms - d.of((0, 3_600_000))
        self.take(NoteAsked(**self.asking(Actor(ActorKind.VM, vm)), asked_ms={vm: at_ms}))

    def claim(self, d: Digits) -> None:
        event_id, vm, attempt = self.some_impact(d)
        node = d.of(("node-1", "node-2"))
        self.take(ClaimEffect(**self.asking(EXECUTOR), event_id=event_id, vm=vm, node=node, seen_attempt=attempt))

    def finish(self, d: Digits) -> None:
        event_id, vm, attempt = self.some_impact(d)
        report = {"event_id": event_id, "vm": vm, "attempt": attempt, "new_host": d.of((None, "h2"))}
        self.take(ImpactFinished(**self.asking(EXECUTOR), **report, evidence="seen"))

    def fail(self, d: Digits) -> None:
        event_id, vm, attempt = self.some_impact(d)
        self.take(ImpactFailed(**self.asking(EXECUTOR), event_id=event_id, vm=vm, attempt=attempt, reason="no luck"))

    def carry_out(self, d: Digits) -> None:
        """Claim and finish all that is pending, so that journeys get somewhere."""
        for pending in self.scope.pending if self.scope else ():
            impact = {"event_id": pending.effect.event_id, "vm": pending.effect.vm}
            self.take(ClaimEffect(**self.asking(EXECUTOR), **impact, node="node-1", seen_attempt=pending.attempt))
            done = {**impact, "attempt": pending.attempt + 1, "evidence": "seen", "new_host": d.of((None, "h2"))}
            self.take(ImpactFinished(**self.asking(EXECUTOR), **done))

    def give_up(self, d: Digits) -> None:
        """One impact fails as often as it is tried."""
        for _ in range(5):
            pending = d.of(self.scope.pending if self.scope and self.scope.pending else [None])
            if pending is None:
                return
            impact = {"event_id": pending.effect.event_id, "vm": pending.effect.vm}
            self.take(ClaimEffect(**self.asking(EXECUTOR), **impact, node="node-1", seen_attempt=pending.attempt))
            self.take(ImpactFailed(**self.asking(EXECUTOR), **impact, attempt=pending.attempt + 1, reason="no luck"))

    def ask_again(self, d: Digits) -> None:
        """A request of before comes a second time, under its own request id."""
        if self.journey.turns:
            self.take(d.of(self.journey.turns[-4:]).request)
