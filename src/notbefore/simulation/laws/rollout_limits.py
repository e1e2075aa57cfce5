"""§3.4: what a rollout keeps to, judged by the events that its scopes have: budget, rate, windows, rest, once each.

Rule 1: a budget counts hosts, scopes and VMs from when an event is visible to its end.
Rule 2: a rate is counted over VMs that start. Walls decide, so it is judged from when all agree on them.
Rule 3: no event becomes visible outside the windows: by the wall of whoever said the wave, and where walls agree by
the wall of whoever let the event in.
Rule 4: a VM that something hit is left alone for the rest, from when the process that begins the wave could know.
Rule 5: walls that agree drift apart by seconds in a day, and that much is allowed for.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

from notbefore.core.model import name_key
from notbefore.core.operation import Operation
from notbefore.core.rollout import Rollout, RolloutWave
from notbefore.core.windows import DAYS, Window
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ready import ready_since_us
from notbefore.simulation.laws.wave_book import Part, VmKey, WaveBook
from notbefore.simulation.steps import ClockStepped, Committed, DocumentPut, Step

HEARD_US = 5_000_000
# What walls that nobody stepped differently may differ by after days, each by its own drift.
WALLS_APART_MS = 20_000


class RolloutLimits:
    code: ClassVar[str] = "§3.4"

    def __init__(self, book: WaveBook) -> None:
        self._book = book
        # Of each rollout: its events that are not over, and the starts that count against its rate.
        self._live: dict[str, dict[str, Part]] = {}
        self._starts: dict[str, list[tuple[int, int]]] = {}
        self._touched: set[tuple[str, str, VmKey]] = set()

    def see(self, step: Step, facts: Facts) -> None:
        if isinstance(step, Committed):
            for part, move in self._book.moved(step, facts):
                operation = self._book.operations.get(part.wave[0])
                rollout = self._book.rollouts.get(operation.rollout) if operation else None
                if rollout is None or operation is None:
                    continue
                live = self._live.setdefault(rollout.id, {})
                if move.before is None:
                    live[part.event.id] = part
                    self._judge_budget(rollout, part)
                    self._judge_coming(step, rollout, operation, part, facts)
                if move.starts:
                    self._judge_rate(rollout, part, facts)
                    self._judge_once(rollout, part)
                if part.is_over:
                    live.pop(part.event.id, None)
        elif isinstance(step, DocumentPut):
            turned = self._book.turned(step, facts).rollout
            if turned and turned[1]:
                self._judge_beginnings(step, turned[0], turned[1], facts)
        elif isinstance(step, ClockStepped):
            self._starts.clear()

    def _judge_budget(self, rollout: Rollout, part: Part) -> None:
        live, limits = self._live[rollout.id].values(), rollout.limits
        used = {
            "max_hosts": len({host for one in live for host in one.hosts}),
            "max_scopes": len({one.key for one in live}),
            "max_vms": sum(len(one.event.vms) for one in live),
        }
        for name, number in used.items():
            most = getattr(limits, name)
            if most is not None and number > most:
                raise broken(f"{number} are under its events at once, and {name} is {most}", rollout, part)

    def _judge_coming(self, step: Committed, rollout: Rollout, operation: Operation, part: Part, facts: Facts) -> None:
        if part.event.recovery_s != rollout.limits.recovery_s:
            sentence = f"its domain gets {part.event.recovery_s} s of rest, not {rollout.limits.recovery_s}"
            raise broken(sentence, rollout, part)
        begun = self._book.begun[operation.id]
        if begun.stepped_ms != self._book.stepped(step.process, facts) or step.record is None:
            return
        at_ms = step.record.at_ms
        if not any(
            is_open(rollout.limits.windows, at_ms + apart_ms) for apart_ms in (0, -WALLS_APART_MS, WALLS_APART_MS)
        ):
            raise broken(f"it became visible at {at_ms}, outside its windows", rollout, part)

    def _judge_rate(self, rollout: Rollout, part: Part, facts: Facts) -> None:
        limits, at_ms = rollout.limits, part.event.started_at_ms or 0
        if limits.impacts_max is None or not self._book.walls_agree(facts):
            return
        starts = self._starts.setdefault(rollout.id, [])
        starts.append((at_ms, len(part.event.vms)))
        since_ms = at_ms - limits.impacts_per_s * 1000 + WALLS_APART_MS
        counted = sum(vms for began_ms, vms in starts if since_ms < began_ms)
        if counted > limits.impacts_max:
            sentence = f"{counted} impacts within {limits.impacts_per_s} s, and {limits.impacts_max} may be"
            raise broken(sentence, rollout, part)

    def _judge_once(self, rollout: Rollout, part: Part) -> None:
        begun = self._book.begun.get(part.wave[0])
        for vm in part.vms if begun else ():
            assert begun is not None
            touch = (rollout.id, name_key(begun.target), vm)
            if touch in self._touched:
                raise broken(f"{vm[1]} is touched a second time", rollout, part)
            self._touched.add(touch)

    def _judge_beginnings(self, step: DocumentPut, before: Rollout | None, after: Rollout, facts: Facts) -> None:
        known = before.waves_begun if before else 0
        for target in after.in_hand:
            if target.wave and target.wave.number > known:
                if not is_open(after.limits.windows, target.wave.begun_at_ms):
                    raise Violation(self.code, f"rollout {after.id} said a wave while its windows were closed")
                self._judge_rest(step, after, target.wave, facts)

    def _judge_rest(self, step: DocumentPut, rollout: Rollout, wave: RolloutWave, facts: Facts) -> None:
        ready_us, stepped_ms = ready_since_us(facts.processes[step.process]), self._book.stepped(step.process, facts)
        if ready_us is None or not rollout.limits.vm_rest_s:
            return
        for of in wave.vms:
            hit_us, hit_ms, hit_stepped_ms = self._book.hit.get(of.key, (0, 0, 0))
            could_know = ready_us <= hit_us and hit_us + HEARD_US < step.at_us and hit_stepped_ms == stepped_ms
            rested_ms = wave.begun_at_ms - hit_ms + WALLS_APART_MS
            if could_know and rested_ms < rollout.limits.vm_rest_s * 1000:
                sentence = f"rollout {rollout.id} takes {of.vm}, which was hit {rested_ms} ms before"
                raise Violation(self.code, sentence, name_key(of.scope))


def is_open(windows: Sequence[Window], at_ms: int) -> bool:
    """Where no clock is changed that day, as in the days that are simulated."""
    return not windows or any(is_in(window, at_ms) for window in windows)


def is_in(window: Window, at_ms: int) -> bool:
    local = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(ZoneInfo(window.time_zone))
    minute, today = local.hour * 60 + local.minute, DAYS[local.weekday()]
    if window.from_min < window.to_min:
        return today in window.days and window.from_min <= minute < window.to_min
    yesterday = DAYS[(local - timedelta(days=1)).weekday()]
    return (today in window.days and minute >= window.from_min) or (yesterday in window.days and minute < window.to_min)


def broken(sentence: str, rollout: Rollout, part: Part) -> Violation:
    return Violation("§3.4", f"{part.event.id} of rollout {rollout.id}: {sentence}", part.key, part.event.id)
