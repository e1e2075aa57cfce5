"""The operators' side: what they ask of a scope, sensible and not, and that they ask again when nobody answers.

Rule 1: a request that got no answer, or found no store, is sent again under its own request id, perhaps to another
process: whatever became of the first must not happen twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from notbefore.core.errors import Refusal, StoreUnavailable
from notbefore.core.kinds import MAINTENANCE_TYPES, EventType, Eviction, Kind, Listening, Policy
from notbefore.core.model import Actor, ActorKind, Event, Scope, Vm
from notbefore.core.requests import (
    ApproveEvents,
    CancelEvent,
    CompleteEvent,
    DeclareScope,
    FailHost,
    ImpactFailed,
    ImpactFinished,
    Maintain,
    OperateVm,
    RemoveScope,
    Request,
)
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.vm_operations import VM_OPERATIONS
from notbefore.ports import Evidence, Impact
from notbefore.runtime.turn import Taken
from notbefore.simulation.disk import Disk
from notbefore.simulation.fleet import Fleet, Server, ids_from
from notbefore.simulation.hypervisor import HOSTS
from notbefore.simulation.plan import Act, Plan
from notbefore.simulation.scheduler import SECOND_US, Scheduler
from notbefore.simulation.steps import OperatorAnswered, Step

OPERATOR = Actor(ActorKind.OPERATOR, "ops")
STRANGER = "00000000-0000-4000-8000-00000000BEEF"
TRIES = 6
HUGE = "x" * 600_000


class Operators:
    def __init__(
        self, plan: Plan, scheduler: Scheduler, fleet: Fleet, disk: Disk, tell: Callable[[Step], None]
    ) -> None:
        self._plan = plan
        self._scheduler = scheduler
        self._fleet = fleet
        self._disk = disk
        self._tell = tell
        self._last: Request | None = None
        self._ended: list[str] = []
        fleet.on_repeated_report(self._report_again)

    async def carry_out(self, act: Act) -> None:
        chance = act.chance()
        request = getattr(self, act.word)(act.whom, chance)
        if request is None:
            return
        self._last = request
        await self._send(request, chance)
        if act.word == "remove":
            await self._scheduler.sleep(chance.randrange(1, 600) * SECOND_US)
            await self._send(self.found(act.whom, chance), chance)

    async def _send(self, request: Request, chance: Random) -> None:
        for _ in range(TRIES):
            server = self._some_server(chance)
            answer = await self._fleet.order(server, request, self._telling(server, request)) if server else None
            if answer is not None and not isinstance(answer, StoreUnavailable):
                return
            await self._scheduler.sleep(chance.randrange(1, 20) * SECOND_US)

    def _telling(self, server: Server, request: Request) -> Callable[[Taken | Refusal], None]:
        def tell(answer: Taken | Refusal) -> None:
            known = answer if isinstance(answer, Refusal) else answer.answer
            self._tell(OperatorAnswered(self._scheduler.now_us, server.facts.name, request, known))

        return tell

    def _some_server(self, chance: Random) -> Server | None:
        working = self._fleet.working
        return chance.choice(working) if working else None

    def _report_again(self, impact: Impact, evidence: Evidence | None) -> None:
        """An executor that answers twice: the second report goes to any process, some time later."""
        chance = Random(impact.attempt_id)
        report = self._asking(impact.scope, chance, Actor(ActorKind.EXECUTOR, "hypervisor"))
        report |= {"event_id": impact.event_id, "vm": impact.vm.name}
        attempt = int(impact.attempt_id.rpartition("#")[2])
        request: Request = ImpactFailed(**report, attempt=attempt, reason="reported again")
        if evidence:
            request = ImpactFinished(**report, attempt=attempt, evidence=evidence.sentence, new_host=evidence.new_host)
        self._scheduler.spawn(self._fleet.world, "report again", self._send_later(request, chance))

    async def _send_later(self, request: Request, chance: Random) -> None:
        await self._scheduler.sleep(chance.randrange(20 * SECOND_US))
        await self._send(request, chance)

    # -- Words

    def found(self, scope: str, chance: Random) -> Request:
        known = self._scope(scope)
        return self._declaration(scope, chance, settings=some_settings(chance), known=known)

    def declare(self, scope: str, chance: Random) -> Request:
        known = self._scope(scope)
        settings = some_settings(chance) if chance.random() < 0.6 else None
        return self._declaration(scope, chance, settings=settings, known=known)

    def _declaration(
        self, name: str, chance: Random, *, settings: ScopeSettings | None, known: Scope | None
    ) -> DeclareScope:
        everyone = self._vms(name, chance)
        left_out = chance.choice((0, 0, 0, 1, 2)) if known else 0
        vms = tuple(chance.sample(everyone, max(1, len(everyone) - left_out))) if left_out else everyone
        return DeclareScope(
            **self._asking(name, chance),
            kind=chance.choice(tuple(Kind)),
            settings=settings or (known.settings if known else ScopeSettings()),
            vms=vms,
            with_state=frozenset(vm.name for vm in vms) if chance.random() < 0.5 else frozenset(),
            force=chance.random() < 0.3,
        )

    def _vms(self, name: str, chance: Random) -> tuple[Vm, ...]:
        """Where the VMs are: mostly as always, sometimes laid out anew."""
        layout = Random(f"{name}/{chance.choice((0, 0, 0, 1))}")
        domains, hosts = layout.choice((1, 2, 3)), layout.choice(((), HOSTS[:1], HOSTS[:2], HOSTS[:2], HOSTS))
        return tuple(
            Vm(
                vm,
                n % domains,
                host=hosts[(n // 2) % len(hosts)] if hosts else "",
                addresses=(address_of(self._plan, name, n),),
                spot=layout.random() < 0.7,
            )
            for n, vm in enumerate(vm_names(self._plan, name))
        )

    def claim_address(self, scope: str, chance: Random) -> Request | None:
        """A declaration with another scope's address: two VMs claim it, so it identifies nobody."""
        others = [other for other in self._plan.scopes if other != scope]
        if not others:
            return None
        request = self._declaration(scope, chance, settings=None, known=self._scope(scope))
        stolen = address_of(self._plan, chance.choice(others), 0)
        first = replace(request.vms[0], addresses=(*request.vms[0].addresses, stolen))
        return replace(request, vms=(first, *request.vms[1:]))

    def declare_nonsense(self, scope: str, chance: Random) -> Request:
        request = self._declaration(scope, chance, settings=None, known=self._scope(scope))
        first = request.vms[0]
        return chance.choice(
            (
                replace(request, vms=(*request.vms, replace(first, name=first.name.upper(), addresses=()))),
                replace(request, vms=(*request.vms, replace(first, name="twin"))),
                replace(request, vms=(replace(first, tags={"huge": HUGE}), *request.vms[1:])),
                replace(request, settings=ScopeSettings(recovery_s=-1)),
            )
        )

    def remove(self, scope: str, chance: Random) -> Request:
        return RemoveScope(**self._asking(scope, chance), force=chance.random() < 0.4)

    def operate(self, scope: str, chance: Random) -> Request:
        return OperateVm(
            **self._asking(scope, chance),
            operation=chance.choice(("restart", *VM_OPERATIONS)),
            vm=self._some_vm(scope, chance),
            not_before_ms=self._some_not_before(chance),
            duration_s=chance.choice((None, 0, 9)),
        )

    def terminate_two(self, scope: str, chance: Random) -> Request:
        """Two at once, as a scale-in does: the second goes its own way beside this one."""
        first, second = chance.sample(vm_names(self._plan, scope), 2)
        also = OperateVm(**self._asking(scope, chance), operation="terminate", vm=second)
        self._scheduler.spawn(self._fleet.world, "second of two", self._send(also, chance))
        return OperateVm(**self._asking(scope, chance), operation="terminate", vm=first)

    def maintain(self, scope: str, chance: Random) -> Request:
        which: Mapping[str, Any] = chance.choice(
            (
                {},
                {},
                {"update_domains": (chance.choice((0, 1, 2)),)},
                {"hosts": (chance.choice(HOSTS),)},
                {"vms": (self._some_vm(scope, chance), self._some_vm(scope, chance))},
            )
        )
        event_type = chance.choice((*MAINTENANCE_TYPES, *MAINTENANCE_TYPES, *MAINTENANCE_TYPES, EventType.PREEMPT))
        not_before_ms = self._some_not_before(chance)
        return Maintain(**self._asking(scope, chance), type=event_type, not_before_ms=not_before_ms, **which)

    def fail_host(self, scope: str, chance: Random) -> Request:
        return FailHost(**self._asking(scope, chance), host=chance.choice(HOSTS))

    def approve(self, scope: str, chance: Random) -> Request:
        ids = (self._some_event_id(scope, chance),)
        return ApproveEvents(**self._asking(scope, chance), event_ids=ids)

    def cancel(self, scope: str, chance: Random) -> Request:
        by = OPERATOR if chance.random() < 0.9 else Actor(ActorKind.SERVICE, "somebody else")
        return CancelEvent(**self._asking(scope, chance, by), event_id=self._some_event_id(scope, chance))

    def complete(self, scope: str, chance: Random) -> Request:
        return CompleteEvent(**self._asking(scope, chance), event_id=self._some_event_id(scope, chance))

    def say_it_again(self, _scope: str, _chance: Random) -> Request | None:
        return self._last

    # -- Choices

    def _asking(self, scope: str, chance: Random, by: Actor = OPERATOR) -> dict[str, Any]:
        name = scope if chance.random() < 0.98 else "nowhere"
        return {"scope": name, "request_id": ids_from(chance)(), "by": by}

    def _scope(self, name: str) -> Scope | None:
        stored = self._disk.scopes.get(name.casefold())
        return stored.scope if stored and not stored.scope.removed else None

    def _events(self, name: str) -> tuple[Event, ...]:
        scope = self._scope(name)
        return scope.events if scope else ()

    def _some_event_id(self, scope: str, chance: Random) -> str:
        live = [event.id for event in self._events(scope)]
        self._ended = (self._ended + live)[-20:]
        return chance.choice([*(live * 5), *self._ended[:1], STRANGER])

    def _some_vm(self, scope: str, chance: Random) -> str:
        names = vm_names(self._plan, scope)
        return chance.choice((*names * 4, *(name.upper() for name in names), "nobody"))

    def _some_not_before(self, chance: Random) -> int | None:
        ahead_s = chance.choice((None, None, None, None, 1, 901, 1800, 5400, 30_000))
        working = self._fleet.working
        return working[0].node.clock.now().wall_ms + ahead_s * 1000 if ahead_s and working else None


