"""Operators who maintain hosts and roll maintenance out: begin, cancel, pause, resume; wisely and not.

Rule 1: what found no store or no answer is asked again under the same id, perhaps of another process: an operation or
rollout that is begun twice is one.
Rule 2: few rollouts at a time, so that each comes to something.
"""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from random import Random
from typing import Any

from notbefore.core.errors import Refusal, StoreUnavailable
from notbefore.core.kinds import MAINTENANCE_TYPES
from notbefore.core.model import Actor, ActorKind
from notbefore.core.operation import Operation
from notbefore.core.operation_begin import begun
from notbefore.core.rollout import Limits, Over, Rollout, RolloutStatus
from notbefore.core.windows import DAYS, Window
from notbefore.ports import Encoding
from notbefore.simulation.disk import Disk
from notbefore.simulation.fleet import Fleet, Server, ids_from
from notbefore.simulation.hypervisor import HOSTS
from notbefore.simulation.plan import Act, Plan
from notbefore.simulation.scheduler import MS_US, SECOND_US, Scheduler
from notbefore.simulation.steps import MaintainerAnswered, Step
from notbefore.simulation.trouble import Trouble
from notbefore.stores.codec import ENCODINGS

OPERATOR = Actor(ActorKind.OPERATOR, "ops")
STRANGER = "00000000-0000-4000-8000-00000000beef"
TRIES = 6
ROLLOUTS_AT_ONCE = 2
HOUR_MIN = 60
MUCH_AT_ONCE = Limits(max_vms=8)
LOOK_US, LOOKS_MAX = 200, 500
SLOW_FOR_US = 10 * SECOND_US
BAD_DAY_US = 2 * 3600 * SECOND_US
# What somebody says soon after the first word: one of these.
SECOND_THOUGHTS = {
    "maintain_host": (("cancel_operation",),),
    "begin_rollout": (("pause_rollout", "resume_rollout"), ("pause_rollout",), ("cancel_rollout",)),
}
RESTS = (RolloutStatus.PAUSED, RolloutStatus.HALTED)

Work = Callable[[Server], Coroutine[Any, Any, object]]


