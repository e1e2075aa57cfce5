"""One run: the seed's plan carried out on a fleet, every step told and judged.

Rule 1: after the planned hours all trouble ends; then hours of quiet, in which everything that was begun must end.
Rule 2: the first broken law ends the run.
Called by: seeds.py, shrink.py.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random

from notbefore.core.kinds import Status
from notbefore.ports import Document, Stored, StoredRecord
from notbefore.runtime.snapshot import VmRef
from notbefore.simulation.addresses import Addresses
from notbefore.simulation.coverage import Coverage, Reached
from notbefore.simulation.disk import Disk
from notbefore.simulation.facts import ProcessFacts
from notbefore.simulation.fleet import Fleet, Machine
from notbefore.simulation.guests import Guest
from notbefore.simulation.keepers import Keepers
from notbefore.simulation.laws.all import all_laws
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.maintainers import Maintainers
from notbefore.simulation.operators import Operators, address_of, vm_names
from notbefore.simulation.plan import HOUR_US, KEEPERS, MAINTAINERS, Act, Plan, planned
from notbefore.simulation.scheduler import MS_US, SECOND_US, Scheduler
from notbefore.simulation.steps import Committed, Ended, Step, TroubleChanged
from notbefore.simulation.story import Story
from notbefore.simulation.trouble import OF_EXECUTORS, OF_THE_STORE, Trouble

QUIET_HOURS_MAX = 72
LASTS_S = (1, 600)
AFTERWARDS_US = 3 * SECOND_US
FOGGY_S = (1, 3)
STEPS_MS = (150, 1_100, 20_000, 600_000, 1_300_000, 7_200_000)


class BrokenSimulation(BaseException):
    """The simulator itself broke down; like a Violation it passes through the code under test."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run."""

    seed: int
    digest: str
    steps: int
    simulated_hours: float
    violation: Violation | None
    reached: Reached


