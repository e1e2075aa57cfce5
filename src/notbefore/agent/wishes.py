"""What is to be done next, and when to look again: derived from the lives, never remembered.

Rule 1: no I/O, no clock. The same lives and time give the same wishes.
Rule 2: one step of a life at a time; one run at a time of what steps share. Whoever comes second waits for a round.
Rule 3: a step is undone only when nobody else holds it; steps are undone in reverse order of what was begun.
Rule 4: a wish that is carried out becomes a fact, so that it is not wished again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from notbefore.agent.approval import Speak, word_on
from notbefore.agent.life import HELD, IN_FORCE, UNDER_WAY, Alarm, Echo, Life, Lives, Stage
from notbefore.agent.steps.step import Phase
from notbefore.client import EventView

ECHO_S = 15.0
TIME_MIN_S = 0.5


@dataclass(frozen=True, slots=True)
class Run:
    life: str
    step: int
    phase: Phase
    limit_s: float


@dataclass(frozen=True, slots=True)
class Skip:
    life: str
    step: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Share:
    life: str
    step: int
    other: str


@dataclass(frozen=True, slots=True)
class Leave:
    life: str
    step: int
    other: str


@dataclass(frozen=True, slots=True)
class CutOff:
    """End the step that is under way: its budget is over."""

    life: str


@dataclass(frozen=True, slots=True)
class Approve:
    life: str


@dataclass(frozen=True, slots=True)
class Tell:
    life: str
    alarm: Alarm


@dataclass(frozen=True, slots=True)
class Finish:
    life: str


@dataclass(frozen=True, slots=True)
class Renew:
    """An event that came again is no echo: another life of it begins."""

    event: EventView


Wish = Run | Skip | Share | Leave | CutOff | Approve | Tell | Finish | Renew


@dataclass(slots=True)
class Outlook:
    """What is wished for now, and when time alone will change that."""

    wishes: list[Wish] = field(default_factory=list)
    alarm_s: float | None = None
    claimed: set[str] = field(default_factory=set)

    def look_at(self, at_s: float) -> None:
        self.alarm_s = at_s if self.alarm_s is None else min(self.alarm_s, at_s)


def outlook_on(lives: Lives, vm: str, now_s: float, *, has_looked: bool = True) -> Outlook:
    """`has_looked`: the endpoint has said what is there. Before, only what is known to be over is undone."""
    outlook = Outlook()
    for life in lives.living.values():
        for alarm in life.alarms:
            outlook.wishes.append(Tell(life.name, alarm))
        if not life.in_doubt and (has_looked or life.ended):
            _see_to(life, lives, vm, now_s, outlook)
    for echo in lives.echoes.values():
        _hear(echo, lives, now_s, outlook)
    return outlook


def _see_to(life: Life, lives: Lives, vm: str, now_s: float, outlook: Outlook) -> None:
    if (n := life.under_way) is not None:
        if life.stages[n] is Stage.DOING:
            _watch_budget(life, now_s, outlook)
    elif life.ended:
        _undo(life, lives, outlook)
    elif life.next_step is not None:
        _do(life, life.next_step, lives, now_s, outlook)
    else:
        _approve(life, vm, now_s, outlook)


def _watch_budget(life: Life, now_s: float, outlook: Outlook) -> None:
    if life.budget_end_s is None:
        return
    if now_s >= life.budget_end_s:
        outlook.wishes.append(CutOff(life.name))
    else:
        outlook.look_at(life.budget_end_s)


def _do(life: Life, n: int, lives: Lives, now_s: float, outlook: Outlook) -> None:
    if sentence := _too_late(life, now_s):
        outlook.wishes.append(Skip(life.name, n, sentence))
        return
    if life.budget_end_s is not None:
        outlook.look_at(life.budget_end_s - TIME_MIN_S)
    key = life.key(n)
    if key and (key in outlook.claimed or any(_stages(lives, life, key, UNDER_WAY))):
        return
    outlook.claimed |= {key} if key else set()
    if other := next(_stages(lives, life, key, IN_FORCE), None) if key else None:
        outlook.wishes.append(Share(life.name, n, other.name))
        return
    limit_s = life.step(n).limit_s
    if life.budget_end_s is not None:
        limit_s = min(limit_s, life.budget_end_s - now_s)
    outlook.wishes.append(Run(life.name, n, Phase.DO, limit_s))


def _too_late(life: Life, now_s: float) -> str:
    if life.restarted and life.event.is_started:
        return "not begun: the VM has been started anew meanwhile, so the impact has been"
    if life.budget_end_s is not None and life.budget_end_s - now_s < TIME_MIN_S:
        return "not begun: the time that its event's steps may take is over"
    return ""


def _undo(life: Life, lives: Lives, outlook: Outlook) -> None:
    for n in life.held():
        if not life.step(n).step.has_undo():
            continue
        key = life.key(n)
        if key and key in outlook.claimed:
            return
        outlook.claimed |= {key} if key else set()
        if other := next(_stages(lives, life, key, HELD | UNDER_WAY), None) if key else None:
            outlook.wishes.append(Leave(life.name, n, other.name))
        else:
            outlook.wishes.append(Run(life.name, n, Phase.UNDO, life.step(n).limit_s))
        return
    if not life.alarms:
        outlook.wishes.append(Finish(life.name))


def _stages(lives: Lives, but: Life, key: str, stages: frozenset[Stage]) -> Iterator[Life]:
    """The other lives in which a step with this key stands so."""
    for life in lives.living.values():
        if life.name != but.name and not life.in_doubt:
            at = (n for n, stage in enumerate(life.stages) if stage in stages and life.key(n) == key)
            if next(at, None) is not None:
                yield life


def _approve(life: Life, vm: str, now_s: float, outlook: Outlook) -> None:
    word = word_on(life, vm)
    if isinstance(word, Speak):
        if now_s >= word.at_s:
            outlook.wishes.append(Approve(life.name))
        else:
            outlook.look_at(word.at_s)


def _hear(echo: Echo, lives: Lives, now_s: float, outlook: Outlook) -> None:
    if lives.of_event(echo.event.id) is not None:
        return
    if now_s >= echo.since_s + ECHO_S:
        outlook.wishes.append(Renew(echo.event))
    else:
        outlook.look_at(echo.since_s + ECHO_S)
