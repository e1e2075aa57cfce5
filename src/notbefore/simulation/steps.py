"""What happened, as data: the steps of a simulated run, which the story tells and the laws judge.

Rule 1: times are microseconds of true time since the beginning of the run; no machine's clock shows them.
Rule 2: a step is seen by every law at the moment it happens.
"""

from dataclasses import dataclass

from notbefore.core.draft import Answer
from notbefore.core.errors import Refusal
from notbefore.core.history import HistoryRecord
from notbefore.core.model import Scope
from notbefore.core.news import Gap, News
from notbefore.core.requests import Request
from notbefore.metadata.answers import HttpAnswer
from notbefore.metadata.verdict import RequestHead
from notbefore.ports import Evidence, Impact, StoredRecord
from notbefore.runtime.snapshot import VmRef


@dataclass(frozen=True, slots=True)
class Step:
    at_us: int


@dataclass(frozen=True, slots=True)
class Committed(Step):
    """The store took a write. `decided_us` is when the process decided it: in the same breath as it asked to commit."""

    process: str
    decided_us: int
    before: Scope | None
    after: Scope
    record: HistoryRecord | None


@dataclass(frozen=True, slots=True)
class DocumentPut(Step):
    """The store took a document beside the scopes, or its removal (no body)."""

    process: str
    kind: str
    key: str
    body: bytes | None
    record: HistoryRecord | None


@dataclass(frozen=True, slots=True)
class HistoryKept(Step):
    """The sink has these records on disk."""

    process: str
    records: tuple[StoredRecord, ...]


@dataclass(frozen=True, slots=True)
class HistoryRetired(Step):
    """These records left the store."""

    process: str
    records: tuple[StoredRecord, ...]


@dataclass(frozen=True, slots=True)
class NewsArrived(Step):
    """A target has got it; whether the process hears so is another matter. `again`: it had got it before."""

    process: str
    target: str
    news: News | Gap
    again: bool


@dataclass(frozen=True, slots=True)
class NewsRefused(Step):
    """A target does not want it."""

    process: str
    target: str
    news: News | Gap


@dataclass(frozen=True, slots=True)
class HandAnswered(Step):
    """What an operator's word on hosts and tokens came to; None when it was done."""

    process: str
    word: str
    name: str
    refusal: Refusal | None


@dataclass(frozen=True, slots=True)
class MaintainerAnswered(Step):
    """What an operator's word on an operation or rollout came to; None when it was done."""

    process: str
    word: str
    key: str
    refusal: Refusal | None


@dataclass(frozen=True, slots=True)
class TokenShown(Step):
    """Somebody showed a token's secret to a process: whether it opens anything there."""

    process: str
    name: str
    opens: bool


@dataclass(frozen=True, slots=True)
class ImpactBegan(Step):
    process: str
    impact: Impact


@dataclass(frozen=True, slots=True)
class ImpactOver(Step):
    """What the executor told the process: evidence, or why it failed."""

    process: str
    impact: Impact
    evidence: Evidence | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class VmAsked(Step):
    """A VM's request reached a process, which may or may not live to answer it.

    `vm` is who really asked, whatever the service makes of the address.
    """

    process: str
    vm: VmRef
    address: str
    head: RequestHead
    body: bytes


@dataclass(frozen=True, slots=True)
class VmAnswered(Step):
    """The data plane's answer to a VM as it left the process; whether it arrived is another matter.

    `asked_us` is when the request reached the process.
    """

    process: str
    asked_us: int
    vm: VmRef
    address: str
    head: RequestHead
    body: bytes
    answer: HttpAnswer


@dataclass(frozen=True, slots=True)
class OperatorAnswered(Step):
    process: str
    request: Request
    answer: Answer | Refusal


@dataclass(frozen=True, slots=True)
class ProcessLoaded(Step):
    """A process has read the store and works from now on."""

    process: str


@dataclass(frozen=True, slots=True)
class ProcessEnded(Step):
    process: str
    why: str


@dataclass(frozen=True, slots=True)
class ClockStepped(Step):
    machine: str
    by_ms: int


@dataclass(frozen=True, slots=True)
class TroubleChanged(Step):
    """A fault of the surroundings began or ended, in the words of the coverage table."""

    machine: str
    trouble: str
    began: bool


@dataclass(frozen=True, slots=True)
class Ended(Step):
    """The run is over. All trouble had ended hours before; every VM has asked once more."""
