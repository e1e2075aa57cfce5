"""`check`: whether the agent could run with these settings, line by line, without doing anything.

Rule 1: every line begins with ok, warn or FAIL. Only a FAIL is a reason not to start.
"""

import os
from collections.abc import Iterator
from enum import StrEnum

from notbefore.agent.journal import NAME, replayed
from notbefore.agent.settings import Among, Approve, Of, Rule, Settings, StepRule
from notbefore.agent.steps.step import Phase
from notbefore.client import EndpointError, Patience, ScheduledEvents

PATIENCE = Patience(first_s=15.0, attempts=2)


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "FAIL"


Finding = tuple[Verdict, str]


def findings(settings: Settings) -> Iterator[Finding]:
    yield Verdict.OK, f"{settings.file}: {len(settings.rules)} rules, {len(settings.alerts)} alerts"
    yield from _of_file(settings)
    yield _of_state(settings)
    yield from _of_endpoint(settings)
    for rule in settings.rules:
        yield from _of_rule(rule)
    for alert in settings.alerts:
        yield from _of_step("alert", alert, (Phase.ALERT,))
    if not settings.rules:
        yield Verdict.WARN, "there is no rule: every event is logged and left alone"
    if not settings.alerts:
        yield Verdict.WARN, "there is no [[alert]]: nobody is told of failures"


def _of_file(settings: Settings) -> Iterator[Finding]:
    if os.name == "posix" and settings.file.stat().st_mode & 0o002:
        yield Verdict.WARN, f"{settings.file} can be written by everybody, and names commands that are run"


def _of_state(settings: Settings) -> Finding:
    place = next(one for one in (settings.state, *settings.state.parents) if one.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        return Verdict.FAIL, f"state: {settings.state} cannot be written to"
    try:
        replay = replayed((settings.state / NAME).read_bytes())
    except FileNotFoundError:
        return Verdict.OK, f"state: {settings.state}, no journal yet"
    except OSError as error:
        return Verdict.FAIL, f"state: the journal cannot be read: {error.strerror}"
    if replay.holes:
        return Verdict.FAIL, f"state: the journal is damaged at line {replay.holes[0]}: nothing would be approved"
    return Verdict.OK, f"state: {settings.state}, a journal of {len(replay.lines)} lines"


def _of_endpoint(settings: Settings) -> Iterator[Finding]:
    try:
        with ScheduledEvents(settings.endpoint, settings.api_version, vm=settings.vm, patience=PATIENCE) as service:
            count = len(service.document().events)
            yield Verdict.OK, f"endpoint: {settings.endpoint or 'found'}, it shows {count} events"
            yield Verdict.OK, f"this VM is {service.whoami()}"
    except EndpointError as error:
        yield Verdict.FAIL, f"endpoint: {error.message} {error.hint}".strip()


def _of_rule(rule: Rule) -> Iterator[Finding]:
    about = f"{', '.join(rule.types) or 'every type'} of {rule.of}"
    yield Verdict.OK, f"rule {rule.name!r}: {about}; approves {rule.approve} among {rule.among}"
    if rule.of is Of.PEER and rule.approve is not Approve.NEVER and rule.among is not Among.ANY:
        yield Verdict.WARN, f'rule {rule.name!r}: a peer\'s event is approved only with among = "any"'
    for step in rule.steps:
        phases = (Phase.DO, Phase.UNDO) if step.step.has_undo() else (Phase.DO,)
        yield from _of_step(f"rule {rule.name!r}", step, phases)


def _of_step(owner: str, step: StepRule, phases: tuple[Phase, ...]) -> Iterator[Finding]:
    shown = "; ".join(f"{phase}: {step.step.shown(phase)}" for phase in phases)
    problems = step.step.problems()
    yield Verdict.FAIL if problems else Verdict.OK, f"{owner}, {step.name!r}: {shown}"
    for problem in problems:
        yield Verdict.FAIL, f"{owner}, {step.name!r}: {problem}"
