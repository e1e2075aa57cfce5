"""Facts as sentences: for the log, and for whoever is told of failures.

Rule 1: every fact is one line that says why, with its ids beside it.
"""

import logging
from collections.abc import Mapping
from typing import Any

from notbefore.agent import facts
from notbefore.agent.book import Book
from notbefore.agent.facts import Fact
from notbefore.agent.life import Alarm, Life, Lives
from notbefore.agent.steps.step import Phase
from notbefore.client import EventView

HOLES_SHOWN = 5

log = logging.getLogger("notbefore.agent")


def tell(fact: Fact, before: Lives, now: Lives) -> None:
    if isinstance(fact, facts.Opened):
        _tell_opening(before, now)
        return
    life = now.living.get(fact.life) or before.living.get(fact.life)
    if life is None:
        if isinstance(fact, facts.CameAgain):
            log.warning("%s: is shown again after its end; taken up anew if it stays", about(fact.event))
        return
    level, sentence = _said(fact, life)
    if sentence:
        log.log(level, "%s: %s", about(life.event), sentence, extra=fields(life))


def _tell_opening(before: Lives, now: Lives) -> None:
    count = len(now.living)
    log.info("the journal is open: %s", f"{count} events of before are taken up again" if count else "nothing is open")
    for life in now.living.values():
        for alarm in life.alarms[len(before.living[life.name].alarms) :]:
            log.error("%s: step %r: %s", about(life.event), alarm.step, alarm.sentence, extra=fields(life))


def _said(fact: Fact, life: Life) -> tuple[int, str]:  # noqa: C901, PLR0912  one sentence for each fact
    match fact:
        case facts.Appeared():
            return logging.INFO, f"appeared; rule {life.rule.name!r} decides{_notice(fact)}"
        case facts.Changed():
            return logging.INFO, f"is now {life.event.status}{_when(life.event)}"
        case facts.Ended() if life.impact_seen:
            return logging.INFO, "is over; what was done is undone"
        case facts.Ended():
            return logging.INFO, "was cancelled, no impact was seen; what was done is undone"
        case facts.CameAgain() if life.ended:
            return logging.WARNING, "is shown again after its end; taken up anew if it stays"
        case facts.CameAgain():
            return logging.WARNING, "is shown again before anything was undone: it goes on"
        case facts.StepBegan():
            return logging.INFO, f"step {life.step(fact.step).name!r} begins ({fact.phase})"
        case facts.StepEnded():
            level = logging.INFO if fact.ok else logging.ERROR
            word = "done" if fact.ok else "FAILED"
            return level, f"step {life.step(fact.step).name!r} {word} ({fact.phase}): {fact.sentence}"
        case facts.StepSkipped():
            return logging.ERROR, f"step {life.step(fact.step).name!r} FAILED: {fact.sentence}"
        case facts.StepShared():
            return logging.INFO, f"step {life.step(fact.step).name!r} is in force already, for {fact.other}"
        case facts.StepLeft():
            return logging.INFO, f"step {life.step(fact.step).name!r} stays in force, for {fact.other}"
        case facts.ApprovalBegan():
            return logging.INFO, "is being approved"
        case facts.ApprovalEnded():
            return _answer(fact)
        case facts.Over():
            return logging.INFO, "nothing is left to do"
    return logging.DEBUG, ""


def _answer(fact: facts.ApprovalEnded) -> tuple[int, str]:
    if fact.given:
        return logging.INFO, f"approved: {fact.sentence}"
    if fact.gone:
        return logging.INFO, "is no longer there to approve"
    return logging.ERROR, f"could not be approved: {fact.sentence}"


def _notice(fact: facts.Appeared) -> str:
    if fact.notice_s is not None:
        return f"; {fact.notice_s:.0f} s until NotBefore{_when(fact.event)}"
    if fact.event.is_started:
        return "; it has started already, there was no notice: the steps' own limits hold"
    return "; nobody knows its NotBefore, or it has passed: the steps' own limits hold"


def _when(event: EventView) -> str:
    return "" if event.not_before is None else f", {event.not_before:%Y-%m-%dT%H:%M:%SZ}"


def about(event: EventView) -> str:
    return f"{event.type or 'event'} of {', '.join(event.resources) or 'nobody'}"


def fields(life: Life) -> Mapping[str, Any]:
    return {"event_id": life.event.id, "rule": life.rule.name}


def alarm_sentence(life: Life, alarm: Alarm, vm: str) -> str:
    of_step = f"step {alarm.step!r} of " if alarm.step else ""
    return (
        f"{vm}: {alarm.kind}: {about(life.event)} ({life.event.id}), {of_step}rule {life.rule.name!r}: {alarm.sentence}"
    )


def reason(life: Life, phase: Phase) -> str:
    """Why a step runs, for people."""
    if phase is Phase.DO:
        return f"{about(life.event)} is {life.event.status}{_when(life.event)}"
    if life.impact_seen:
        return f"{about(life.event)} is over"
    return f"{about(life.event)} was cancelled: no impact was seen"


def journal_sentence(book: Book) -> str:
    """What is wrong with the journal, or nothing."""
    if book.trouble:
        return f"{book.path} cannot be written ({book.trouble}): nothing is begun and nothing approved until it can be."
    if book.holes:
        lines = ", ".join(map(str, sorted(book.holes)[:HOLES_SHOWN])) + (f" ({book.reason})" if book.reason else "")
        doubted = ", ".join(f"{about(life.event)} ({life.event.id})" for life in book.doubted()) or "none that it names"
        return (
            f"{book.path} is damaged at line {lines}: nothing is approved, and for events of before nothing is done or "
            f"undone: {doubted}. See to them, move the file away, and start the agent again."
        )
    return ""
