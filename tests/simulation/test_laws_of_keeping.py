"""The laws on hosts, tokens and retired history: quiet about what is right, and each broken thing is named."""

import pytest

from notbefore.core.errors import UnknownToken
from notbefore.core.history import Change, HistoryRecord
from notbefore.core.model import Actor, ActorKind
from notbefore.ports import Document, StoredRecord
from notbefore.simulation.facts import ProcessFacts
from notbefore.simulation.laws.keeping import Keeping
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.retention import Retention
from notbefore.simulation.steps import DocumentPut, Ended, HandAnswered, HistoryKept, HistoryRetired, TokenShown

SECOND_US = 1_000_000
OPERATOR = Actor(ActorKind.OPERATOR, "ops")


class Books:
    """Facts as a test wants them."""

    def __init__(self):
        self.now_us = 0
        self.scopes = {}
        self.documents = {}
        self.records = []
        self.processes = {name: ProcessFacts(name, name, "b", loaded_us=0) for name in ("m1.1", "m2.1")}


def record(number):
    return HistoryRecord("", number, f"request {number}", 0, (Change("token created", "why not", OPERATOR),))


@pytest.fixture
def facts():
    return Books()


class Keeper:
    def __init__(self, facts):
        self.facts = facts
        self.law = Keeping()

    def put(self, at_s, body=b"x", process="m1.1", *, told=True):
        if body is None:
            self.facts.documents.pop(("token", "ci"), None)
        else:
            self.facts.documents["token", "ci"] = Document("token", "ci", 1, 1, body)
        explained = record(at_s) if told else None
        self.law.see(DocumentPut(at_s * SECOND_US, process, "token", "ci", body, explained), self.facts)

    def answered(self, at_s, word, refusal=None, process="m1.1"):
        self.law.see(HandAnswered(at_s * SECOND_US, process, word, "CI", refusal), self.facts)

    def shown(self, at_s, opens, process="m1.1"):
        self.law.see(TokenShown(int(at_s * SECOND_US), process, "CI", opens), self.facts)


@pytest.fixture
def keeper(facts):
    return Keeper(facts)


def test_a_token_made_shown_and_revoked_as_it_should_be_is_no_violation(keeper):
    """Quiet about what is right, the time of the feed included."""
    keeper.put(10)
    keeper.answered(11, "create_token")
    keeper.shown(11, opens=True)
    keeper.shown(10.1, opens=False, process="m2.1")
    keeper.shown(12, opens=True, process="m2.1")
    keeper.put(20, None)
    keeper.answered(21, "revoke_token")
    keeper.shown(21, opens=False)
    keeper.answered(30, "revoke_token", UnknownToken("CI"))


def test_a_change_without_its_record_is_told(keeper):
    """S11: history explains every change."""
    with pytest.raises(Violation, match="history does not say why"):
        keeper.put(10, told=False)


def test_done_and_not_there_is_told(keeper):
    """S7: what was answered as done is kept."""
    with pytest.raises(Violation, match="answered create_token CI as done, and it is not"):
        keeper.answered(11, "create_token")


def test_a_revoked_token_that_still_opens_is_told_at_once_where_it_was_revoked(keeper):
    """Issue: a revoked token is refused at once."""
    keeper.put(10)
    keeper.put(20, None)
    keeper.answered(20.001, "revoke_token")

    with pytest.raises(Violation, match=r"opens m1\.1"):
        keeper.shown(20.001, opens=True)


def test_a_server_that_never_hears_of_a_token_is_told(keeper):
    """Other servers follow within the time of the feed."""
    keeper.put(10)

    with pytest.raises(Violation, match=r"does not open m2\.1"):
        keeper.shown(15, opens=False, process="m2.1")


def test_kept_then_retired_is_no_violation_and_the_whole_is_there_at_the_end(facts):
    """S11 beyond retention."""
    law = Retention()
    for number in (1, 2, 3):
        law.see(DocumentPut(number, "m1.1", "token", "ci", b"x", record(number)), facts)
    law.see(HistoryKept(4, "m1.1", (StoredRecord(1, record(1)), StoredRecord(2, record(2)))), facts)
    law.see(HistoryKept(5, "m1.1", (StoredRecord(1, record(1)),)), facts)
    law.see(HistoryRetired(6, "m1.1", (StoredRecord(1, record(1)),)), facts)
    facts.records = [StoredRecord(2, record(2)), StoredRecord(3, record(3))]
    law.see(Ended(7), facts)

    facts.records = [StoredRecord(2, record(2))]
    with pytest.raises(Violation, match="hold 2 records of 3"):
        law.see(Ended(8), facts)


def test_a_record_that_left_without_being_kept_is_told(facts):
    """Kept first, deleted then."""
    with pytest.raises(Violation, match="the sink does not have it"):
        Retention().see(HistoryRetired(6, "m1.1", (StoredRecord(1, record(1)),)), facts)
