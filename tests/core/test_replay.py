"""History alone gives the present state: folded from empty, on random journeys and by example."""

from builders import EVENT, NOON, cancel, declare, later, reboot_of, remove, restart, scope_with
from journeys import on_random_journeys

from notbefore.core.decide import decide
from notbefore.core.model import name_key
from notbefore.core.replay import Replay, RetoldRecord, retold


def replay_of(records):
    replay = Replay()
    replay.tell_all(retold(n, record) for n, record in enumerate(records, start=1))
    return replay


def state_of(scope):
    """What history tells of; claims, *asked*, recovery and the last request ids are not in it."""
    return (
        scope.name,
        scope.incarnation,
        {name_key(vm.name): vm for vm in scope.vms},
        {event.id: event for event in scope.events},
        scope.removed,
    )


def replayed_state(replayed):
    return (replayed.name, replayed.incarnation, replayed.vms, replayed.events, replayed.removed)


@on_random_journeys(examples=150, in_proof=4000)
def test_history_replayed_from_empty_gives_the_present_state(journey):
    """Issue: "History replayed from empty gives the present state", after every single turn."""
    replay = Replay()
    for revision, turn in enumerate(journey.taken, start=1):
        if turn.decision and turn.decision.record:
            replay.tell(retold(revision, turn.decision.record))
        replayed = replay.scopes[turn.after.key]
        assert replayed_state(replayed) == state_of(turn.after)
        assert replayed.is_there is not turn.after.removed
        assert replayed.declaration.settings == turn.after.settings
        assert replayed.declaration.kind == turn.after.kind


def test_a_record_told_twice_counts_once():
    """A record may stand in an archive and still in the store after a crash."""
    first = decide(None, declare("vm-a"), NOON)
    second = decide(first.scope, declare("vm-a", "vm-b"), NOON)
    told = [retold(1, first.record), retold(2, second.record)]
    replay = Replay()

    replay.tell_all([*told, *told])

    assert list(replay.scopes["shop"].vms) == ["vm-a", "vm-b"]


def test_an_ended_event_is_no_part_of_the_present():
    """SPEC §3: gone."""
    made = decide(decide(None, declare("vm-a"), NOON).scope, restart("vm-a"), NOON)
    ended = decide(scope_with(reboot_of("vm-a")), cancel(EVENT), later(1))

    assert len(replay_of([made.record]).scopes["shop"].events) == 1
    assert replay_of([ended.record]).scopes["shop"].events == {}


def test_a_removed_scope_is_not_there():
    """SPEC S3: its incarnation stays, for when it is declared again."""
    declared = decide(None, declare("vm-a"), NOON)
    removed = decide(declared.scope, remove(), NOON)

    scope = replay_of([declared.record, removed.record]).scopes["shop"]

    assert not scope.is_there
    assert scope.incarnation == removed.scope.incarnation


def test_what_concerns_no_scope_makes_none():
    """Records of hosts and tokens have the scope ""."""
    replay = Replay()

    replay.tell(RetoldRecord(7, "", 0, ()))

    assert replay.scopes == {}
    assert replay.revision == 7
