"""An agent without threads, sockets and files: the real loop, book and rules, with named stand-ins at its edges.

`Story` tells what the endpoint shows and how steps end, and keeps what the agent did, in order.
"""

import json
import queue
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from notbefore.agent.book import Book
from notbefore.agent.facts import Opened, event_in
from notbefore.agent.hands import AlertDone, ApprovalDone, StepDone
from notbefore.agent.journal import Replay
from notbefore.agent.life import Word
from notbefore.agent.running import Agent
from notbefore.agent.settings import ALERT_ON, Among, Approve, Of, Rule, Settings, StepRule
from notbefore.agent.steps.step import Phase, Result
from notbefore.agent.telling import tell
from notbefore.agent.watching import Look, Named
from notbefore.client.changes import Seen
from notbefore.client.document import parsed_document

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOTICE_S = 900.0
ID = "AAAAAAAA-0000-0000-0000-000000000001"
WORDS = {"of": Of, "approve": Approve, "among": Among}
OTHER = "BBBBBBBB-0000-0000-0000-000000000002"


def shown(event_id=ID, kind="Reboot", status="Scheduled", vms=("web-1",), notice_s=NOTICE_S, **more):
    """An event as a document has it."""
    at = NOON + timedelta(seconds=notice_s) if notice_s is not None else None
    return {
        "EventId": event_id,
        "EventStatus": status,
        "EventType": kind,
        "ResourceType": "VirtualMachine",
        "Resources": list(vms),
        "NotBefore": "" if status == "Started" or at is None else at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Description": "",
        "EventSource": "Platform",
        "DurationInSeconds": -1,
        **more,
    }


def event_of(**named):
    return event_in(shown(**named))


class FakeStep:
    """Runs when the story says so."""

    kind = "fake"

    def __init__(self, *, undo=True):
        self._undo = undo

    def problems(self):
        return []

    def has_undo(self):
        return self._undo

    def run(self, errand, limit_s, cut_off):
        return Result(ok=True, sentence="")

    def shown(self, phase):
        return f"pretend to {phase}"


def a_step(name, *, undo=True, **named):
    return StepRule(name, FakeStep(undo=undo), **{"key": name, **named})


def a_rule(name="all", steps=("drain", "stop"), **named):
    made = tuple(one if isinstance(one, StepRule) else a_step(one) for one in steps)
    words = {key: WORDS[key](value) if key in WORDS else value for key, value in named.items()}
    return Rule(name, steps=made, table={"name": name}, **words)


class TurnedClock:
    """Stands until somebody turns it; `boot_s` is what its steady hand showed at noon, or would have."""

    def __init__(self):
        self.boot_s = 5000.0
        self.passed_s = 0.0
        self.wall_ahead_s = 0.0

    def steady_s(self):
        return self.boot_s + self.passed_s

    def wall_s(self):
        return NOON.timestamp() + self.passed_s + self.wall_ahead_s


class KeptLines:
    """A journal in memory, which may be full."""

    path = Path("kept")
    size = 0

    def __init__(self):
        self.lines = []
        self.is_full = False

    def open(self):
        return Replay([{**json.loads(line), "line": n} for n, line in enumerate(self.lines, 1)])

    def append(self, line):
        if self.is_full:
            raise OSError(28, "No space left on device")
        self.lines.append(json.dumps(line))

    def rewrite(self, kept):
        raise AssertionError("a small journal is not rewritten")

    def close(self):
        pass


class FakeHands:
    """Keeps what it was asked to do; the story ends it."""

    def __init__(self, story):
        self.story = story
        self.steps = {}
        self.cut = set()
        self.approving = set()
        self.telling = set()
        self.can_tell = True
        self.is_idle = True
        self.has_room = True

    def run_step(self, life, n, step, errand, limit_s):
        assert life not in self.steps, "one step of a life at a time"
        self.steps[life] = (n, errand.phase, limit_s)
        self.story.did.append(f"{errand.phase} {step.name}")
        self.story.begun.append((life, n, errand.phase))

    def cut_off(self, life):
        is_news = life not in self.cut
        self.cut.add(life)
        return is_news

    def was_cut_off(self, life):
        return life in self.cut

    def approve(self, life, event_id):
        lived = self.story.book.lives.living[life]
        assert lived.is_scheduled
        assert lived.word is Word.ASKING, "written down before it is sent"
        assert lived.rule.approve is not Approve.NEVER
        assert not lived.fault or lived.rule.approve is Approve.ALWAYS
        self.approving.add(life)
        self.story.did.append("approve")

    def tell(self, life, alarm, alerts, errand):
        if (life, alarm) in self.telling or not self.can_tell:
            return False
        self.telling.add((life, alarm))
        self.story.told.append(errand.sentence)
        self.story.agent.happenings.put(AlertDone(life, alarm, ()))
        return True

    def take_back(self, done):
        if isinstance(done, StepDone):
            self.steps.pop(done.life, None)
            self.cut.discard(done.life)
        elif isinstance(done, ApprovalDone):
            self.approving.discard(done.life)
        else:
            self.telling.discard((done.life, done.alarm))


