"""Contract of every store: compare-and-set on one scope, and giving back what was put in.

Beside it: test_store_feed_contract.py, test_store_history_contract.py, test_store_process_contract.py.
"""

from dataclasses import MISSING, fields, replace

import pytest
from store_samples import (
    NOON_MS,
    OPERATOR,
    event_with,
    record_of,
    rich_event,
    rich_member,
    rich_operation,
    rich_record,
    rich_rollout,
    rich_scope,
    rich_settings,
    rich_vm,
)

from notbefore.core.decide import decide
from notbefore.core.errors import ScopeTooLarge, StoreUnavailable
from notbefore.core.kinds import Kind, Status
from notbefore.core.model import Scope, Vm
from notbefore.core.requests import DeclareScope
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment
from notbefore.ports import HistoryQuery, VersionConflict
from notbefore.stores.codec import SCOPE_BODY_MAX_BYTES

NOON = Moment(NOON_MS, 0, "a-boot")


async def test_an_unknown_scope_loads_as_none(store):
    """A scope that nobody committed is not there."""
    assert await store.load("web") is None


async def test_a_committed_scope_is_loaded_as_it_was_committed(store):
    """`load` gives the newest committed state, with the version and revision that `commit` answered."""
    stored = await store.commit(Scope("web"), 0, None)

    assert stored.scope == Scope("web")
    assert await store.load("web") == stored


async def test_versions_count_a_scopes_own_commits_and_revisions_all_of_the_store(store):
    """`version` counts a scope's own commits from 1; `revision` orders all commits of the store."""
    web, again, db = (
        await store.commit(Scope("web"), 0, None),
        await store.commit(Scope("web", incarnation=2), 1, None),
        await store.commit(Scope("db"), 0, None),
    )

    assert [web.version, again.version, db.version] == [1, 2, 1]
    assert 0 < web.revision < again.revision < db.revision


@pytest.mark.parametrize("expected", [0, 1, 3, -1])
async def test_a_commit_on_another_version_conflicts(store, expected):
    """Compare-and-set: only the version that is there may be replaced; 0 means there is none yet."""
    await store.commit(Scope("web"), 0, None)
    await store.commit(Scope("web", incarnation=2), 1, None)

    with pytest.raises(VersionConflict):
        await store.commit(Scope("web", incarnation=9), expected, None)


async def test_a_first_commit_must_expect_version_0(store):
    """What is not there has no version to be replaced."""
    with pytest.raises(VersionConflict):
        await store.commit(Scope("web"), 1, None)

    assert await store.load("web") is None


async def test_a_conflicting_commit_changes_nothing(store):
    """Neither the scope, nor its history, nor the feed, nor the next revision."""
    stored = await store.commit(Scope("web"), 0, record_of("web"))

    with pytest.raises(VersionConflict):
        await store.commit(Scope("web", incarnation=9), 0, record_of("web", event_with(Status.SCHEDULED)))

    assert await store.load("web") == stored
    assert await store.changes_after(0, 10) == [stored]
    assert [r.record for r in await store.history(HistoryQuery())] == [record_of("web")]


async def test_of_two_instances_that_loaded_the_same_version_one_commits(open_store):
    """Two servers on one store are safe without locks."""
    here, there = await open_store("node-a"), await open_store("node-b")
    await here.commit(Scope("web"), 0, None)
    seen_here, seen_there = await here.load("web"), await there.load("web")

    won = await there.commit(Scope("web", incarnation=2), seen_there.version, None)
    with pytest.raises(VersionConflict):
        await here.commit(Scope("web", incarnation=3), seen_here.version, None)

    assert await here.load("web") == won


async def test_names_that_differ_in_letter_case_are_one_scope(store):
    """Names compare in any letter case, and are given back as declared."""
    await store.commit(Scope("Web-STRASSE"), 0, None)

    with pytest.raises(VersionConflict):
        await store.commit(Scope("web-straße"), 0, None)
    renamed = await store.commit(Scope("WEB-straße"), 1, None)

    assert await store.load(Scope("wEb-strasse").key) == renamed
    assert renamed.scope.name == "WEB-straße"


