"""Facts, folded into lives.

Rule 1: no I/O, no clock. `after(lives, fact, at_s)` is the lives after the fact; the same facts give the same lives.
Rule 2: a fact that does not fit (of a life that is not there) changes nothing.
Rule 3: `Opened` cuts off what was under way: a repeatable step is to be done again, any other counts as failed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from notbefore.agent import facts
from notbefore.agent.facts import Fact, event_id_of
from notbefore.agent.life import Alarm, Echo, Life, Lives, Memory, Stage, Word
from notbefore.agent.settings import AlertOn
from notbefore.agent.steps.step import Phase
from notbefore.client import EventView

MEMORIES_MAX = 64
UNDO_STAGES = frozenset({Stage.UNDOING, Stage.UNDONE, Stage.UNDO_FAILED, Stage.UNDO_INTERRUPTED, Stage.LEFT})
StepFact = facts.StepBegan | facts.StepEnded | facts.StepSkipped | facts.StepShared | facts.StepLeft

Value = TypeVar("Value")


def after(lives: Lives, fact: Fact, at_s: float) -> Lives:
    """The lives after this fact, which was written down at `at_s`."""
    match fact:
        case facts.Opened():
            return _opened(lives, fact)
        case facts.Appeared():
            return _appeared(lives, fact, at_s)
        case facts.CameAgain():
            return _came_again(lives, fact, at_s)
        case facts.Over():
            return _over(lives, fact, at_s)
    if isinstance(fact, facts.Ended):
        lives = replace(lives, echoes=_without(lives.echoes, event_id_of(fact.life)))
    life = lives.living.get(fact.life)
    if life is None:
        return lives
    return _with(lives, _lived(life, fact, at_s))


def _lived(life: Life, fact: Fact, at_s: float) -> Life:
    match fact:
        case facts.Changed():
            return _changed(life, fact.event, fact.notice_s, at_s)
        case facts.Ended():
            return replace(life, ended=True, impact_seen=life.impact_seen or fact.impact_seen)
        case facts.ApprovalBegan():
            return replace(life, word=Word.ASKING)
        case facts.ApprovalEnded():
            return _answered(life, fact, at_s)
        case facts.Told():
            return replace(life, alarms=tuple(one for one in life.alarms if one.number != fact.alarm))
        case facts.StepBegan() | facts.StepEnded() | facts.StepSkipped() | facts.StepShared() | facts.StepLeft():
            return _stepped(life, fact) if fact.step < len(life.stages) else life
    return life


def _stepped(life: Life, fact: StepFact) -> Life:
    match fact:
        case facts.StepBegan():
            return _staged(life, fact.step, Stage.DOING if fact.phase is Phase.DO else Stage.UNDOING)
        case facts.StepEnded():
            return _step_ended(life, fact)
        case facts.StepSkipped():
            # One that was begun before a crash is to be undone all the same.
            stage = Stage.FAILED if life.stages[fact.step] is Stage.AGAIN else Stage.SKIPPED
            skipped = _staged(life, fact.step, stage)
            return _alarmed(skipped, AlertOn.STEP_FAILED, fact.sentence, life.step(fact.step).name)
        case facts.StepShared():
            return _staged(life, fact.step, Stage.SHARED)
        case facts.StepLeft():
            return _staged(life, fact.step, Stage.LEFT)


def _step_ended(life: Life, fact: facts.StepEnded) -> Life:
    name = life.step(fact.step).name
    if fact.phase is Phase.DO:
        changed = _staged(life, fact.step, Stage.DONE if fact.ok else Stage.FAILED)
        return changed if fact.ok else _alarmed(changed, AlertOn.STEP_FAILED, fact.sentence, name)
    changed = _staged(life, fact.step, Stage.UNDONE if fact.ok else Stage.UNDO_FAILED)
    return changed if fact.ok else _alarmed(changed, AlertOn.UNDO_FAILED, fact.sentence, name)


def _appeared(lives: Lives, fact: facts.Appeared, at_s: float) -> Lives:
    life = Life(
        name=fact.life,
        vm=fact.vm,
        event=fact.event,
        rule=fact.rule,
        mine=fact.mine,
        appeared_s=at_s,
        deadline_s=None if fact.notice_s is None else at_s + fact.notice_s,
        stages=tuple(Stage.WAITING for _ in fact.rule.steps),
        not_before=written_not_before(fact.event),
        impact_seen=fact.event.is_started,
    )
    if fact.event.is_started:
        life = _alarmed(life, AlertOn.NO_NOTICE, "it was first seen as Started: there was no notice")
    event_id = event_id_of(fact.life)
    return replace(
        _with(lives, life),
        memories=_without(lives.memories, event_id),
        echoes=_without(lives.echoes, event_id),
    )


def _changed(life: Life, event: EventView, notice_s: float | None, at_s: float) -> Life:
    # Once it has started there is no NotBefore any more; the budget stays what it was.
    deadline_s = life.deadline_s if notice_s is None and event.is_started else _plus(at_s, notice_s)
    return replace(
        life,
        event=event,
        deadline_s=deadline_s,
        not_before=written_not_before(event) or life.not_before,
        impact_seen=life.impact_seen or event.is_started,
    )


def _came_again(lives: Lives, fact: facts.CameAgain, at_s: float) -> Lives:
    life = lives.living.get(fact.life)
    if life is None or not _is_untouched(life):
        event_id = event_id_of(fact.life)
        before = lives.echoes.get(event_id)
        return replace(lives, echoes={**lives.echoes, event_id: Echo(fact.event, before.since_s if before else at_s)})
    # Nothing has been undone yet: it goes on as if it had never been away.
    return _with(lives, replace(_changed(life, fact.event, fact.notice_s, at_s), ended=False))


def _is_untouched(life: Life) -> bool:
    return UNDO_STAGES.isdisjoint(life.stages)


def _over(lives: Lives, fact: facts.Over, at_s: float) -> Lives:
    event_id = event_id_of(fact.life)
    memories = {**_without(lives.memories, event_id), event_id: Memory(fact.life, fact.not_before, at_s)}
    kept = list(memories.items())[-MEMORIES_MAX:]
    return replace(lives, living=_without(lives.living, fact.life), memories=dict(kept))


def _opened(lives: Lives, fact: facts.Opened) -> Lives:
    is_new_boot = bool(fact.boot and lives.boot) and fact.boot != lives.boot
    living = {name: _cut_off(life, is_new_boot=is_new_boot) for name, life in lives.living.items()}
    return replace(lives, living=living, echoes={}, boot=fact.boot)


def _cut_off(life: Life, *, is_new_boot: bool) -> Life:
    word = Word.NONE if life.word is Word.ASKING else life.word
    life = replace(life, restarted=life.restarted or is_new_boot, word=word)
    n = life.under_way
    if n is None:
        return life
    step, was = life.step(n), life.stages[n]
    phase = Phase.DO if was is Stage.DOING else Phase.UNDO
    if step.repeatable:
        return _staged(life, n, Stage.AGAIN if phase is Phase.DO else Stage.DONE)
    sentence = f"the agent ended while it was under way ({phase}); it is not repeatable, so it is not run again"
    stage = Stage.INTERRUPTED if phase is Phase.DO else Stage.UNDO_INTERRUPTED
    return _alarmed(_staged(life, n, stage), AlertOn.INTERRUPTED, sentence, step.name)


def _answered(life: Life, fact: facts.ApprovalEnded, at_s: float) -> Life:
    if fact.given or fact.gone:
        return replace(life, word=Word.GIVEN if fact.given else Word.GONE)
    failed = replace(life, word=Word.FAILED, failed_s=at_s, refusals=life.refusals + 1)
    return _alarmed(failed, AlertOn.APPROVAL_FAILED, fact.sentence) if failed.refusals == 1 else failed


def _alarmed(life: Life, kind: AlertOn, sentence: str, step: str = "") -> Life:
    alarm = Alarm(life.alarm_count, kind, sentence, step)
    return replace(life, alarms=(*life.alarms, alarm), alarm_count=life.alarm_count + 1)


def _staged(life: Life, n: int, stage: Stage) -> Life:
    return replace(life, stages=(*life.stages[:n], stage, *life.stages[n + 1 :]))


def _with(lives: Lives, life: Life) -> Lives:
    return replace(lives, living={**lives.living, life.name: life})


def _without(by_name: Mapping[str, Value], name: str) -> dict[str, Value]:
    return {key: value for key, value in by_name.items() if key != name}


def written_not_before(event: EventView) -> str:
    return "" if event.not_before is None else event.not_before.isoformat()


def _plus(at_s: float, notice_s: float | None) -> float | None:
    return None if notice_s is None else at_s + notice_s
