"""The story of a run: one line per step, and a digest over all of them.

Rule 1: the same seed tells the same story, byte for byte; that is what the digest is for.
Rule 2: cut down, it tells of one scope and of everything that befell the machines.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from zlib import crc32

from notbefore.core.errors import Refusal
from notbefore.core.history import Change
from notbefore.simulation.scheduler import SECOND_US
from notbefore.simulation.steps import (
    ClockStepped,
    Committed,
    DocumentPut,
    Ended,
    HandAnswered,
    HistoryKept,
    HistoryRetired,
    ImpactBegan,
    ImpactOver,
    MaintainerAnswered,
    NewsArrived,
    NewsRefused,
    OperatorAnswered,
    ProcessEnded,
    ProcessLoaded,
    Step,
    TokenShown,
    TroubleChanged,
    VmAnswered,
    VmAsked,
)

EVERYBODY = ""


@dataclass(frozen=True, slots=True)
class Line:
    scope: str
    text: str


class Story:
    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._digest = sha256()

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()[:16]

    def tell(self, step: Step) -> None:
        scope, sentence = told(step)
        line = f"{clock_of(step.at_us)} {sentence}"
        self._digest.update(line.encode() + b"\n")
        self.lines.append(Line(scope, line))

    def of_scope(self, scope: str) -> list[str]:
        return [line.text for line in self.lines if line.scope in {EVERYBODY, scope}]


def clock_of(at_us: int) -> str:
    seconds, rest_us = divmod(at_us, SECOND_US)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest_us:06}"


def told(step: Step) -> tuple[str, str]:
    """Which scope a step concerns, and the step in words."""
    return WORDS[type(step)](step)


def committed(step: Committed) -> str:
    after = step.after
    if step.record is None:
        claims = " ".join(f"{p.attempt_id}@{p.claimed_by}" for p in after.pending)
        return f"{step.process} notes {after.name} i{after.incarnation} {claims}".rstrip()
    changes = "; ".join(changed(change) for change in step.record.changes)
    return f"{step.process} commits {after.name} i{after.incarnation} at {step.record.at_ms}: {changes}"


def changed(change: Change) -> str:
    if event := change.event:
        return (
            f"{event.id[:8]} {event.type} of {' '.join(event.vms)} {change.what}"
            f" (not before {event.not_before_ms}, {change.by}: {change.why})"
        )
    return f"{change.what} ({change.by}: {change.why})"


def vm_answered(step: VmAnswered) -> str:
    answer, tag = step.answer, dict(step.answer.headers).get(b"etag", b"").decode()
    shown = f"{answer.status} {tag or answer.body.decode()[:90]} #{crc32(answer.body):08x}"
    asked = f"{step.head.method} {step.head.query.decode()} {step.body.decode()}".rstrip()
    return f"{step.process} answers {step.vm.vm}: {asked} -> {shown}"


def operator_answered(step: OperatorAnswered) -> str:
    request, answer = step.request, step.answer
    asked = f"{type(request).__name__} {request.request_id[:8]}"
    if isinstance(answer, Refusal):
        return f"{step.process} refuses {request.by}: {asked}: {answer.code}: {answer.message[:120]}"
    return f"{step.process} answers {request.by}: {asked} -> {' '.join(answer.event_ids) or 'done'}"


def impact_began(step: ImpactBegan) -> str:
    impact = step.impact
    return f"{step.process} begins {impact.type} of {impact.vm.name}, {impact.attempt_id}"


def impact_over(step: ImpactOver) -> str:
    end = f"done, {step.evidence.new_host or 'same host'}" if step.evidence else f"failed: {step.failure}"
    return f"{step.process} hears of {step.impact.attempt_id}: {end}"


def document_put(step: DocumentPut) -> str:
    put = f"puts {crc32(step.body):08x}" if step.body is not None else "removes it"
    told = "; ".join(f"{change.what}: {change.why}" for change in step.record.changes) if step.record else ""
    return f"{step.process} {put}: {step.kind} {step.key} {told}".rstrip()


def hand_answered(step: HandAnswered) -> str:
    return f"{step.process} answers {step.word} {step.name}: {step.refusal.code if step.refusal else 'done'}"


def maintainer_answered(step: MaintainerAnswered) -> str:
    return f"{step.process} answers {step.word} {step.key}: {step.refusal.code if step.refusal else 'done'}"


WORDS: Mapping[type[Step], Callable[[Any], tuple[str, str]]] = {
    Committed: lambda step: (step.after.key, committed(step)),
    DocumentPut: lambda step: (EVERYBODY, document_put(step)),
    HistoryKept: lambda step: (EVERYBODY, f"{step.process} keeps {len(step.records)} records in the sink"),
    HistoryRetired: lambda step: (EVERYBODY, f"{step.process} retires {len(step.records)} records"),
    NewsArrived: lambda step: (EVERYBODY, f"{step.process} tells {step.target} {step.news.id[:8]}"),
    NewsRefused: lambda step: (EVERYBODY, f"{step.target} refuses {step.news.id[:8]} of {step.process}"),
    HandAnswered: lambda step: (EVERYBODY, hand_answered(step)),
    MaintainerAnswered: lambda step: (EVERYBODY, maintainer_answered(step)),
    TokenShown: lambda step: (
        EVERYBODY,
        f"{step.process}: the token {step.name} opens {'it' if step.opens else 'nothing'}",
    ),
    ImpactBegan: lambda step: (step.impact.scope.casefold(), impact_began(step)),
    ImpactOver: lambda step: (step.impact.scope.casefold(), impact_over(step)),
    VmAsked: lambda step: (step.vm.scope, f"{step.process} hears {step.vm.vm} from {step.address}"),
    VmAnswered: lambda step: (step.vm.scope, vm_answered(step)),
    OperatorAnswered: lambda step: (step.request.scope.casefold(), operator_answered(step)),
    ProcessLoaded: lambda step: (EVERYBODY, f"{step.process} serves"),
    ProcessEnded: lambda step: (EVERYBODY, f"{step.process} ends: {step.why}"),
    ClockStepped: lambda step: (EVERYBODY, f"{step.machine}'s wall clock steps {step.by_ms:+} ms"),
    TroubleChanged: lambda step: (
        EVERYBODY,
        f"{step.machine}: {step.trouble} {'begins' if step.began else 'is over'}",
    ),
    Ended: lambda _: (EVERYBODY, "the run is over"),
}
