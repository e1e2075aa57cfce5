"""Hosts and tokens: done means kept, every change is explained, and a revoked token opens nothing from then on.

Rule 1: a word that was answered as done is what the store held at some time since it was asked.
Rule 2: the process that answered goes by it at once; others, when calm, within the time of the feed.
Rule 3: a change of a host or token has its record of history, of no scope.
"""

from typing import ClassVar

from notbefore.core.model import name_key
from notbefore.simulation.facts import Facts, ProcessFacts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.steps import DocumentPut, HandAnswered, Step, TokenShown

EXPLAINED = ("host", "token")
# What must be in the store after each word; and what a second try may hear when the first had been done.
IS_THERE = {"declare_host": True, "create_token": True, "remove_host": False, "revoke_token": False}
SEEN_WITHIN_US = 150_000
SETTLED_US = 2_000_000


class Keeping:
    code: ClassVar[str] = "S11"

    def __init__(self) -> None:
        # Per kind and key: when it was last put or removed, whether it is there since, and by whom.
        self._changed: dict[tuple[str, str], DocumentPut] = {}
        # When a process last answered a word on a token as done.
        self._answered_us: dict[tuple[str, str], int] = {}

    def see(self, step: Step, facts: Facts, /) -> None:
        match step:
            case DocumentPut():
                self._note(step)
            case HandAnswered(refusal=None):
                self._judge_done(step, facts)
            case TokenShown():
                self._judge_shown(step, facts)
            case _:
                pass

    def _note(self, step: DocumentPut) -> None:
        record = step.record
        if step.kind in EXPLAINED and (record is None or record.scope or not all(c.why for c in record.changes)):
            raise Violation(self.code, f"{step.kind} {step.key} changed and history does not say why")
        self._changed[step.kind, step.key] = step

    def _judge_done(self, step: HandAnswered, facts: Facts) -> None:
        """Unless somebody changed it again before the answer came."""
        kind, key = step.word.rpartition("_")[2], name_key(step.name)
        self._answered_us[step.process, key] = step.at_us
        is_there = (kind, key) in facts.documents
        last = self._changed.get((kind, key))
        changed_since = last is not None and step.at_us - last.at_us < SETTLED_US * 5
        if is_there != IS_THERE[step.word] and not changed_since:
            raise Violation("S7", f"{step.process} answered {step.word} {step.name} as done, and it is not")

    def _judge_shown(self, step: TokenShown, facts: Facts) -> None:
        key = name_key(step.name)
        last = self._changed.get(("token", key))
        is_there = ("token", key) in facts.documents
        if step.opens == is_there:
            return
        changed_us = last.at_us if last else -1
        answered_since = self._answered_us.get((step.process, key), -1) > changed_us
        has_heard = step.at_us - changed_us > SEEN_WITHIN_US and is_settled(facts.processes[step.process], step.at_us)
        if answered_since or has_heard:
            what = "opens" if step.opens else "does not open"
            raise Violation("§5", f"the token {step.name} {what} {step.process}, and the store has it otherwise")


def is_settled(process: ProcessFacts, now_us: int) -> bool:
    if process.loaded_us is None or process.calm_since_us is None:
        return False
    return max(process.loaded_us, process.calm_since_us) <= now_us - SETTLED_US