class Maintainers:
    def __init__(
        self, plan: Plan, scheduler: Scheduler, fleet: Fleet, disk: Disk, tell: Callable[[Step], None]
    ) -> None:
        self._plan = plan
        self._scheduler = scheduler
        self._fleet = fleet
        self._disk = disk
        self._tell = tell
        self._known: dict[str, tuple[int, object]] = {}

    def all_is_done(self) -> bool:
        """No operation is under way, and no rollout that is not at rest."""
        under_way = [one for one in self._rollouts() if not one.is_over and one.status not in RESTS]
        return not under_way and all(one.is_over for one in self._operations())

    async def carry_out(self, act: Act) -> None:
        chance = act.chance()
        wish = getattr(self, act.word)(chance)
        if wish is None:
            return
        key, work = wish
        if act.word in SECOND_THOUGHTS and chance.random() < 0.5:
            self._scheduler.spawn(self._fleet.world, "second thoughts", self._think_again(act.word, key, chance))
        if act.word == "maintain_host" and chance.random() < 0.4:
            self._scheduler.spawn(self._fleet.world, "in the act", self._cancel_in_the_act(key))
        await self._send(act.word, key, work, chance)

    async def _think_again(self, word: str, key: str, chance: Random) -> None:
        """Another word soon after, often while the first is being carried out."""
        for second in chance.choice(SECOND_THOUGHTS[word]):
            await self._scheduler.sleep(
                chance.randrange(chance.choice((15 * MS_US, 15 * MS_US, 300 * SECOND_US, 1800 * SECOND_US)))
            )
            await self._send(second, key, getattr(self, f"_{second}")(key), chance)

    async def _cancel_in_the_act(self, key: str) -> None:
        """Just when its wave is formed, of the very process, which from then on hears slowly from the store."""
        for _ in range(LOOKS_MAX):
            await self._scheduler.sleep(LOOK_US)
            for server in self._fleet.working:
                known = server.node.operations.book.get(key)
                if known and known.wave:
                    cancelling = self._asked(server, "cancel_operation", key, self._cancel_operation(key))
                    self._scheduler.spawn(self._fleet.world, "cancel", ignoring(cancelling))
                    await self._scheduler.sleep(LOOK_US)
                    await self._suffer(server.facts.machine, Trouble.SLOW_STORE, SLOW_FOR_US)
                    return

    async def _suffer(self, machine: str, trouble: Trouble, for_us: int) -> None:
        self._fleet.begin_trouble(self._fleet.machines[machine], trouble)
        await self._scheduler.sleep(for_us)
        self._fleet.end_trouble(self._fleet.machines[machine], trouble)

    def _go_wrong(self) -> None:
        """For hours hardly anything succeeds, so that a rollout has a reason to halt."""
        for machine in self._fleet.machines:
            suffering = self._suffer(machine, Trouble.FAILING_EXECUTOR, BAD_DAY_US)
            self._scheduler.spawn(self._fleet.world, "bad day", suffering)

    async def _send(self, word: str, key: str, work: Work, chance: Random) -> None:
        for _ in range(TRIES):
            working = self._fleet.working
            server = chance.choice(working) if working else None
            answer = await self._asked(server, word, key, work) if server else None
            if answer and not isinstance(answer[0], StoreUnavailable):
                return
            await self._scheduler.sleep(chance.randrange(1, 20) * SECOND_US)

    async def _asked(self, server: Server, word: str, key: str, work: Work) -> tuple[Refusal | None] | None:
        def tell(answer: tuple[Refusal | None]) -> None:
            self._tell(MaintainerAnswered(self._scheduler.now_us, server.facts.name, word, key, answer[0]))

        return await self._fleet.inside(server, done(work, server), tell)

    # -- Words

    def maintain_host(self, chance: Random) -> tuple[str, Work]:
        host, ahead_s = chance.choice((*HOSTS, "h9")), chance.choice((None, None, None, 1, 1800))
        wished = Operation(
            id=ids_from(chance)(),
            type=chance.choice(MAINTENANCE_TYPES),
            made_by=OPERATOR,
            made_at_ms=0,
            host=host,
            description="Host server is undergoing maintenance.",
            duration_s=chance.choice((-1, -1, 9)),
        )

        async def work(server: Server) -> object:
            now_ms = server.node.clock.now().wall_ms
            not_before_ms = now_ms + ahead_s * 1000 if ahead_s else None
            made = replace(wished, made_at_ms=now_ms, not_before_ms=not_before_ms)
            return await server.node.operations.begin(begun(made, server.node.snapshot.by_key))

        return wished.id, work

    def cancel_operation(self, chance: Random) -> tuple[str, Work]:
        live = [one.id for one in self._operations() if not one.is_over]
        ended = [one.id for one in self._operations() if one.is_over]
        key = chance.choice([*(live * 4), *ended[:1], STRANGER])
        return key, self._cancel_operation(key)

    def _cancel_operation(self, key: str) -> Work:
        return lambda server: server.node.operations.cancel(key, OPERATOR, "cancelled by operator ops")

    def begin_rollout(self, chance: Random) -> tuple[str, Work] | None:
        if sum(not one.is_over for one in self._rollouts()) >= ROLLOUTS_AT_ONCE:
            return None
        over = chance.choice(tuple(Over))
        names = (*HOSTS, "h9") if over is Over.HOSTS else self._plan.scopes
        limits = some_limits(chance, over)
        if chance.random() < 0.4:
            self._go_wrong()
            limits = chance.choice((limits, MUCH_AT_ONCE))
        rollout = Rollout(
            id=ids_from(chance)(),
            type=chance.choice(MAINTENANCE_TYPES),
            over=over,
            made_by=OPERATOR,
            made_at_ms=0,
            limits=limits,
            duration_s=chance.choice((-1, -1, 9)),
            waiting=tuple(chance.sample(names, chance.randrange(1, len(names) + 1))),
        )

        async def work(server: Server) -> object:
            made = replace(rollout, made_at_ms=server.node.clock.now().wall_ms)
            return await server.node.rollouts.begin(made, OPERATOR)

        return rollout.id, work

    def pause_rollout(self, chance: Random) -> tuple[str, Work]:
        key = self._some_rollout(chance)
        return key, self._pause_rollout(key)

    def _pause_rollout(self, key: str) -> Work:
        return lambda server: server.node.rollouts.pause(key, OPERATOR)

    def resume_rollout(self, chance: Random) -> tuple[str, Work]:
        key = self._some_rollout(chance)
        return key, self._resume_rollout(key)

    def _resume_rollout(self, key: str) -> Work:
        return lambda server: server.node.rollouts.resume(key, OPERATOR)

    def cancel_rollout(self, chance: Random) -> tuple[str, Work]:
        key = self._some_rollout(chance)
        return key, self._cancel_rollout(key)

    def _cancel_rollout(self, key: str) -> Work:
        return lambda server: server.node.rollouts.cancel(key, OPERATOR)

    # -- Choices

    def _some_rollout(self, chance: Random) -> str:
        live = [one.id for one in self._rollouts() if not one.is_over]
        ended = [one.id for one in self._rollouts() if one.is_over]
        return chance.choice([*(live * 5), *ended[-1:], STRANGER])

    def _operations(self) -> list[Operation]:
        return [one for one in self._read("operation", ENCODINGS.operations) if isinstance(one, Operation)]

    def _rollouts(self) -> list[Rollout]:
        return [one for one in self._read("rollout", ENCODINGS.rollouts) if isinstance(one, Rollout)]

    def _read(self, of: str, encoding: Encoding[Any]) -> list[object]:
        found = sorted((key, document) for (kind, key), document in self._disk.documents.items() if kind == of)
        for key, document in found:
            if self._known.get(key, (0, None))[0] != document.revision:
                self._known[key] = (document.revision, encoding.decode(document.body))
        return [self._known[key][1] for key, _ in found]


