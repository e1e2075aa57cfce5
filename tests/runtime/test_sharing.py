"""Equal values are held once, and nobody can tell (DESIGN §2: a scope is one small versioned value)."""

from notbefore.core.kinds import EventType
from notbefore.core.model import Scope, ScopeSettings, Vm
from notbefore.runtime.sharing import SETTINGS_REMEMBERED, Sharing
from notbefore.stores.codec import decode_scope, encode_scope

VMS = (
    Vm("web-1", host="host-1", addresses=("10.0.0.1",)),
    Vm("web-2", host="host-1", addresses=("10.0.0.2",), tags={"team": "shop"}),
)


def a_scope(name="shop", **fields):
    """As a store reads it: nothing of it is held by anybody else."""
    made = Scope(name=name, vms=VMS, settings=ScopeSettings(notice_s={EventType.REBOOT: 60}), **fields)
    return decode_scope(encode_scope(made))


def test_scopes_that_are_alike_hold_the_same_parts():
    """Of a million VMs most differ in name and address alone."""
    sharing = Sharing()
    one, two = a_scope("one"), a_scope("two")
    for scope in (one, two):
        sharing.share(scope, None)

    assert one.settings is two.settings
    assert one.vms[0].host is two.vms[1].host
    assert one.vms[0].tags is two.vms[0].tags
    assert one.hit_ms is two.asked_ms


def test_sharing_changes_nothing_that_can_be_seen():
    """Rule 1 of sharing: a part is put in the place of one that equals it."""
    sharing = Sharing()
    sharing.share(a_scope("other"), None)
    shared = a_scope(asked_ms={"web-1": 17, "gone": 4}, hit_ms={"web-2": 3})
    sharing.share(shared, None)

    assert shared == a_scope(asked_ms={"web-1": 17, "gone": 4}, hit_ms={"web-2": 3})
    assert encode_scope(shared) == encode_scope(a_scope(asked_ms={"web-1": 17, "gone": 4}, hit_ms={"web-2": 3}))


def test_who_asked_is_kept_under_the_vms_own_names():
    """A name stands in memory once, however many tables have it."""
    scope = a_scope(asked_ms={"web-1": 17})
    Sharing().share(scope, None)

    assert next(iter(scope.asked_ms)) is scope.vms[0].name


def test_a_new_state_keeps_the_vms_of_the_former_one_when_they_are_equal():
    """What came from the feed was decoded anew, and mostly only events have changed."""
    sharing = Sharing()
    former, now = a_scope(), a_scope(incarnation=2)
    sharing.share(former, None)
    sharing.share(now, former)

    assert now.vms is former.vms
    assert now.settings is former.settings


def test_of_settings_only_the_last_few_are_remembered():
    """A limit on everything."""
    sharing = Sharing()
    first = Scope(name="first", settings=ScopeSettings(recovery_s=1))
    sharing.share(first, None)
    for seconds in range(2, SETTINGS_REMEMBERED + 2):
        sharing.share(Scope(name="another", settings=ScopeSettings(recovery_s=seconds)), None)
    again = Scope(name="again", settings=ScopeSettings(recovery_s=1))
    sharing.share(again, None)

    assert again.settings == first.settings
    assert again.settings is not first.settings
