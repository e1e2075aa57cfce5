"""What is expected in a scenario: the expectations there are, and how their lines are read.

Rule 1: what a line does not say is not looked at. A Started event shows no NotBefore; that is looked at always.
Rule 2: a name that `as` gives an event is its own: wherever it is named again, it has the same EventId.
Not here: looking, and comparing (judging.py).
"""

from dataclasses import dataclass

from notbefore.core.kinds import EventType, Source, Status, VmState
from notbefore.scenarios.names import Names
from notbefore.scenarios.words import Words

SHOWN = (Status.SCHEDULED, Status.STARTED)
GONE = "gone"


@dataclass(frozen=True, slots=True)
class Sees:
    """One event of the VM's document; with `only`, the only one."""

    vm: str
    type: str
    status: str
    of: tuple[str, ...]
    only: bool = False
    called: str = ""
    not_before_s: int | None = None
    source: str | None = None
    duration_s: int | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class SeesNothing:
    vm: str


@dataclass(frozen=True, slots=True)
class NoLongerSees:
    vm: str
    event: str


@dataclass(frozen=True, slots=True)
class SeesIncarnation:
    """Changed or not since the last line of the time before; at the first time, since the start."""

    vm: str
    changed: bool


@dataclass(frozen=True, slots=True)
class VmIs:
    """What the operator's list of VMs says of it."""

    vm: str
    state: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class HistoryTells:
    """Every change of the event, in order, each by its word."""

    event: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistorySays:
    """A line of the history of an event or a scope has this text in it."""

    text: str
    event: str = ""
    scope: str = ""


Expectation = Sees | SeesNothing | NoLongerSees | SeesIncarnation | VmIs | HistoryTells | HistorySays


def seen_by(vm: str, words: Words, names: Names) -> Expectation:
    """The rest of `VM sees`."""
    if words.take("nothing"):
        return _whole(words, SeesNothing(vm))
    if words.take("incarnation"):
        changed = words.one_of(("changed", "unchanged")) == "changed"
        return _whole(words, SeesIncarnation(vm, changed))
    only = words.take("only")
    event_type = words.one_of(EventType, f"{', '.join(EventType)}, `only`, `nothing` or `incarnation`")
    status = words.one_of(SHOWN)
    words.need("of")
    of = names.vm_list(words)
    return _with_facts(words, names, Sees(vm, event_type, status, of, only))


def _with_facts(words: Words, names: Names, sees: Sees) -> Sees:
    not_before_s, source, duration_s, description, called = None, None, None, None, ""
    while words.take(","):
        if words.take("not before"):
            not_before_s = words.span_s()
        elif words.take("source"):
            source = words.one_of(Source)
        elif words.take("duration"):
            duration_s = words.number("seconds, or -1")
        elif words.is_quoted:
            description = words.quoted("a description")
        elif words.take("as"):
            called = names.named_event(words)
        else:
            raise words.unexpected(
                '`not before TIME`, `source Platform`, `duration SECONDS`, "a description" or `as NAME`'
            )
    words.need_end()
    if sees.status == Status.STARTED and not_before_s is not None:
        raise words.unexpected("no `not before` of a Started event: it shows none")
    return Sees(
        sees.vm, sees.type, sees.status, sees.of, sees.only, called, not_before_s, source, duration_s, description
    )


def no_longer_seen_by(vm: str, words: Words, names: Names) -> Expectation:
    return _whole(words, NoLongerSees(vm, names.event(words)))


def state_of(vm: str, words: Words, names: Names) -> Expectation:
    """The rest of `VM is`."""
    state = words.one_of((*VmState, GONE))
    host = names.host(words) if state != GONE and words.take("on") else ""
    return _whole(words, VmIs(vm, state, host))


def history(words: Words, names: Names) -> Expectation:
    """The rest of a line that begins with `history of`."""
    if words.take("scope"):
        scope = names.scope(words)
        words.need("says")
        return _whole(words, HistorySays(words.quoted("a quoted text"), scope=scope))
    event = names.event(words)
    if words.one_of(("tells", "says")) == "says":
        return _whole(words, HistorySays(words.quoted("a quoted text"), event=event))
    return HistoryTells(event, _words_of_history(words))


def _words_of_history(words: Words) -> tuple[str, ...]:
    """`scheduled, started, impact done, completed`."""
    told = [_phrase(words)]
    while words.take(","):
        told.append(_phrase(words))
    words.need_end()
    return tuple(told)


def _phrase(words: Words) -> str:
    said = [words.name("a word of history such as scheduled, started or completed")]
    while not words.is_over and not words.is_comma:
        said.append(words.name("a word of history"))
    return " ".join(said)


def _whole(words: Words, expectation: Expectation) -> Expectation:
    words.need_end()
    return expectation
