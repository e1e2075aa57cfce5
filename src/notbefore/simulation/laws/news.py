"""News: every target gets every change it wants, at least once, in the order of its scope, under one id.

Rule 1: what comes is what was committed, and one id is one change, whoever sends it and however often.
Rule 2: of two changes of a scope the earlier comes first; leaving out what was refused often enough, or retired and
announced so. What came before may come again at any time.
Rule 3: when the run ends, long after the last trouble, nothing is left to tell.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import ClassVar

from notbefore.core.history import Change, HistoryRecord
from notbefore.core.news import Gap, News
from notbefore.ports import StoredRecord
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.steps import Committed, DocumentPut, Ended, NewsArrived, NewsRefused, Step

# So often a target has refused before anything is given up.
REFUSALS_MIN = 12

Key = tuple[int, int]


@dataclass(slots=True)
class Receiver:
    """One target's books: what it is owed, by scope and in order, and what it has."""

    owed: dict[str, deque[Key]] = field(default_factory=dict)
    has: set[Key] = field(default_factory=set)
    refused: Counter[Key] = field(default_factory=Counter)
    gaps: list[Gap] = field(default_factory=list)


class NewsOfHistory:
    code: ClassVar[str] = "news"

    def __init__(self) -> None:
        # Whoever has a place in history, from when that was made.
        self._receivers: dict[str, Receiver] = {}
        self._records: dict[int, HistoryRecord] = {}
        self._key_of: dict[str, Key] = {}
        self._id_of: dict[Key, str] = {}

    def see(self, step: Step, facts: Facts, /) -> None:
        match step:
            case DocumentPut(kind="notify"):
                self._receivers.setdefault(step.key, Receiver())
            case Committed(record=HistoryRecord()) | DocumentPut(record=HistoryRecord()):
                self._owe(facts.records[-1])
            case NewsArrived(news=Gap() as gap):
                self._receivers[step.target].gaps.append(gap)
            case NewsArrived(news=News() as news):
                self._judge_content(news)
                self._judge_order(step.target, news, facts)
            case NewsRefused(news=News() as news):
                self._receivers[step.target].refused[news.revision, news.number] += 1
            case Ended():
                self._judge_end(facts)
            case _:
                pass

    def _owe(self, stored: StoredRecord) -> None:
        self._records[stored.revision] = stored.record
        scope = stored.record.scope.casefold()
        for number, change in enumerate(stored.record.changes):
            for name, receiver in self._receivers.items():
                if name == "everything" or is_start_of_some(scope, change):
                    receiver.owed.setdefault(scope, deque()).append((stored.revision, number))

    def _judge_content(self, news: News) -> None:
        key = (news.revision, news.number)
        record = self._records.get(news.revision)
        if record != news.record or record.changes[news.number] != news.change:
            raise Violation(self.code, f"{news.id} is not what was committed as revision {news.revision}")
        if self._key_of.setdefault(news.id, key) != key or self._id_of.setdefault(key, news.id) != news.id:
            raise Violation(self.code, f"{news.id} and change {key} do not belong together for good")

    def _judge_order(self, target: str, news: News, facts: Facts) -> None:
        receiver, key, scope = self._receivers[target], (news.revision, news.number), news.record.scope.casefold()
        # What was given up may still come: by a process that took over from where the cursor was saved.
        if key in receiver.has or receiver.refused[key] >= REFUSALS_MIN:
            return
        owed = receiver.owed.get(scope, deque())
        while owed and owed[0] < key:
            missing = owed.popleft()
            if not is_excused(receiver, missing, facts):
                raise Violation(self.code, f"{target} gets {key} before it has {missing}", scope)
        if not owed or owed.popleft() != key:
            raise Violation(self.code, f"{target} gets {key}, which it does not want", scope)
        receiver.has.add(key)

    def _judge_end(self, facts: Facts) -> None:
        for target, receiver in self._receivers.items():
            for scope, owed in receiver.owed.items():
                for missing in owed:
                    if not is_excused(receiver, missing, facts):
                        raise Violation(self.code, f"{target} was never told of {missing}", scope)


def is_start_of_some(scope: str, change: Change) -> bool:
    return scope[:1] in {"b", "m"} and change.what.startswith("started")


def is_excused(receiver: Receiver, key: Key, facts: Facts) -> bool:
    if receiver.refused[key] >= REFUSALS_MIN:
        return True
    is_gone = all(stored.revision != key[0] for stored in facts.records)
    return is_gone and any(gap.after < key[0] <= gap.through for gap in receiver.gaps)