class World:
    """A run under way; for the laws it is the source of facts."""

    def __init__(self, seed: int, hours: float, nodes: int, plan: Plan | None = None) -> None:
        self.seed = seed
        self.hours = hours
        self.plan = plan or planned(seed, hours, nodes)
        self.story = Story()
        self.coverage = Coverage(self)
        self._laws = all_laws()
        self._scheduler = Scheduler(Random(f"{seed}/order"))
        self._disk = Disk(self._scheduler, self.happen)
        self._fleet = Fleet(nodes, str(seed), self._scheduler, self._disk, self.happen)
        self._operators = Operators(self.plan, self._scheduler, self._fleet, self._disk, self.happen)
        self._keepers = Keepers(self._scheduler, self._fleet, self.happen)
        self._maintainers = Maintainers(self.plan, self._scheduler, self._fleet, self._disk, self.happen)
        self._addresses = Addresses()
        self._guests = self._made_guests()

    # -- Facts

    @property
    def now_us(self) -> int:
        return self._scheduler.now_us

    @property
    def scopes(self) -> Mapping[str, Stored]:
        return self._disk.scopes

    @property
    def documents(self) -> Mapping[tuple[str, str], Document]:
        return self._disk.documents

    @property
    def records(self) -> Sequence[StoredRecord]:
        return self._disk.records

    @property
    def processes(self) -> Mapping[str, ProcessFacts]:
        return self._fleet.processes

    def wall_ms(self, process: str) -> int:
        return self._fleet.machines[self._fleet.processes[process].machine].clock.wall_ms()

    # -- The run

    def run(self) -> Outcome:
        violation = None
        with silenced():
            try:
                self._run()
            except Violation as broken:
                violation = broken
            except Exception as error:
                if self._scheduler.broken_in is self._fleet.world:
                    raise
                # A task of the server died of it, and so would the server.
                violation = Violation("X", f"a server's task broke down: {type(error).__name__}: {error}")
                violation.__cause__ = error
            finally:
                self._fleet.end_all()
        hours = self._scheduler.now_us / HOUR_US
        return Outcome(self.seed, self.story.digest, len(self.story.lines), hours, violation, self.coverage.reached)

    def happen(self, step: Step) -> None:
        try:
            self._tell_and_judge(step)
        except Exception as error:
            raise BrokenSimulation(f"at {step}") from error

    def _tell_and_judge(self, step: Step) -> None:
        self.story.tell(step)
        self.coverage.see(step)
        for law in self._laws:
            law.see(step, self)
        if isinstance(step, Committed):
            self._addresses.see(step)
            if step.before is None or step.before.incarnation != step.after.incarnation:
                self._wake_guests(step.after.key)
        elif isinstance(step, TroubleChanged) and step.trouble in OF_THE_STORE and not step.began:
            for key in self._guests:
                self._scheduler.after(AFTERWARDS_US, partial(self._ring, key))

    def _wake_guests(self, key: str) -> None:
        """At the change; and while some process sees the store through a fog, as often as those that poll would ask."""
        self._ring(key)
        if any(trouble in OF_THE_STORE for machine in self._fleet.machines.values() for trouble in machine.troubles):
            for seconds in FOGGY_S:
                self._scheduler.after(seconds * SECOND_US, partial(self._ring, key))

    def _ring(self, key: str) -> None:
        for guest in self._guests.get(key, ()):
            guest.changed()

    def _run(self) -> None:
        for machine in self._fleet.machines.values():
            self._fleet.start(machine)
        self._scheduler.run_until(SECOND_US // 2)
        for guests in self._guests.values():
            for guest in guests:
                self._scheduler.spawn(self._fleet.world, "guest", guest.live())
        for act in self.plan.acts:
            self._scheduler.run_until(act.at_us)
            self._begin(act)
        self._scheduler.run_until(round(self.hours * HOUR_US))
        self._come_to_rest()
        self.happen(Ended(self._scheduler.now_us))

    def _come_to_rest(self) -> None:
        """Until nothing is left to do, then once more round the VMs."""
        self._fleet.end_all_troubles()
        for _ in range(QUIET_HOURS_MAX * 6):
            self._scheduler.run_until(self._scheduler.now_us + HOUR_US // 6)
            if (
                not any(stored.scope.events for stored in self._disk.scopes.values())
                and self._maintainers.all_is_done()
            ):
                break
        for guests in self._guests.values():
            for guest in guests:
                self._scheduler.spawn(self._fleet.world, "guest", guest.ask_last())
        self._scheduler.run_until(self._scheduler.now_us + 60 * SECOND_US)

    def _made_guests(self) -> dict[str, list[Guest]]:
        overheard: list[str] = []
        made: dict[str, list[Guest]] = {}
        for scope in self.plan.scopes:
            made[scope.casefold()] = [
                Guest(
                    VmRef(scope.casefold(), name.casefold()),
                    name,
                    address_of(self.plan, scope, n),
                    self.plan.habits[scope][n],
                    Random(f"{self.seed}/guest/{name}"),
                    self._scheduler,
                    self._fleet,
                    self.happen,
                    overheard,
                    self._addresses,
                )
                for n, name in enumerate(vm_names(self.plan, scope))
            ]
            for habit in self.plan.habits[scope]:
                self.coverage.note(f"habit {habit}")
        return made

    def _begin(self, act: Act) -> None:
        if act.whom in self._fleet.machines:
            chance = act.chance()
            machine = self._fleet.machines[act.whom]
            at_us = self._worst_time_us(machine, chance) if chance.random() < 0.4 else self._scheduler.now_us
            self._scheduler.at(at_us, lambda: self._befall(machine, Trouble(act.word), chance))
        elif act.whom == KEEPERS:
            self.coverage.note(f"operator {act.word}")
            self._scheduler.spawn(self._fleet.world, act.word, self._keepers.carry_out(act))
        elif act.whom == MAINTAINERS:
            self.coverage.note(f"operator {act.word}")
            self._scheduler.spawn(self._fleet.world, act.word, self._maintainers.carry_out(act))
        else:
            self.coverage.note(f"operator {act.word}")
            self._scheduler.spawn(self._fleet.world, act.word, self._operators.carry_out(act))

    def _worst_time_us(self, machine: Machine, chance: Random) -> int:
        """Just before, or after, the next event of all is due; now, if none is within the hour."""
        wall_ms = machine.clock.wall_ms()
        ahead_ms = sorted(
            event.notice.until_ms - wall_ms
            for stored in self._disk.scopes.values()
            for event in stored.scope.events_in(Status.SCHEDULED)
            if event.notice and 0 < event.notice.until_ms - wall_ms < HOUR_US // MS_US
        )
        away_us = ahead_ms[0] * MS_US + chance.randrange(-2 * SECOND_US, SECOND_US // 10) if ahead_ms else 0
        return self._scheduler.now_us + max(0, away_us)

    def _befall(self, machine: Machine, trouble: Trouble, chance: Random) -> None:
        if self._scheduler.now_us >= round(self.hours * HOUR_US):
            return
        # Now and then for seconds only; with executors long enough that they are given up on.
        unit_us = 4 * SECOND_US if trouble in OF_EXECUTORS else chance.choice((SECOND_US, SECOND_US // 20))
        lasts_us = chance.randrange(*LASTS_S) * unit_us
        self._fleet.begin_trouble(machine, trouble)
        match trouble:
            case Trouble.CRASH:
                self._fleet.crash(machine, lasts_us, "crashed")
            case Trouble.REBOOT:
                machine.clock.boot_again()
                self._fleet.crash(machine, lasts_us, "its machine reboots")
            case Trouble.STALL:
                self._fleet.stall(machine, lasts_us)
            case Trouble.STEP_FORWARD:
                self._fleet.step_clock(machine, chance.choice(STEPS_MS))
            case Trouble.STEP_BACK:
                self._fleet.step_clock(machine, -chance.choice(STEPS_MS))
            case _:
                pass
        self._scheduler.after(lasts_us, lambda: self._fleet.end_trouble(machine, trouble))


@contextmanager
def silenced() -> Iterator[None]:
    """The story tells it all; the server's own log would only slow it down."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
