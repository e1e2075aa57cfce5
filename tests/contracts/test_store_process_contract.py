"""Contract of every store: processes that die, processes that race, and who is still alive."""

import random
import signal

import pytest
from store_child import COUNTED

from notbefore.core.errors import StoreUnavailable
from notbefore.core.model import Scope
from notbefore.ports import HistoryQuery

CRASHES = 6
COMMITS_PER_CONTENDER = 60


async def whole_history(store):
    """Every record, piece by piece."""
    records, after = [], 0
    while piece := await store.history(HistoryQuery(after=after, limit=1000)):
        records += piece
        after = piece[-1].revision
    return records


async def test_a_commit_that_returned_survives_a_crash_in_the_next_instruction(start_child, open_store):
    """A 200 is a promise: what `commit` has returned from is there, however the process ends."""
    child = start_child("commit_and_die", "web")
    assert child.wait() == -signal.SIGKILL

    store = await open_store()

    assert (await store.load("web")).scope == Scope("web")
    assert len(await store.history(HistoryQuery(scope="web"))) == 1


async def test_a_crash_at_any_moment_loses_nothing_that_was_confirmed(start_child, open_store):
    """Killed while committing: every confirmed commit is there, at most the one in flight beside them, and
    scope, version and history agree."""
    store = await open_store()
    moments = random.Random(2016)
    version = 0
    for n in range(CRASHES):
        child = start_child("commit_until_killed", "web", node=f"child-{n}")
        for _ in range(moments.randint(1, 30)):
            confirmed = child.stdout.readline()
        child.kill()
        confirmed = [confirmed, *child.stdout.readlines()][-1]

        stored = await store.load("web")
        assert version < int(confirmed) <= stored.version <= int(confirmed) + 1
        assert stored.scope.asked_ms[COUNTED] == stored.version
        records = await whole_history(store)
        assert len(records) == stored.version
        assert records[-1].revision == stored.revision
        version = stored.version


async def test_two_processes_racing_on_one_scope_lose_no_update(start_child, open_gate, open_store):
    """Compare-and-set holds between processes: each success counts once, in the scope and in history."""
    racers = [start_child("contend", str(COMMITS_PER_CONTENDER), node=f"racer-{n}") for n in range(2)]
    for racer in racers:
        racer.stdout.readline()
    for racer in racers:
        open_gate(racer)
    succeeded = [line.strip() for racer in racers for line in racer.stdout.readlines()]

    store = await open_store()

    stored = await store.load("contended")
    assert len(succeeded) == 2 * COMMITS_PER_CONTENDER
    assert stored.version == stored.scope.asked_ms[COUNTED] == len(succeeded)
    assert sorted(r.record.request_id for r in await whole_history(store)) == sorted(succeeded)


async def test_processes_that_open_a_new_store_at_once_all_get_it(start_child, open_gate, open_store):
    """Nobody has to be first: the store is made once, and all commit to it."""
    children = [start_child("commit_at_gate", f"scope-{n}", node=f"child-{n}") for n in range(4)]
    assert [child.stdout.readline() for child in children] == ["open\n"] * 4
    for child in children:
        open_gate(child)
    revisions = [int(child.stdout.readline()) for child in children]

    store = await open_store()

    assert sorted(revisions) == [stored.revision for stored in await store.changes_after(0, 10)]


async def test_a_node_is_alive_while_it_has_the_store_open(open_store):
    """Each sees itself and the others."""
    here, there = await open_store("node-a"), await open_store("node-b")

    assert [here.is_alive("node-a"), here.is_alive("node-b")] == [True, True]
    assert [there.is_alive("node-a"), there.is_alive("node-b")] == [True, True]


@pytest.mark.parametrize("stranger", ["nobody", "../../etc/passwd", "Knödel", "a b"])
async def test_a_node_that_never_was_is_not_alive(store, stranger):
    """Whatever it is called."""
    assert not store.is_alive(stranger)


async def test_a_node_that_closed_its_store_is_not_alive(open_store):
    """Its claims may be taken over, and its name used again."""
    here, there = await open_store("node-a"), await open_store("node-b")

    await there.close()

    assert not here.is_alive("node-b")
    again = await open_store("node-b")
    assert here.is_alive("node-b")
    assert again.is_alive("node-b")


async def test_a_killed_node_is_not_alive(start_child, open_store):
    """A crashed node's claims may be taken over; nobody has to tidy up after it."""
    store = await open_store()
    child = start_child("hold", node="victim")
    child.stdout.readline()
    assert store.is_alive("victim")

    child.kill()
    child.wait()

    assert not store.is_alive("victim")
    assert not store.is_alive("victim")


async def test_a_killed_nodes_name_may_be_taken_again(start_child, open_store):
    """A server that crashed starts again under its own name, and is alive once more."""
    child = start_child("hold", node="victim")
    child.stdout.readline()
    child.kill()
    child.wait()

    await open_store("victim")

    assert (await open_store("node-a")).is_alive("victim")


async def test_two_nodes_may_not_have_one_name(open_store):
    """Else the death of one would look like the life of the other."""
    first = await open_store("node-a")

    with pytest.raises(StoreUnavailable, match="node-a"):
        await open_store("node-a")

    assert first.is_alive("node-a")