async def ignoring(work: Coroutine[Any, Any, object]) -> None:
    await work


async def done(work: Work, server: Server) -> tuple[Refusal | None]:
    """In a tuple, because nothing at all is what a dead process answers."""
    try:
        await work(server)
    except Refusal as refusal:
        return (refusal,)
    return (None,)


def some_limits(chance: Random, over: Over) -> Limits:
    """As the control API would make them: some budget there always is."""
    max_hosts, max_scopes, max_vms = (chance.choice((None, 1, 2, 3)), chance.choice((None, None, 2, 3)), None)
    if chance.random() < 0.3:
        max_vms = chance.choice((1, 2, 4))
    if max_hosts is max_scopes is max_vms is None:
        max_hosts, max_scopes = (1, None) if over is Over.HOSTS else (None, 1)
    return Limits(
        max_hosts=max_hosts,
        max_scopes=max_scopes,
        max_vms=max_vms,
        recovery_s=chance.choice((0, 0, 60, 600)),
        windows=(some_window(chance),) if chance.random() < 0.3 else (),
        impacts_max=chance.choice((None, None, 1, 2, 3)),
        impacts_per_s=chance.choice((600, 1800, 3600)),
        vm_rest_s=chance.choice((0, 0, 0, 1800, 7200)),
        failed_max=chance.choice((0, 0, 1, 2)),
    )


def some_window(chance: Random) -> Window:
    """Of every day, so that it comes round; often over midnight, often in another time zone."""
    from_min = chance.randrange(24) * HOUR_MIN
    to_min = (from_min + chance.randrange(3, 14) * HOUR_MIN) % (24 * HOUR_MIN)
    return Window(DAYS, from_min, to_min, chance.choice(("UTC", "Europe/Prague", "America/New_York")))
