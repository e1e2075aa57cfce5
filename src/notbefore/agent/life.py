"""The life of an event: where each of its steps stands, its approval, and what the administrator is to be told.

Rule 1: no I/O, no clock. A life changes by facts alone (folding.py).
Rule 2: times are on the agent's steady clock, whatever the wall clock is set to meanwhile.
Not here: what to do next (wishes.py), who approves and when (approval.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from notbefore.agent.facts import life_named, life_number
from notbefore.agent.settings import AlertOn, Rule, StepRule
from notbefore.client import EventView
from notbefore.client.document import SCHEDULED


class Stage(StrEnum):
    """Where one step of a life stands."""

    WAITING = "waiting"
    AGAIN = "again"
    """Cut off by the agent's end, and repeatable: as if waiting, but begun."""
    DOING = "doing"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """Cut off by the agent's end, and not repeatable."""
    SKIPPED = "skipped"
    SHARED = "shared"
    UNDOING = "undoing"
    UNDONE = "undone"
    UNDO_FAILED = "undo-failed"
    UNDO_INTERRUPTED = "undo-interrupted"
    LEFT = "left"


UNDER_WAY = frozenset({Stage.DOING, Stage.UNDOING})
TO_DO = frozenset({Stage.WAITING, Stage.AGAIN})
IN_FORCE = frozenset({Stage.DONE, Stage.SHARED})
FAULTS = frozenset({Stage.FAILED, Stage.INTERRUPTED, Stage.SKIPPED})
# Begun, and not undone: whoever is in one of these holds the step.
HELD = frozenset({Stage.AGAIN, Stage.DONE, Stage.FAILED, Stage.INTERRUPTED, Stage.SHARED})


class Word(StrEnum):
    """Where the approval of a life stands."""

    NONE = "none"
    ASKING = "asking"
    GIVEN = "given"
    GONE = "gone"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something the administrator is to be told of, once."""

    number: int
    kind: AlertOn
    sentence: str
    step: str = ""


@dataclass(frozen=True, slots=True)
class Life:
    """One event, from its first sight to the end of its undo."""

    name: str
    vm: str
    """Who this VM was when the event appeared; its undo may have to do without the endpoint."""
    event: EventView
    rule: Rule
    mine: bool
    appeared_s: float
    deadline_s: float | None
    stages: tuple[Stage, ...]
    not_before: str = ""
    """The last NotBefore that was shown: it is shown no more once the event has started."""
    ended: bool = False
    impact_seen: bool = False
    restarted: bool = False
    """The VM has been started anew since the event appeared."""
    word: Word = Word.NONE
    failed_s: float = 0.0
    refusals: int = 0
    alarms: tuple[Alarm, ...] = ()
    alarm_count: int = 0
    in_doubt: bool = False
    """Its journal has a hole: nobody knows what was done."""

    @property
    def under_way(self) -> int | None:
        return next((n for n, stage in enumerate(self.stages) if stage in UNDER_WAY), None)

    @property
    def is_stopped(self) -> bool:
        """A step failed after which the rule does not go on."""
        return any(
            stage in FAULTS and not step.goes_on for stage, step in zip(self.stages, self.rule.steps, strict=True)
        )

    @property
    def next_step(self) -> int | None:
        if self.is_stopped:
            return None
        return next((n for n, stage in enumerate(self.stages) if stage in TO_DO), None)

    @property
    def fault(self) -> str:
        """Which step failed, or nothing."""
        named = zip(self.stages, self.rule.steps, strict=True)
        return next((step.name for stage, step in named if stage in FAULTS), "")

    @property
    def is_scheduled(self) -> bool:
        return not self.ended and self.event.status.lower() == SCHEDULED.lower()

    @property
    def budget_end_s(self) -> float | None:
        if self.deadline_s is None:
            return None
        return self.appeared_s + self.rule.budget_share * max(self.deadline_s - self.appeared_s, 0.0)

    def held(self) -> Iterator[int]:
        """The steps that were begun and not undone, the last first."""
        for n in reversed(range(len(self.stages))):
            if self.stages[n] in HELD:
                yield n

    @property
    def is_undone(self) -> bool:
        """The event is over, and nothing of what was begun is left."""
        left = any(self.step(n).step.has_undo() for n in self.held())
        return self.ended and self.under_way is None and not left

    def step(self, n: int) -> StepRule:
        return self.rule.steps[n]

    def key(self, n: int) -> str:
        """What the step is when in force: scripts differ by type, and a peer's are about that peer."""
        if not (key := self.step(n).key):
            return ""
        kind = self.event.type.lower() if key.startswith("scripts:") else ""
        whose = "" if self.mine else ",".join(sorted(map(str.lower, self.event.resources)))
        return f"{key}/{kind}/{whose}"


@dataclass(frozen=True, slots=True)
class Memory:
    """A life that is over, should its event come again."""

    name: str
    not_before: str
    over_s: float


@dataclass(frozen=True, slots=True)
class Echo:
    """An event shown again after its life was over."""

    event: EventView
    since_s: float


@dataclass(frozen=True, slots=True)
class Lives:
    """Everything the agent knows: what lives, and what is over. Memories and echoes are by event id."""

    living: Mapping[str, Life] = field(default_factory=dict)
    memories: Mapping[str, Memory] = field(default_factory=dict)
    echoes: Mapping[str, Echo] = field(default_factory=dict)
    boot: str = ""

    def next_name(self, event_id: str) -> str:
        """What another life of this event is called."""
        memory = self.memories.get(event_id.lower())
        return life_named(event_id, 1 if memory is None else life_number(memory.name) + 1)

    def of_event(self, event_id: str) -> Life | None:
        wanted = event_id.lower()
        return next((life for life in self.living.values() if life.event.id.lower() == wanted), None)
