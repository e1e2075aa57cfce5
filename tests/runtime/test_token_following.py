"""Tokens on several servers with one store: what one creates or revokes the others follow; what nobody knows is read again."""

import asyncio
import logging

import pytest
from nodes import FaultyStore

from notbefore.clock import SystemClock
from notbefore.control.token_book import TokenBook
from notbefore.core.errors import NotAllowed, StoreUnavailable, UnknownToken
from notbefore.core.model import Actor, ActorKind
from notbefore.core.tokens import Role, Token, digest_of
from notbefore.ports import HistoryQuery
from notbefore.runtime.snapshot import Snapshot
from notbefore.stores.sqlite.store import SqliteStore

ADMIN = Actor(ActorKind.OPERATOR, "admin")
SECRET = "nbt_secret-of-ann"
# Never reached by a follower that follows: it only ends a test that would hang.
PATIENCE_S = 30


class HeldStore(FaultyStore):
    """A store whose list of documents, once read, can be held back on its way."""

    def __init__(self, store):
        super().__init__(store)
        self.gate = asyncio.Event()
        self.gate.set()
        self.reading = asyncio.Event()

    async def documents(self, kind, after=0):
        found = await super().documents(kind, after)
        self.reading.set()
        await self.gate.wait()
        return found


class OneServer:
    """A store of its own on the common file, a book of tokens, and a follower that keeps it up to date."""

    def __init__(self, name, store):
        self.store = store
        clock = SystemClock()
        self.looked = asyncio.Event()
        self.book = TokenBook(store, clock, asyncio.Lock(), lambda: "request", f"admin of {name}")
        self.snapshot = Snapshot(store, clock)
        self.snapshot.on_any_change(self.book.look)
        self.snapshot.on_any_change(self.note)
        self.follower = asyncio.create_task(self.snapshot.follow())

    async def note(self):
        self.looked.set()

    async def until(self, holds):
        """Until that is so, which it is after some look at the store."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self.looked.clear()
                await self.looked.wait()

    async def stop(self):
        self.follower.cancel()
        await asyncio.gather(self.follower, return_exceptions=True)
        await self.store.close()


@pytest.fixture
async def servers(tmp_path):
    running = []
    for name in ("here", "there"):
        store = HeldStore(await SqliteStore.open(tmp_path / "notbefore.db", name))
        running.append(OneServer(name, store))
    yield running
    for server in running:
        server.store.gate.set()
        await server.stop()


def token_of(name="ann", secret=SECRET):
    return Token(name, Role.OPERATOR, digest_of(secret), 1, "admin")


async def test_a_token_made_on_one_server_is_known_on_the_other(servers):
    """As soon as it follows; nobody has to restart."""
    here, there = servers

    await here.book.create(token_of(), ADMIN)

    assert here.book.match(SECRET) == token_of()
    await there.until(lambda: there.book.match(SECRET))


async def test_a_token_revoked_on_one_server_is_refused_on_the_other(servers):
    """As soon as it follows."""
    here, there = servers
    await here.book.create(token_of(), ADMIN)
    await there.until(lambda: there.book.match(SECRET))

    await here.book.revoke("ANN", ADMIN)

    assert here.book.match(SECRET) is None
    await there.until(lambda: there.book.match(SECRET) is None)


async def test_each_server_has_an_admin_token_of_its_own(servers):
    """Valid on its own server always, and on no other."""
    here, there = servers

    assert here.book.match("admin of here").name == "admin"
    assert there.book.match("admin of here") is None


async def test_a_token_revoked_here_does_not_come_back_by_a_list_read_before(servers):
    """A look at the store that is under way when a token is revoked brings nothing back, not for a moment."""
    here, _ = servers
    await here.book.create(token_of(), ADMIN)
    here.store.gate.clear()
    here.store.reading.clear()
    looking = asyncio.create_task(here.book.look())
    await asyncio.wait_for(here.store.reading.wait(), PATIENCE_S)

    revoking = asyncio.create_task(here.book.revoke("ann", ADMIN))
    await asyncio.sleep(0)
    here.store.gate.set()
    await revoking

    assert here.book.match(SECRET) is None
    await looking
    assert here.book.match(SECRET) is None


async def test_while_the_store_is_away_the_last_list_holds(servers, caplog):
    """Who could ask can ask; a change that cannot be kept is refused."""
    here, there = servers
    await here.book.create(token_of(), ADMIN)
    await there.until(lambda: there.book.match(SECRET))
    there.store.away = True

    with caplog.at_level(logging.CRITICAL):
        with pytest.raises(StoreUnavailable):
            await there.book.look()
        with pytest.raises(StoreUnavailable):
            await there.book.revoke("ann", ADMIN)
        with pytest.raises(StoreUnavailable):
            await there.book.create(token_of("bob", "another"), ADMIN)

    assert there.book.match(SECRET) == token_of()
    assert there.book.match("another") is None


async def test_a_revocation_during_an_absence_is_followed_when_the_store_is_back(servers):
    """The follower looks before it waits, so that it needs no further change to learn of it."""
    here, there = servers
    await here.book.create(token_of(), ADMIN)
    await there.until(lambda: there.book.match(SECRET))
    there.store.away = True
    await here.book.revoke("ann", ADMIN)

    there.store.away = False

    await there.until(lambda: there.book.match(SECRET) is None)


@pytest.mark.parametrize("fault", ["unknown but there", "lost"])
async def test_a_creation_of_unknown_outcome_is_judged_by_what_is_there(servers, fault):
    """Kept: it is answered. Lost: it is refused, and no secret is given out for nothing. Never tried twice."""
    here, _ = servers
    here.store.faults = [fault]

    if fault == "lost":
        with pytest.raises(StoreUnavailable):
            await here.book.create(token_of(), ADMIN)
    else:
        await here.book.create(token_of(), ADMIN)

    kept = fault != "lost"
    assert (here.book.match(SECRET) is not None) == kept
    assert len(await here.store.history(HistoryQuery())) == kept


@pytest.mark.parametrize("fault", ["unknown but there", "lost", "conflict"])
async def test_a_revocation_of_unknown_outcome_is_judged_by_what_is_there(servers, fault):
    """Gone: it is answered. Still there: it is refused, and the token stays good rather than half revoked."""
    here, _ = servers
    await here.book.create(token_of(), ADMIN)
    here.store.faults = [fault]

    if fault == "unknown but there":
        await here.book.revoke("ann", ADMIN)
    else:
        with pytest.raises(StoreUnavailable):
            await here.book.revoke("ann", ADMIN)

    assert (here.book.match(SECRET) is None) == (fault == "unknown but there")


async def test_two_servers_that_create_the_same_name_at_once_make_one(servers):
    """Compare-and-set: the other is told that the name is taken."""
    here, there = servers
    ended = await asyncio.gather(
        here.book.create(token_of(secret="one"), ADMIN),
        there.book.create(token_of(secret="two"), ADMIN),
        return_exceptions=True,
    )

    assert sorted(map(type, ended), key=str) == sorted([type(None), NotAllowed], key=str)
    await here.book.look()
    await there.book.look()
    assert here.book.all() == there.book.all()
    assert len(here.book.all()) == 1


async def test_two_servers_that_revoke_the_same_token_at_once_leave_none(servers):
    """Whoever is second finds it gone."""
    here, there = servers
    await here.book.create(token_of(), ADMIN)
    ended = await asyncio.gather(
        here.book.revoke("ann", ADMIN), there.book.revoke("ann", ADMIN), return_exceptions=True
    )

    assert all(one is None or isinstance(one, UnknownToken) for one in ended)
    assert here.book.match(SECRET) is there.book.match(SECRET) is None
