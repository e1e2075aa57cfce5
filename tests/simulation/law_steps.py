"""A run told by hand, for the laws to judge: turns really decided, then committed as they are or spoilt.

Rule 1: what is right comes from the core; what is wrong is the right thing with one fact changed.
Rule 2: the run's own clock is true time in seconds; every machine shows noon at its beginning.
"""

from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from uuid import UUID

import pytest

from notbefore.core.decide import decide
from notbefore.core.draft import Answer
from notbefore.core.kinds import EventType, Kind, Listening
from notbefore.core.model import Actor, ActorKind, Vm, name_key
from notbefore.core.requests import (
    ApproveEvents,
    CancelEvent,
    ClaimEffect,
    CompleteEvent,
    DeclareScope,
    FailHost,
    ImpactFailed,
    ImpactFinished,
    Maintain,
    NoteAsked,
    OperateVm,
    RemoveScope,
    Tick,
)
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment
from notbefore.metadata.answers import HttpAnswer
from notbefore.metadata.verdict import RequestHead
from notbefore.ports import Evidence, Impact, Stored, StoredRecord
from notbefore.runtime.snapshot import VmRef
from notbefore.simulation.facts import ProcessFacts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.steps import (
    ClockStepped,
    Committed,
    Ended,
    ImpactBegan,
    ImpactOver,
    OperatorAnswered,
    ProcessEnded,
    TroubleChanged,
    VmAnswered,
    VmAsked,
)
from notbefore.wire.api_versions import API_VERSIONS, NEWEST
from notbefore.wire.approval import render_start_requests
from notbefore.wire.document import render_document

NOON_MS = 1_772_452_800_000
SECOND_US = 1_000_000
PATH = b"/metadata/scheduledevents"
TRUE = (b"metadata", b"true")
NOWHERE = "10.99.0.99"
OPERATOR = Actor(ActorKind.OPERATOR, "ops")
EXECUTOR = Actor(ActorKind.EXECUTOR, "hypervisor")
MINUTE, HOUR, DAY = 60, 3600, 86400
QUARTER = 15 * MINUTE
_numbers = count(1)


