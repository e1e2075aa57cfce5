"""§3.4: a wave holds at most one update domain per scope, has one NotBefore, and starts by approval only as a whole.

Rule 1: an event of a wave comes while its operation means it to: what it let go, or what was cancelled, never comes.
Rule 2: an approved event starts when every other of its wave is released, has started, is over, or will not come.
Not here: deadlines, which always win (starts.py, liveness.py).
"""

from typing import ClassVar

from notbefore.core.model import name_key
from notbefore.core.operation import Operation, Wave
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.wave_book import Part, WaveBook
from notbefore.simulation.steps import Committed, DocumentPut, Step

APPROVED = "started: approved"


class Waves:
    code: ClassVar[str] = "§3.4"

    def __init__(self, book: WaveBook) -> None:
        self._book = book

    def see(self, step: Step, facts: Facts) -> None:
        if isinstance(step, Committed):
            for part, move in self._book.moved(step, facts):
                if move.before is None:
                    self._judge_coming(part)
                if move.starts and any(change.what == APPROVED for change in move.told):
                    self._judge_gate(part)
        elif isinstance(step, DocumentPut):
            turned = self._book.turned(step, facts).operation
            if turned and turned[1] and turned[1].wave:
                judge_company(turned[1], turned[1].wave)
        else:
            self._book.see(step, facts)

    def _judge_coming(self, part: Part) -> None:
        event, operation = part.event, self._book.operations.get(part.wave[0])
        wave = operation.wave if operation else None
        if operation is None or wave is None or wave.number != part.wave[1]:
            raise broken("it came, and its operation is in no such wave", part)
        member = next((one for one in wave.members if one.event_id == event.id), None)
        if member is None:
            raise broken("it came after its wave had let it go", part)
        if (name_key(member.scope), member.update_domain, member.vms) != (part.key, event.update_domain, event.vms):
            raise broken("it is not what its operation asked for", part)
        if operation.host and part.hosts != {name_key(operation.host)}:
            raise broken(f"it is of VMs on {sorted(part.hosts)}, and the operation of host {operation.host}", part)
        if event.recovery_s != operation.recovery_s:
            raise broken(f"its domain gets {event.recovery_s} s of rest, not {operation.recovery_s}", part)
        if event.not_before_ms != wave.not_before_ms:
            raise broken(f"its NotBefore is {event.not_before_ms}, and that of its wave {wave.not_before_ms}", part)
        for other in self._book.came[part.wave].values():
            if other.key == part.key and other.event.update_domain != event.update_domain:
                raise broken(f"another update domain of its scope is in its wave: {other.event.id}", part)

    def _judge_gate(self, part: Part) -> None:
        operation = self._book.operations.get(part.wave[0])
        wave = operation.wave if operation and operation.wave and operation.wave.number == part.wave[1] else None
        meant = {member.event_id for member in wave.members} if wave else set()
        for event_id in self._book.members.get(part.wave, {}):
            other = self._book.parts.get(event_id)
            if other is None and event_id in meant:
                raise broken(f"it was let through while {event_id} of its wave had not come", part)
            if other and not other.may_start:
                raise broken(f"it was let through while {event_id} of its wave was only announced", part)


def judge_company(operation: Operation, wave: Wave) -> None:
    domains: dict[str, int] = {}
    for member in wave.members:
        if domains.setdefault(name_key(member.scope), member.update_domain) != member.update_domain:
            sentence = f"wave {wave.number} of {operation.id} holds two update domains of {member.scope}"
            raise Violation("§3.4", sentence, name_key(member.scope), member.event_id)


def broken(sentence: str, part: Part) -> Violation:
    return Violation("§3.4", f"{part.event.id}: {sentence}", part.key, part.event.id)
