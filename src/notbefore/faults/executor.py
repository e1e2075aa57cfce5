"""An executor with faults before it: another impact than the event says, or one more.

Rule 1: what is carried out is carried out by the executor itself; the evidence says which fault made it so.
Rule 2: a second impact is an attempt of its own, so it has an attempt id of its own.
Rule 3: a fault that is cleared before the second impact begins lets it go.
"""

from dataclasses import replace

from notbefore.core.kinds import EventType
from notbefore.core.times import SECOND_MS
from notbefore.faults.book import FaultBook
from notbefore.faults.fault import Fault
from notbefore.ports import Clock, Evidence, Executor, Impact, Tasks


class FaultyExecutor:
    def __init__(self, executor: Executor, book: FaultBook, clock: Clock, tasks: Tasks) -> None:
        self._executor = executor
        self._book = book
        self._clock = clock
        self._tasks = tasks

    @property
    def name(self) -> str:
        return self._executor.name

    async def carry_out(self, impact: Impact) -> Evidence:
        faults = {fault.kind.name: fault for fault in self._book.working_on(impact.event_id)}
        freeze, second = faults.get("freeze-instead"), faults.get("second-impact")
        done = replace(impact, type=EventType.FREEZE) if freeze else impact
        evidence = await self._executor.carry_out(done)
        if freeze:
            evidence = replace(evidence, sentence=f"{evidence.sentence}, instead of the {impact.type} ({freeze.name})")
        return await self._and_again(done, evidence, second) if second else evidence

    async def _and_again(self, impact: Impact, evidence: Evidence, fault: Fault) -> Evidence:
        if not await self._still_set_after(fault):
            return evidence
        second = replace(
            impact,
            attempt_id=f"{impact.attempt_id}/second",
            duration_s=int(fault.seconds("duration_s")),
            since_ms=self._clock.now().wall_ms,
        )
        again = await self._executor.carry_out(second)
        sentence = (
            f"{evidence.sentence}; {fault.seconds('after_s'):g} s later once more: {again.sentence} ({fault.name})"
        )
        return Evidence(sentence, again.new_host or evidence.new_host)

    async def _still_set_after(self, fault: Fault) -> bool:
        """Whether the fault was there for all the time until the second impact begins."""
        until_ms = self._clock.now().wall_ms + round(fault.seconds("after_s") * SECOND_MS)
        bell = self._tasks.signal()
        with self._book.told_when_cleared(fault, bell.ring):
            while self._book.is_set(fault) and self._clock.now().wall_ms < until_ms:
                await self._clock.wait(until_ms, bell)
        return self._book.is_set(fault)
