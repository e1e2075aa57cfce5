"""What agent.toml comes to: rules, each with its steps, and how the agent itself runs.

Rule 1: every value here has been checked (reading.py); the defaults are those of docs/reference/agent.md.
Rule 2: a rule keeps the table it was read from: the journal stores that, and an event keeps its rule for life.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from notbefore.agent.steps.step import Step
from notbefore.wire.api_versions import NEWEST

LIMIT_S = 60.0
STOP_GRACE_S = 20.0
TAKEOVER_SHARE = 0.5
BUDGET_SHARE = 0.8


class Of(StrEnum):
    """Whose events a rule is about."""

    MINE = "mine"
    PEER = "peer"
    ANY = "any"


class Approve(StrEnum):
    ON_SUCCESS = "on-success"
    NEVER = "never"
    ALWAYS = "always"
    AT_DEADLINE = "at-deadline"


class Among(StrEnum):
    """Who speaks for an event of several VMs."""

    LEADER = "leader"
    OWN_ONLY = "own-only"
    ANY = "any"


class AlertOn(StrEnum):
    """What the administrator may be told of."""

    STEP_FAILED = "step-failed"
    UNDO_FAILED = "undo-failed"
    INTERRUPTED = "interrupted"
    APPROVAL_FAILED = "approval-failed"
    JOURNAL = "journal"
    NO_NOTICE = "no-notice"


ALERT_ON = (
    AlertOn.STEP_FAILED,
    AlertOn.UNDO_FAILED,
    AlertOn.INTERRUPTED,
    AlertOn.APPROVAL_FAILED,
    AlertOn.JOURNAL,
)


@dataclass(frozen=True, slots=True)
class StepRule:
    """A step as a rule has it. `key`: steps with the same key are the same thing in force; "" is never shared."""

    name: str
    step: Step
    limit_s: float = LIMIT_S
    repeatable: bool = False
    goes_on: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """Words are in lower case; an empty tuple or text matches everything."""

    name: str
    types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    min_duration_s: int | None = None
    max_duration_s: int | None = None
    description: str = ""
    vm: str = ""
    of: Of = Of.MINE
    approve: Approve = Approve.ON_SUCCESS
    among: Among = Among.LEADER
    takeover_share: float = TAKEOVER_SHARE
    budget_share: float = BUDGET_SHARE
    approve_peer_terminate: bool = False
    drain: bool = True
    steps: tuple[StepRule, ...] = ()
    table: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Log:
    format: str = "text"
    level: str = "info"


@dataclass(frozen=True, slots=True)
class Status:
    """Where the agent shows how it is; nowhere when both are empty."""

    listen: str = ""
    textfile: Path | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    file: Path
    state: Path
    endpoint: str | None = None
    vm: str | None = None
    api_version: str = NEWEST
    stop_grace_s: float = STOP_GRACE_S
    alert_on: tuple[str, ...] = ALERT_ON
    log: Log = Log()
    status: Status = Status()
    rules: tuple[Rule, ...] = ()
    alerts: tuple[StepRule, ...] = ()
