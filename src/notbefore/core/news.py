"""News: one change of history on its way to somebody outside, and who wants to hear which.

Rule 1: a change has one id, made of what is stored of it; whoever tells it, and however often, tells it under that id.
Rule 2: what was retired before it was told is told as a gap, never passed over.
Not here: how news looks (control/cloud_events.py), how it gets there (notifiers/), when (runtime/delivery.py).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from uuid import NAMESPACE_URL, uuid5

from notbefore.core.history import Change, HistoryRecord, words_for
from notbefore.core.model import name_key


@dataclass(frozen=True, slots=True)
class News:
    """A change, with the record it stands in; `number` counts the changes of one record from 0."""

    id: str
    revision: int
    number: int
    record: HistoryRecord
    change: Change


@dataclass(frozen=True, slots=True)
class Gap:
    """Records after one revision, up to another, may have been retired before they were told."""

    id: str
    after: int
    through: int


@dataclass(frozen=True, slots=True)
class Interest:
    """Which news somebody wants: of scopes like these, with words like these. None given: all."""

    scopes: tuple[str, ...] = ()
    what: tuple[str, ...] = ()

    def wanted_of(self, revision: int, record: HistoryRecord) -> Iterator[News]:
        """The news in a record, in order, without those that nobody here wants to hear."""
        if self._wants_scope(name_key(record.scope)):
            for number, change in enumerate(record.changes):
                if self._wants_word(change):
                    yield News(news_id(revision, record, number), revision, number, record, change)

    def _wants_scope(self, scope: str) -> bool:
        """What concerns no scope is for those alone who want everything."""
        return not self.scopes or (scope != "" and any(fnmatchcase(scope, name_key(one)) for one in self.scopes))

    def _wants_word(self, change: Change) -> bool:
        return not self.what or any(name_key(one) in words_for(change.what) for one in self.what)


def news_id(revision: int, record: HistoryRecord, number: int) -> str:
    """With its request: in a store that was put back to an earlier state a revision alone would come again."""
    return str(uuid5(NAMESPACE_URL, f"notbefore:{record.request_id}/{revision}/{number}"))


def gap_between(after: int, through: int) -> Gap:
    return Gap(str(uuid5(NAMESPACE_URL, f"notbefore:retired/{after}/{through}")), after, through)
