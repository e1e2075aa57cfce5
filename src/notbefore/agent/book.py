"""The lives as the agent knows them: the journal replayed, and every further fact written before it counts.

Rule 1: a fact is on disk before it counts. One that cannot be written waits, in order, and everything after it.
Rule 2: lives that are older than a hole in the journal are in doubt: nothing more is done for them.
Rule 3: steady times of this boot are taken as they were; those of another are found by the wall clock.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from notbefore.agent.facts import Appeared, Fact, Opened, RuleReader, read, written
from notbefore.agent.folding import after
from notbefore.agent.journal import Line, Replay
from notbefore.agent.life import Life, Lives
from notbefore.client import Clock

COMPACT_BYTES: Final = 64 * 1024
COMPACT_IDLE_BYTES: Final = 8 * 1024
GROWTH: Final = 2

log = logging.getLogger("notbefore.agent")

Listener = Callable[[Fact, Lives, Lives], None]
Stamped = tuple[Fact, float, float]
"""A fact, and when it happened: on the wall and on the steady clock of its boot."""


class Keeping(Protocol):
    """What keeps the lines: a journal on disk, or nothing at all."""

    path: Path
    size: int

    def open(self) -> Replay: ...

    def append(self, line: Line) -> None: ...

    def rewrite(self, kept: Callable[[list[Line]], Iterable[Line]]) -> None: ...

    def close(self) -> None: ...


class Book:
    """`listener` hears of each fact with the lives before and after it, once it is on disk."""

    def __init__(self, journal: Keeping, clock: Clock, listener: Listener) -> None:
        self.lives = Lives()
        self.holes: list[int] = []
        self.reason = ""
        self.torn = False
        self.trouble = ""
        self._journal = journal
        self._clock = clock
        self._listener = listener
        self._waiting: deque[Stamped] = deque()
        self._compacted = 0

    @property
    def path(self) -> Path:
        return self._journal.path

    def doubted(self) -> list[Life]:
        return [life for life in self.lives.living.values() if life.in_doubt]

    def open(self, opened: Opened, rule_of: RuleReader) -> None:
        replay = self._journal.open()
        self.torn, self.holes = replay.torn, replay.holes
        boot, appeared_on = "", dict[str, int]()
        for line in _still_needed(replay.lines):
            if (known := self._read(line, rule_of)) is None:
                continue
            fact, wall_s, steady_s = known
            boot = fact.boot if isinstance(fact, Opened) else boot
            if isinstance(fact, Appeared):
                appeared_on[fact.life] = int(line["line"])
            at_s = steady_s if boot == opened.boot != "" else self._clock.steady_s() - (self._clock.wall_s() - wall_s)
            self.lives = after(self.lives, fact, min(at_s, self._clock.steady_s()))
        self._doubt(appeared_on)
        self.note(opened)

    def _read(self, line: Line, rule_of: RuleReader) -> Stamped | None:
        try:
            plain = {key: value for key, value in line.items() if key not in ("wall", "steady", "line")}
            return read(plain, rule_of), float(line["wall"]), float(line["steady"])
        except (ValueError, TypeError, KeyError) as error:
            self.holes.append(int(line["line"]))
            self.reason = self.reason or str(error)
            return None

    def _doubt(self, appeared_on: Mapping[str, int]) -> None:
        last = max(self.holes, default=0)
        doubted = {
            name: replace(life, in_doubt=appeared_on.get(name, 0) <= last) for name, life in self.lives.living.items()
        }
        self.lives = replace(self.lives, living=doubted)

    def note(self, *facts: Fact) -> bool:
        """Write these down; whether they, and all before them, are on disk."""
        self._waiting.extend(self._stamped(fact) for fact in facts)
        return self.catch_up()

    def promise(self, fact: Fact) -> bool:
        """Write down what is about to be done; when that is not possible it is not to be done."""
        return self.catch_up() and self._written(self._stamped(fact))

    def catch_up(self) -> bool:
        """Write what could not be written before."""
        while self._waiting:
            if not self._written(self._waiting[0]):
                return False
            self._waiting.popleft()
        return True

    def _stamped(self, fact: Fact) -> Stamped:
        return fact, self._clock.wall_s(), self._clock.steady_s()

    def _written(self, stamped: Stamped) -> bool:
        fact, wall_s, at_s = stamped
        try:
            self._journal.append({"wall": wall_s, "steady": at_s, **written(fact)})
        except OSError as error:
            self.trouble = error.strerror or str(error)
            return False
        self.trouble = ""
        before, self.lives = self.lives, after(self.lives, fact, at_s)
        self._listener(fact, before, self.lives)
        return True

    def compact(self) -> None:
        """Forget what is over, when there is enough of it."""
        most = max(COMPACT_BYTES, GROWTH * self._compacted) if self.lives.living else COMPACT_IDLE_BYTES
        if self.holes or self._waiting or self._journal.size <= max(most, self._compacted + COMPACT_IDLE_BYTES):
            return
        try:
            self._journal.rewrite(self._kept)
        except OSError as error:
            log.warning("the journal could not be made smaller: %s", error.strerror or error)
        self._compacted = self._journal.size

    def _kept(self, lines: list[Line]) -> Iterable[Line]:
        living, memories = self.lives.living, {memory.name for memory in self.lives.memories.values()}
        first = next((n for n, line in enumerate(lines) if line.get("life") in living), len(lines))
        # The opening before the first life says on which boot it began.
        opening = max((n for n, line in enumerate(lines[:first]) if line["what"] == "Opened"), default=0)
        for n, line in enumerate(lines):
            is_memory = line["what"] == "Over" and line["life"] in memories
            is_opening = line["what"] == "Opened" and n >= opening
            if line.get("life") in living or is_memory or is_opening:
                yield line

    def close(self) -> None:
        self._journal.close()


def _still_needed(lines: list[Line]) -> list[Line]:
    """Without the lines of lives that are over, but for their end: what their rules named may be gone by now.

    What stands behind the end is another life: an event that was forgotten meanwhile has come again under its old name.
    """
    over = {line.get("life"): n for n, line in enumerate(lines) if line.get("what") == "Over"}
    return [line for n, line in enumerate(lines) if n >= over.get(line.get("life"), 0) or line.get("what") == "Over"]
