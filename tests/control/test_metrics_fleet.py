"""The fleet in numbers, kept up to date at each change, against a count from the beginning."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from notbefore.control.metrics.fleet import Fleet, effect_states
from notbefore.core.effects import PendingEffect, StartImpact
from notbefore.core.kinds import LIVE, EventType, Listening, Source, VmState
from notbefore.core.listening import listens
from notbefore.core.model import Actor, ActorKind, Event, Scope, Vm
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import HOUR_MS, Moment

OPERATOR = Actor(ActorKind.OPERATOR, "ops")
NOON_MS = 1_772_452_800_000
DAY_MS = 24 * HOUR_MS
VM_NAMES = ("a", "b", "C")

asked_times = st.integers(NOON_MS - 4 * DAY_MS, NOON_MS + HOUR_MS)
vms = st.lists(st.builds(Vm, st.sampled_from(VM_NAMES), state=st.sampled_from(VmState)), max_size=3)
events = st.lists(
    st.builds(
        Event,
        id=st.uuids().map(str),
        type=st.sampled_from(EventType),
        source=st.just(Source.USER),
        vms=st.just(("a",)),
        made_at_ms=st.just(NOON_MS),
        made_by=st.just(OPERATOR),
        status=st.sampled_from(LIVE),
    ),
    max_size=3,
)
effects = st.lists(
    st.builds(
        PendingEffect,
        st.builds(StartImpact, st.uuids().map(str), st.sampled_from(("a", "A", "b")), st.sampled_from(EventType)),
        since_ms=st.just(NOON_MS),
        claimed_by=st.sampled_from(("", "node-a")),
        retry_at_ms=st.sampled_from((None, NOON_MS)),
    ),
    max_size=4,
)
scopes = st.builds(
    Scope,
    st.sampled_from(("web", "WEB", "db", "cache")),
    settings=st.builds(ScopeSettings, listening=st.sampled_from(Listening)),
    vms=vms.map(tuple),
    events=events.map(tuple),
    asked_ms=st.dictionaries(st.sampled_from(VM_NAMES), asked_times, max_size=2),
    pending=effects.map(tuple),
    removed=st.booleans(),
)


def recounted(changes):
    """The newest state of each scope, counted from nothing."""
    newest = {scope.key: scope for scope in changes}
    return [scope for scope in newest.values() if not scope.removed]


@given(st.lists(scopes, max_size=12), st.integers(NOON_MS - DAY_MS, NOON_MS + 2 * DAY_MS))
def test_the_numbers_are_those_of_a_recount_after_any_changes(changes, now_ms):
    """Whatever was declared, changed and removed before, in whatever order."""
    fleet = Fleet()
    for scope in changes:
        fleet.take(scope)
    there = recounted(changes)

    assert fleet.scopes == len(there)
    assert +fleet.vms == Counter(str(vm.state) for scope in there for vm in scope.vms)
    assert +fleet.events == Counter((one.type, one.status) for scope in there for one in scope.events)
    assert +fleet.effects == Counter(state for scope in there for state in effect_states(scope.pending))
    assert fleet.listening(now_ms) == sum(listens(scope, Moment(now_ms, 0, "boot")) for scope in there)


@given(st.lists(st.tuples(scopes, st.integers(0, 3 * DAY_MS)), min_size=1, max_size=12))
def test_scopes_stop_listening_as_time_goes_by_between_scrapes(steps):
    """SPEC §2.5: a scope listens while any of its VMs asked within 24 h. Scrapes forget only what cannot count again."""
    fleet, changes, now_ms = Fleet(), [], NOON_MS
    for scope, passed_ms in steps:
        now_ms += passed_ms
        changes.append(replace(scope, asked_ms={vm: at + now_ms - NOON_MS for vm, at in scope.asked_ms.items()}))
        fleet.take(changes[-1])
        expected = sum(listens(one, Moment(now_ms, 0, "boot")) for one in recounted(changes))

        assert fleet.listening(now_ms) == expected


def test_the_minutes_kept_are_bounded_however_long_ago_the_scopes_asked():
    """A scope that asked last year takes part in no scrape's work."""
    fleet = Fleet()
    for n in range(5000):
        fleet.take(Scope(f"s{n}", asked_ms={"vm": NOON_MS - n * HOUR_MS}))

    assert fleet.listening(NOON_MS) == 25
    assert len(fleet._asked) <= 3 * 24 + 1


def test_the_second_impact_on_a_vm_is_behind_the_first():
    """runtime/outbox, rule 2: per VM in order; so only the first can be stuck."""
    first = PendingEffect(StartImpact("1", "web", EventType.REBOOT), since_ms=0, claimed_by="node-a", attempt=1)
    second = PendingEffect(StartImpact("2", "WEB", EventType.FREEZE), since_ms=0)
    other = PendingEffect(StartImpact("2", "db", EventType.FREEZE), since_ms=0)
    failed = replace(other, effect=StartImpact("3", "cache", EventType.FREEZE), retry_at_ms=5)

    assert effect_states((first, second, other, failed)) == ["claimed", "behind", "waiting", "resting"]