class Story:
    def __init__(self, *rules, vm="web-1", **settings):
        named = {"alerts": (a_step("tell"),), "alert_on": ALERT_ON, **settings}
        self.settings = Settings(Path("agent.toml"), Path("state"), rules=rules or (a_rule(),), **named)
        self.rules = {rule.name: rule for rule in self.settings.rules}
        self.vm = vm
        self.clock = TurnedClock()
        self.kept = KeptLines()
        self.did, self.begun, self.told = [], [], []
        self.document = []
        self.boot = "first boot"
        self.start()

    def start(self):
        """The agent's process begins, with the journal as it is."""
        self.hands = FakeHands(self)
        self.book = Book(self.kept, self.clock, tell)
        self.agent = Agent(self.settings, self.book, self.hands, self.clock, queue.SimpleQueue(), lambda _: None)
        self.book.open(Opened(self.boot, 1, "test"), lambda table: self.rules[table["name"]])
        self.seen, self.is_first = Seen(), True
        self.agent._take(Named(self.vm))
        self._turn()

    def crash(self, boot=None):
        """Killed and started again, perhaps with the VM. What ran meanwhile is cut off."""
        if boot is not None and boot != self.boot:
            self.boot, self.clock.boot_s = boot, 10.0 - self.clock.passed_s
        self.start()

    def shows(self, *events):
        """The endpoint answers with these."""
        self.document = list(events)
        document = parsed_document(json.dumps({"DocumentIncarnation": 1, "Events": self.document}).encode())
        self.agent._take(Look(tuple(self.seen.changes_in(document)), self.is_first))
        self.is_first = False
        self._turn()

    def looks_again(self):
        self.shows(*self.document)

    def passes(self, seconds):
        """Time, from alarm to alarm."""
        until_s = self.clock.passed_s + seconds
        while self.alarm_s is not None and (at_s := self.alarm_s - self.clock.boot_s) < until_s:
            self.clock.passed_s = max(at_s, self.clock.passed_s + 0.001)
            self._turn()
        self.clock.passed_s = until_s
        self._turn()

    def ends(self, event_id=ID, *, ok=True, number=1):
        """The step under way for this event is over."""
        life = event_id.lower() if number == 1 else f"{event_id.lower()}~{number}"
        n, phase, _ = self.hands.steps[life]
        self.agent._take(StepDone(life, n, phase, Result(ok=ok, sentence="as the story has it")))
        self._turn()

    def all_end(self):
        """Every step succeeds until none is under way."""
        while self.hands.steps:
            life = next(iter(self.hands.steps))
            n, phase, _ = self.hands.steps[life]
            self.agent._take(StepDone(life, n, phase, Result(ok=True, sentence="")))
            self._turn()

    def answers(self, event_id=ID, *, given=True):
        """The endpoint has answered the approval."""
        self.agent._take(ApprovalDone(event_id.lower(), given, False, "" if given else "not now"))
        self._turn()

    def life(self, event_id=ID):
        return self.book.lives.of_event(event_id)

    @property
    def under_way(self):
        return {life: f"{phase} {n}" for life, (n, phase, _) in self.hands.steps.items()}

    def limit_s(self, event_id=ID):
        return self.hands.steps[event_id.lower()][2]

    def _turn(self):
        self.alarm_s = self.agent._pursue()
        while not self.agent.happenings.empty():
            self.agent._take(self.agent.happenings.get())
            self.alarm_s = self.agent._pursue()


__all__ = ["ID", "NOON", "OTHER", "Phase", "Story", "a_rule", "a_step", "event_of", "replace", "shown"]