class Run:
    """Two machines with a process each. `law` is one law, or several."""

    def __init__(self, *laws):
        self.laws = laws
        self.now_us = 0
        self.scopes = {}
        self.documents = {}
        self.records = []
        self.processes = {
            name: ProcessFacts(name, name, f"boot-{name}", loaded_us=0, loaded_wall_ms=NOON_MS)
            for name in ("one", "two")
        }
        self.stepped_ms = dict.fromkeys(self.processes, 0)

    # -- Facts

    def wall_ms(self, process):
        return NOON_MS + self.now_us // 1000 + self.stepped_ms[process]

    def moment(self, process):
        return Moment(self.wall_ms(process), self.now_us // 1000, self.processes[process].boot_id)

    def scope(self, name="shop"):
        stored = self.scopes.get(name_key(name))
        return stored.scope if stored else None

    @property
    def event(self):
        (event,) = self.scope().events
        return event

    # -- Time

    def at(self, seconds):
        self.now_us = round(seconds * SECOND_US)

    def step_clock(self, seconds, process="one"):
        self.stepped_ms[process] += round(seconds * 1000)
        self.processes[process].stepped_us = self.now_us
        self.see(ClockStepped(self.now_us, process, round(seconds * 1000)))

    def trouble(self, process="one", *, began):
        self.processes[process].calm_since_us = None if began else self.now_us
        self.see(TroubleChanged(self.now_us, process, "store away", began))

    def end_process(self, process):
        self.processes[process].ended_us = self.now_us
        self.see(ProcessEnded(self.now_us, process, "crashed"))

    def load_process(self, name, boot_id="boot-anew"):
        self.stepped_ms.setdefault(name, 0)
        self.processes[name] = ProcessFacts(name, name, boot_id, loaded_us=self.now_us)
        self.processes[name].loaded_wall_ms = self.wall_ms(name)

    # -- Steps

    def see(self, step):
        for law in self.laws:
            law.see(step, self)

    def decided(self, request, process="one"):
        return decide(self.scope(request.scope), request, self.moment(process))

    def take(self, request, process="one"):
        """The right thing: decided and committed in one instant."""
        decision = self.decided(request, process)
        self.commit(decision.scope, decision.record, process)
        return decision

    def commit(self, scope, record=None, process="one"):
        before = self.scopes.get(scope.key)
        version = before.version + 1 if before else 1
        self.scopes[scope.key] = Stored(scope, version, version)
        if record:
            self.records.append(StoredRecord(len(self.records) + 1, record))
        self.see(Committed(self.now_us, process, self.now_us, before.scope if before else None, scope, record))

    def begins(self, event, vm, attempt=1, process="one"):
        self.see(ImpactBegan(self.now_us, process, impact_on(event, vm, attempt)))

    def is_over(self, event, vm, attempt=1, process="one", evidence="seen", new_host=None):
        told = Evidence(evidence, new_host) if evidence else None
        failure = "" if evidence else "no luck"
        self.see(ImpactOver(self.now_us, process, impact_on(event, vm, attempt), told, failure))

    def carry_out(self, event, vm, attempt=1, process="one", **told):
        """Claimed, begun, over and reported, all as it should be."""
        self.take(claim(event, vm, attempt, process), process)
        self.begins(event, vm, attempt, process)
        self.is_over(event, vm, attempt, process, **told)
        self.take(finished(event, vm, attempt, **told), process)

    def shows(self, vm, process="one", scope=None, known=None, version=NEWEST, **otherwise):
        """A GET and its answer: the document as it is now, or 304 when that is known, or whatever is said otherwise."""
        shown = scope or self.scope()
        same = known == shown.incarnation
        body = otherwise.get("body", b"" if same else render_document(shown, API_VERSIONS[version]))
        status = otherwise.get("status", 304 if same else 200)
        headers = (TRUE, *(((b"if-none-match", str(known).encode()),) if known is not None else ()))
        tag = str(otherwise.get("tag", shown.incarnation)).encode()
        head = RequestHead("GET", PATH, f"api-version={version}".encode(), headers)
        asked = self._asks(vm, process, head, b"", otherwise.get("address"))
        self.answers(asked, HttpAnswer(status, ((b"etag", tag),), body))

    def hears(self, vm, process="one"):
        """A GET that enables the scope: committed, then answered."""
        self.take(asked(vm, self.wall_ms(process)), process)
        self.shows(vm, process)

    def posts(self, vm, *events, process="one", status=200, body=None, answer=b""):
        """A POST and its answer, in one instant."""
        self.answers(self.sends(vm, *events, process=process, body=body), HttpAnswer(status, (), answer))

    def sends(self, vm, *events, process="one", body=None):
        """A POST that reached a process; what becomes of it is told later, or never."""
        head = RequestHead("POST", PATH, b"api-version=2020-07-01", (TRUE,))
        sent = render_start_requests(event if isinstance(event, str) else event.id for event in events)
        return self._asks(vm, process, head, sent if body is None else body)

    def approves(self, vm, *events, process="one"):
        """A VM's word as it should be: sent, committed, answered."""
        asked = self.sends(vm, *events, process=process)
        self.take(approve(*events, by=vm), process)
        self.answers(asked, HttpAnswer(200, (), b""))

    def refuses(self, vm, status, process="one", address=None):
        """A GET that is refused."""
        head = RequestHead("GET", PATH, b"api-version=2020-07-01", (TRUE,))
        self.answers(self._asks(vm, process, head, b"", address), HttpAnswer(status, (), b"{}"))

    def answers(self, asked, answer):
        facts = (asked.vm, asked.address, asked.head, asked.body)
        answer = HttpAnswer(answer, (), b"") if isinstance(answer, int) else answer
        self.see(VmAnswered(self.now_us, asked.process, asked.at_us, *facts, answer))

    def _asks(self, vm, process, head, body, address=None):
        scope, _, name = vm.rpartition("/")
        ref = VmRef(scope or "shop", name)
        known = self.scope(ref.scope)
        declared = known.vm(name) if known else None
        address = address or (declared.addresses[0] if declared and declared.addresses else NOWHERE)
        asked = VmAsked(self.now_us, process, ref, address, head, body)
        self.see(asked)
        return asked

    def answers_operator(self, request, process="one"):
        self.see(OperatorAnswered(self.now_us, process, request, Answer()))

    def end(self):
        self.see(Ended(self.now_us))


@contextmanager
def broken(law, words):
    """This law is broken, and says so in these words."""
    with pytest.raises(Violation) as caught:
        yield
    assert caught.value.law == law
    assert words in caught.value.sentence


# -- Requests


def asking(facts, by=OPERATOR):
    return {"scope": "shop", "request_id": str(UUID(int=next(_numbers))), "by": by} | facts


def declare(*vms, scope="shop", force=False, **settings):
    settings.setdefault("listening", Listening.ALWAYS)
    vms = tuple(replace(vm if isinstance(vm, Vm) else Vm(vm), spot=True) for vm in vms)
    facts = asking({"scope": scope})
    return DeclareScope(**facts, kind=Kind.SCALE_SET, settings=ScopeSettings(**settings), vms=vms, force=force)


def remove(**facts):
    return RemoveScope(**asking(facts))


def operate(operation, vm, **facts):
    return OperateVm(**asking(facts), operation=operation, vm=vm)


def restart(vm, **facts):
    return operate("restart", vm, **facts)


def maintain(event_type=EventType.REBOOT, **facts):
    return Maintain(**asking(facts), type=event_type)


def host_failed(host):
    return FailHost(**asking({}), host=host)


def approve(*events, by=OPERATOR):
    by = by if isinstance(by, Actor) else Actor(ActorKind.VM, by)
    return ApproveEvents(**asking({}, by), event_ids=tuple(event.id for event in events))


def cancel(event):
    return CancelEvent(**asking({}), event_id=event.id)


def complete(event):
    return CompleteEvent(**asking({}), event_id=event.id)


def tick(**facts):
    return Tick(**asking(facts, Actor(ActorKind.CLOCK)))


def asked(vm, at_ms):
    return NoteAsked(**asking({}, Actor(ActorKind.VM, vm)), asked_ms={vm: at_ms})


def claim(event, vm, attempt=1, node="one"):
    return ClaimEffect(**asking({}, EXECUTOR), event_id=event.id, vm=vm, node=node, seen_attempt=attempt - 1)


def finished(event, vm, attempt=1, evidence="seen", new_host=None):
    facts = {"event_id": event.id, "vm": vm, "attempt": attempt, "evidence": evidence, "new_host": new_host}
    return ImpactFinished(**asking(facts, EXECUTOR))


def failed(event, vm, attempt=1):
    return ImpactFailed(**asking({"event_id": event.id, "vm": vm, "attempt": attempt, "reason": "no luck"}, EXECUTOR))


def impact_on(event, vm, attempt):
    attempt_id = f"{event.id}/{vm}#{attempt}"
    return Impact(attempt_id, "shop", event.id, Vm(vm), event.type, event.duration_s, NOON_MS, attempt - 1)


# -- Beginnings


def run_with(law, *vms, scope="shop", **settings):
    """A run judged by one law, with the scope declared a minute ago."""
    run = Run(law)
    run.take(declare(*(vms or ("a", "b")), scope=scope, **settings))
    run.at(MINUTE)
    return run


def scheduled(law, *vms, request=None, **settings):
    run = run_with(law, *vms, **settings)
    run.take(request or restart("a"))
    return run


def started(law, *vms, request=None, **settings):
    run = scheduled(law, *vms, request=request, **settings)
    run.take(approve(run.event))
    return run


# -- Spoiling what is right


def with_event(scope, event, **facts):
    """The scope with one fact of one event changed."""
    return scope.with_event(replace(scope.event(event.id), **facts))


def telling(record, **facts):
    """The record with one fact of its last change put otherwise."""
    return replace(record, changes=(*record.changes[:-1], replace(record.changes[-1], **facts)))
