"""S1 and §2.5: a scope listens while any of its VMs asked within 24 h; only one that does not gets no notice.

Rule 1: a VM that was answered 200 or 304 has asked. The process that answered knows it at once; others know that
somebody of the scope asked at most an hour before (it is saved hourly), so two of the 24 hours are left out.
Rule 2: whoever was answered has found its scope enabled, or enabled it by a commit before the answer.
Rule 3: after a clock step, or when the process that heard it was in trouble or is gone, nobody is blamed.
"""

from typing import ClassVar, NamedTuple

from notbefore.core.kinds import Listening, Status
from notbefore.core.model import Event
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.askers import surely_heard
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Commit, Ledger, vm_keys
from notbefore.simulation.steps import ClockStepped, Committed, Step, VmAnswered

SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
HOUR_MS = 3_600_000
SURELY_H = 22
DAY_MS = 24 * HOUR_MS
FOLLOWED_US = 2 * SECOND_US
SAVED_US = HOUR_US + 300 * SECOND_US
CALM_BEFORE_US = 120 * SECOND_US
UNCHANGED_US = 60 * SECOND_US
HEARD = frozenset({200, 304})


class Heard(NamedTuple):
    at_us: int
    wall_ms: int


class ListeningScopes:
    code: ClassVar[str] = "S1"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._stepped_us = -1
        self._vms: dict[str, set[str]] = {}
        self._vms_changed_us: dict[str, int] = {}
        # By scope: when a VM last asked which process.
        self._heard: dict[str, dict[tuple[str, str], Heard]] = {}

    def see(self, step: Step, facts: Facts) -> None:
        if isinstance(step, VmAnswered):
            self._hear(step, facts)
        elif isinstance(step, Committed):
            commit = self._ledger.read(step)
            if commit.vms_changed:
                self._note_vms(step, commit)
            for move in commit.moves:
                if move.becomes_visible and move.after:
                    self._judge_notice(step, move.after)
                if move.starts and move.after and any(c.what == "started: nobody listens" for c in move.told):
                    self._judge_silence(step, commit.key, move.after, facts)
        elif isinstance(step, ClockStepped):
            self._stepped_us = step.at_us

    def _hear(self, step: VmAnswered, facts: Facts) -> None:
        scope, vm = step.vm
        settled = step.at_us - self._vms_changed_us.get(scope, step.at_us) >= FOLLOWED_US
        certain = self._ledger.askers.is_certain(step, facts)
        if step.answer.status in HEARD and settled and certain and vm in self._vms[scope]:
            heard = Heard(step.at_us, facts.wall_ms(step.process))
            self._heard.setdefault(scope, {})[vm, step.process] = heard
            if step.asked_us - self._vms_changed_us[scope] > UNCHANGED_US:
                self._judge_enabled(step, heard.wall_ms, facts)

    def _judge_enabled(self, step: VmAnswered, wall_ms: int, facts: Facts) -> None:
        """The VMs are the same for a while, so that what the process had heard of was not lost with one of them."""
        process = facts.processes[step.process]
        if process.stepped_us >= step.asked_us or not surely_heard(step, step.asked_us - UNCHANGED_US, facts):
            return
        newest_ms = max(facts.scopes[step.vm.scope].scope.asked_ms.values(), default=0)
        took_ms = (step.at_us - step.asked_us) // 1000 + 1
        if wall_ms - newest_ms > DAY_MS + took_ms:
            sentence = f"{step.process} answered {step.vm.vm}, the first in a day, and did not commit that it asked"
            raise Violation("§2.5", sentence, step.vm.scope)

    def _note_vms(self, step: Committed, commit: Commit) -> None:
        names = vm_keys(step.after)
        if names != self._vms.get(commit.key):
            self._vms[commit.key] = names
            self._vms_changed_us[commit.key] = step.at_us
            heard = self._heard.get(commit.key, {})
            self._heard[commit.key] = {asked: when for asked, when in heard.items() if asked[0] in names}

    def _judge_notice(self, step: Committed, event: Event) -> None:
        listening = step.after.settings.listening
        if listening is Listening.NEVER and event.status is Status.SCHEDULED:
            raise self._broken("it became Scheduled in a scope set to listening = never", step, event)
        at_ms = step.record.at_ms if step.record else 0
        if listening is Listening.AUTO and all(at_ms - asked_ms > DAY_MS for asked_ms in step.after.asked_ms.values()):
            raise self._broken("it became Scheduled though no VM of its scope asked within 24 h", step, event)

    def _judge_silence(self, step: Committed, key: str, event: Event, facts: Facts) -> None:
        listening = step.after.settings.listening
        if listening is Listening.ALWAYS:
            raise self._broken("it got no notice in a scope set to listening = always", step, event)
        if listening is Listening.NEVER:
            return
        for (vm, process), heard in self._heard.get(key, {}).items():
            if self._surely_asked(step, key, process, heard, facts):
                ago_s = (step.decided_us - heard.at_us) // SECOND_US
                raise self._broken(f"it got no notice, and {vm} had asked {process} {ago_s} s before", step, event)

    def _surely_asked(self, step: Committed, key: str, process: str, heard: Heard, facts: Facts) -> bool:
        ago_us = step.decided_us - heard.at_us
        ago_ms = (step.record.at_ms if step.record else 0) - heard.wall_ms
        if not 0 < ago_us < SURELY_H * HOUR_US or ago_ms >= SURELY_H * HOUR_MS or self._stepped_us >= heard.at_us:
            return False
        if process == step.process:
            return True
        heard_by = facts.processes[process]
        is_well = heard_by.ended_us is None and heard_by.calm_since_us is not None
        was_well = is_well and (heard_by.calm_since_us or 0) <= heard.at_us - CALM_BEFORE_US
        # The one whose question was saved last may have left, and taken it along.
        all_still_there = self._vms_changed_us[key] <= heard.at_us - SAVED_US
        return was_well and all_still_there and ago_us > SECOND_US

    def _broken(self, sentence: str, step: Committed, event: Event) -> Violation:
        return Violation(self.code, f"{event.id}: {sentence}", step.after.key, event.id)