def some_settings(chance: Random) -> ScopeSettings:
    minute = dict.fromkeys(EventType, 60)
    return ScopeSettings(
        listening=chance.choice((*[Listening.AUTO] * 4, *[Listening.ALWAYS] * 4, Listening.NEVER)),
        approval=chance.choice(
            (
                {"default": Policy.ANY},
                {"default": Policy.ANY},
                {"default": Policy.ALL},
                {"default": Policy.LEADER},
                {"Reboot": Policy.LEADER, "Terminate": Policy.ALL},
            )
        ),
        auto_approve=chance.choice(((), (), (), ("User:Reboot",), ("Platform:Freeze", "User:Terminate"))),
        notice_s=chance.choice(({}, {}, minute, {EventType.REBOOT: 0, EventType.TERMINATE: 1})),
        user_events=chance.random() < 0.85,
        user_operations_max=chance.choice((10, 10, 1, 2)),
        recovery_s=chance.choice((0, 0, 30, 600)),
        legacy_underscore=chance.random() < 0.3,
        eviction=chance.choice((Eviction.DEALLOCATE, Eviction.DELETE)),
    )


def vm_names(plan: Plan, scope: str) -> tuple[str, ...]:
    return tuple(f"{scope}-{n}" for n in range(len(plan.habits[scope])))


def address_of(plan: Plan, scope: str, n: int) -> str:
    return f"10.{plan.scopes.index(scope)}.0.{n + 1}"
