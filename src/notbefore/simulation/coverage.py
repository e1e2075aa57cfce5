"""What runs have reached, counted: transitions, refusals, impacts and how they ended, troubles, pairs of troubles.

Rule 1: everything that could be reached is a row from the beginning, so that a hole shows as a zero.
Rule 2: two troubles are a pair when one begins while the other lasts, or within a minute of its end.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations_with_replacement

from notbefore.core.errors import REFUSALS, Refusal
from notbefore.core.kinds import EventType, Status
from notbefore.core.lifecycle import TRANSITIONS
from notbefore.simulation.facts import Facts
from notbefore.simulation.guests import HABITS_BY_NAME
from notbefore.simulation.laws.waiting import applied_us_of
from notbefore.simulation.plan import KEEPER_WORDS, MAINTAINER_WORDS, OPERATOR_WORDS
from notbefore.simulation.scheduler import SECOND_US
from notbefore.simulation.steps import (
    Committed,
    DocumentPut,
    HandAnswered,
    HistoryRetired,
    ImpactBegan,
    ImpactOver,
    MaintainerAnswered,
    NewsArrived,
    NewsRefused,
    OperatorAnswered,
    Step,
    TroubleChanged,
    VmAnswered,
)
from notbefore.simulation.trouble import Trouble
from notbefore.simulation.wave_coverage import WaveCoverage, wave_rows

NEAR_US = 60 * SECOND_US
STATUSES_TO_VMS = (200, 304, 400, 403, 429, 503)
# What no run can reach, and why.
EXPLAINED: Mapping[str, str] = {
    "refusal unauthorized": "tokens are asked for by the control API, which is not simulated",
    "refusal forbidden": "roles are the control API's matter, which is not simulated",
    "refusal too_many_attempts": "wrong tokens are slowed down by the control API, which is not simulated",
    "refusal unknown_fault": "faults for clients are the emulator's matter, which is not simulated",
    "refusal too_many_streams": "streams are the control API's matter, which is not simulated",
    "refusal hindered": "said to an operation, not to an operator: it comes again (row 'wave refused')",
    "refusal sink_unavailable": "nobody is refused for it: retention tries again (trouble sink away)",
}

Reached = Counter[str]


def rows() -> list[str]:
    """Every row of the table, in its order."""
    return [
        *(transition(before, str(happening)) for before, happening in TRANSITIONS),
        *(f"refusal {code}" for code in REFUSALS),
        *(f"impact {kind} {end}" for kind in EventType for end in ("done", "failed", "retried", "taken over")),
        *(f"answer to a VM {status}" for status in STATUSES_TO_VMS),
        *(f"held until {end}" for end in ("a change", "its time was up")),
        *(f"habit {habit}" for habit in HABITS_BY_NAME),
        *(f"operator {word}" for word in (*OPERATOR_WORDS, *KEEPER_WORDS, *MAINTAINER_WORDS)),
        "history retired",
        *wave_rows(),
        *("news told", "news told again", "news refused"),
        *(f"trouble {trouble}" for trouble in Trouble),
        *(pair(one, other) for one, other in combinations_with_replacement(Trouble, 2)),
    ]


def holes(reached: Reached) -> list[str]:
    return [row for row in rows() if not reached[row] and row not in EXPLAINED]


def transition(before: Status | None, happening: str) -> str:
    return f"transition {before or 'nothing'} -> {happening}"


def pair(one: Trouble, other: Trouble) -> str:
    first, second = sorted((one, other))
    return f"pair {first} + {second}"


def row_of(step: Step) -> str | None:
    """The one row that a step of few words reaches, if any."""
    match step:
        case ImpactBegan(impact=impact) if impact.earlier_attempts:
            return f"impact {impact.type} taken over"
        case ImpactOver(impact=impact):
            return f"impact {impact.type} {'done' if step.evidence else 'failed'}"
        case VmAnswered() if step.at_us - step.asked_us > SECOND_US and applied_us_of(step) is not None:
            return f"held until {'a change' if step.answer.status == 200 else 'its time was up'}"
        case VmAnswered():
            return f"answer to a VM {step.answer.status}"
        case (
            OperatorAnswered(answer=Refusal() as refusal)
            | HandAnswered(refusal=Refusal() as refusal)
            | MaintainerAnswered(refusal=Refusal() as refusal)
        ):
            return f"refusal {refusal.code}"
        case HistoryRetired():
            return "history retired"
        case NewsArrived():
            return "news told again" if step.again else "news told"
        case NewsRefused():
            return "news refused"
        case _:
            return None


class Coverage:
    def __init__(self, facts: Facts) -> None:
        self.reached: Reached = Counter()
        self._facts = facts
        self._waves = WaveCoverage()
        self._last_us: dict[Trouble, int] = {}
        self._lasting: Counter[Trouble] = Counter()

    def see(self, step: Step) -> None:
        match step:
            case Committed():
                self._see_commit(step)
            case DocumentPut():
                self.reached.update(self._waves.rows_of(step, self._facts))
            case TroubleChanged():
                self._see_trouble(Trouble(step.trouble), step)
            case _:
                if row := row_of(step):
                    self.reached[row] += 1

    def note(self, row: str) -> None:
        self.reached[row] += 1

    def _see_commit(self, step: Committed) -> None:
        before = {event.id: event for event in step.before.events} if step.before else {}
        status: dict[str, Status | None] = {event_id: event.status for event_id, event in before.items()}
        known = {str(happening) for _, happening in TRANSITIONS}
        for change in step.record.changes if step.record else ():
            if change.event is None:
                continue
            if change.what in known:
                self.reached[transition(status.get(change.event.id), change.what)] += 1
            elif change.what == "impact failed" and "next try" in change.why:
                self.reached[f"impact {change.event.type} retried"] += 1
            status[change.event.id] = change.event.status

    def _see_trouble(self, trouble: Trouble, step: TroubleChanged) -> None:
        if step.began:
            self.reached[f"trouble {trouble}"] += 1
            for other in Trouble:
                if self._lasting[other] or step.at_us - self._last_us.get(other, -NEAR_US - 1) <= NEAR_US:
                    self.reached[pair(trouble, other)] += 1
            self._lasting[trouble] += 1
        else:
            self._lasting[trouble] -= 1
            self._last_us[trouble] = step.at_us