async def test_a_scope_with_every_field_filled_comes_back_equal(open_store):
    """What is loaded, by whichever instance, equals what was committed."""
    here, there = await open_store("node-a"), await open_store("node-b")

    stored = await here.commit(rich_scope(), 0, rich_record())

    assert await there.load(rich_scope().key) == stored
    assert stored.scope == rich_scope()
    assert [r.record for r in await there.history(HistoryQuery())] == [rich_record()]


RICH = [
    rich_scope(),
    rich_event(),
    rich_vm(),
    rich_settings(),
    rich_record().changes[0],
    rich_operation(),
    rich_operation().waiting[0],
    rich_operation().wave,
    rich_member(),
    rich_rollout(),
    rich_rollout().limits,
    rich_rollout().limits.windows[0],
    rich_rollout().in_hand[0],
    rich_rollout().hits[0],
]


@pytest.mark.parametrize("value", RICH, ids=type)
def test_the_rich_samples_leave_no_field_at_its_default(value):
    """The round trip above proves something only while its samples fill every field."""
    optional = [field for field in fields(value) if not has_no_default(field)]
    bare = type(value)(**{field.name: getattr(value, field.name) for field in fields(value) if has_no_default(field)})

    assert [field.name for field in optional if getattr(value, field.name) == getattr(bare, field.name)] == []


def has_no_default(field):
    return field.default is MISSING and field.default_factory is MISSING


async def test_a_request_taken_before_a_restart_is_answered_again_after_it(open_store):
    """The request ids a scope remembers are stored with it, so a write of unknown outcome can be judged."""
    request = DeclareScope(
        scope="web",
        request_id="6f1c2a34-0000-4000-8000-000000000001",
        by=OPERATOR,
        kind=Kind.STANDALONE,
        settings=ScopeSettings(),
        vms=(Vm("web-1"),),
    )
    decision = decide(None, request, NOON)
    before = await open_store("node-a")
    await before.commit(decision.scope, 0, decision.record)
    await before.close()

    stored = await (await open_store("node-a")).load("web")

    repeated = decide(stored.scope, request, NOON)
    assert repeated.answer.again
    assert repeated.scope == decision.scope


async def test_a_scope_too_large_is_refused_and_nothing_changes(store):
    """A scope stays within 512 KiB and says so when it would not."""
    stored = await store.commit(Scope("web"), 0, record_of("web"))
    wordy = replace(event_with(Status.SCHEDULED), description="x" * SCOPE_BODY_MAX_BYTES)

    with pytest.raises(ScopeTooLarge) as refused:
        await store.commit(Scope("web", events=(wordy,)), 1, record_of("web"))

    assert "web" in refused.value.message
    assert refused.value.hint
    assert refused.value.facts["limit"] == 512 * 1024
    assert await store.load("web") == stored
    assert len(await store.history(HistoryQuery())) == 1


async def test_a_scope_just_small_enough_is_stored(store):
    """The limit is on the bytes stored, and the last byte counts."""
    wordy = replace(event_with(Status.SCHEDULED), description="x" * (SCOPE_BODY_MAX_BYTES - 2000))
    scope = Scope("web", events=(wordy,))

    await store.commit(scope, 0, None)

    assert (await store.load("web")).scope == scope


async def test_what_was_committed_is_there_after_closing_and_opening(open_store):
    """A store outlives its instances; versions and revisions go on where they were."""
    before = await open_store()
    stored = await before.commit(Scope("web"), 0, record_of("web"))
    await before.close()

    after = await open_store()

    assert await after.load("web") == stored
    again = await after.commit(Scope("web", incarnation=2), 1, None)
    assert again.revision > stored.revision


async def test_closing_twice_is_closing_once(store):
    """`close` may be called by whoever is leaving."""
    await store.close()
    await store.close()


async def test_a_closed_store_refuses_in_a_sentence(store):
    """What is asked after `close` is refused, not lost and not a crash."""
    await store.close()

    with pytest.raises(StoreUnavailable, match="closed"):
        await store.load("web")
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.commit(Scope("web"), 0, None)
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.wait_for_changes()
