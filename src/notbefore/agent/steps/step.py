"""A step: something done for an event and perhaps undone after it; and how one is made from its table in agent.toml.

Rule 1: `run` blocks, never raises, and ends within its limit or soon after it is cut off.
Rule 2: what a step says quotes no secret: neither its sentences nor what it shows.
Rule 3: a kind is imported when a rule uses it; whoever only stops a unit has no mail in memory.
Not here: which step runs when, in what order and how often (running.py, life.py).
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from notbefore.client import EventView

OUTPUT_MAX = 4096
# What every step may say of itself is read by whoever reads rules, not by the kind.
COMMON_KEYS = frozenset({"name", "kind", "limit", "repeatable", "on_failure", "shared"})
# The kinds, each in the module of its name, which has a function `made(table)`.
KINDS = ("command", "scripts", "systemd", "haproxy", "webhook", "mail", "log", "notify")


class Phase(StrEnum):
    DO = "do"
    UNDO = "undo"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class Errand:
    """One run of a step: for which event, of which rule, until when. `sentence` is why it runs, for people."""

    phase: Phase
    event: EventView
    vm: str
    rule: str
    step: str
    deadline: datetime | None
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it. `output` is what the step printed, at most 4 KiB of it."""

    ok: bool
    sentence: str
    output: str = ""


class WrongSetting(Exception):
    """A key of a step's table that cannot be taken, and why; the key is "" when it is the table as a whole."""

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(f"{key}: {sentence}" if key else sentence)
        self.key = key
        self.sentence = sentence


class Step(Protocol):
    kind: str

    def problems(self) -> list[str]:
        """What would keep it from working, as far as can be seen without doing it."""
        ...

    def has_undo(self) -> bool: ...

    def run(self, errand: Errand, limit_s: float, cut_off: threading.Event) -> Result:
        """Ends within `limit_s` and a small margin, or soon after `cut_off` is set. Never raises."""
        ...

    def shown(self, phase: Phase) -> str:
        """What would be done, for people; secrets left out."""
        ...


def made_step(kind: str, table: Mapping[str, Any], base: Path) -> Step:
    """Paths in the table are relative to `base`. WrongSetting when something in it cannot be taken."""
    if kind not in KINDS:
        raise WrongSetting("kind", f"there is no kind of step {kind!r}; there are {', '.join(KINDS)}")
    from notbefore.agent.steps.table import Table  # noqa: PLC0415  it needs WrongSetting from here

    read = Table({key: value for key, value in table.items() if key not in COMMON_KEYS}, base)
    step: Step = import_module(f"notbefore.agent.steps.{kind}").made(read)
    read.refuse_the_rest()
    return step
