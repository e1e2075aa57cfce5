"""Books: aggregates kept as documents, turned by several at once on a store that may fail (runtime/book.py)."""

import asyncio
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest
from nodes import FaultyStore

from notbefore.clock import SystemClock
from notbefore.core.errors import StoreUnavailable
from notbefore.core.history import Change
from notbefore.core.model import THE_SERVICE
from notbefore.ports import HistoryQuery
from notbefore.runtime.book import ENDED_KEPT_MAX, Book, Turned
from notbefore.stores.codec import JsonEncoding
from notbefore.stores.sqlite.store import SqliteStore
from notbefore.tasks import AsyncioTasks

FAULTS = ["conflict", "lost", "unknown but there"]
TOLD = (Change("counted", "one more", THE_SERVICE),)


@dataclass(frozen=True, slots=True)
class Tally:
    """A small aggregate."""

    id: str
    made_at_ms: int = 0
    count: int = 0
    is_over: bool = False


@pytest.fixture
async def store(tmp_path):
    opened = FaultyStore(await SqliteStore.open(tmp_path / "notbefore.db", "node-a"))
    yield opened
    await opened.close()


@pytest.fixture
async def open_book(store):
    tasks = AsyncioTasks()
    yield lambda: Book("tally", store, JsonEncoding(Tally), SystemClock(), tasks, ids=lambda: str(uuid4()))
    await tasks.cancel_all()


def one_more(there):
    return Turned(replace(there, count=there.count + 1), TOLD)


def up_to(number):
    """A turn that is asked for by level: done, it changes nothing."""
    return lambda there: Turned(replace(there, count=max(there.count, number)), TOLD)


async def told(store):
    return [one.record.changes[0].what for one in await store.history(HistoryQuery(scope="", limit=1000))]


async def test_what_is_added_is_there_for_whoever_looks(open_book, store):
    """Rule 3: whoever made a change, those who act on it are told."""
    here, there = open_book(), open_book()
    seen = []
    there.subscribe(seen.append)
    made = await here.add(Tally("ABC"), TOLD)
    await there.look()
    await there.look()

    assert here.get("abc") == there.get("Abc") == made
    assert seen == [made]
    assert await told(store) == ["counted"]


async def test_made_twice_it_is_made_once(open_book, store):
    """With an id that is there already, what is there stays."""
    here, there = open_book(), open_book()
    await here.add(Tally("a", count=1), TOLD)

    assert await there.add(Tally("a", count=2), TOLD) == Tally("a", count=1)
    assert await told(store) == ["counted"]


async def test_turns_of_many_at_once_are_all_taken(open_book, store):
    """Rules 1 and 2: within a process one after the other; between processes the store decides."""
    books = [open_book() for _ in range(3)]
    await books[0].add(Tally("a"), ())
    for book in books[1:]:
        await book.look()
    await asyncio.gather(*(book.turn("a", one_more) for _ in range(10) for book in books))
    for book in books:
        await book.look()

    assert {book.get("a").count for book in books} == {30}
    assert len(await told(store)) == 30


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_of_the_store_is_turned_again(open_book, store, fault):
    """Rule 1: of a conflict, or a write of unknown outcome, the page is read again and the turn taken again."""
    book = open_book()
    await book.add(Tally("a"), ())
    store.faults = [fault, fault]
    turned = await book.turn("a", up_to(7))

    assert turned == book.get("a") == Tally("a", count=7)
    assert await told(store) == ["counted"]
    other = open_book()
    await other.look()
    assert other.get("a").count == 7


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_of_the_first_write_makes_it_once(open_book, store, fault):
    """Rule 1 for one that is new."""
    book = open_book()
    store.faults = [fault]

    assert await book.add(Tally("a", count=3), TOLD) == Tally("a", count=3)
    assert await told(store) == ["counted"]


async def test_a_turn_that_changes_nothing_writes_nothing(open_book, store):
    """Rule 1."""
    book = open_book()
    await book.add(Tally("a", count=3), ())
    version = (await store.documents("tally"))[0].version

    assert await book.turn("a", up_to(2)) == Tally("a", count=3)
    assert await book.turn("a", lambda _: None) == Tally("a", count=3)
    assert await book.turn("nobody", lambda _: None) is None
    assert (await store.documents("tally"))[0].version == version
    assert await told(store) == []


async def test_endless_conflicts_are_refused_in_a_sentence(open_book, store):
    """A limit on everything."""
    book = open_book()
    await book.add(Tally("a"), ())
    store.faults = ["conflict"] * 1000

    with pytest.raises(StoreUnavailable, match="too many at once"):
        await book.turn("a", one_more)
    assert book.get("a").count == 0


async def test_a_store_that_is_away_is_the_callers_to_try_again(open_book, store):
    """And nothing is changed here that is not changed there."""
    book = open_book()
    await book.add(Tally("a"), ())
    store.away = True
    with pytest.raises(StoreUnavailable):
        await book.turn("a", one_more)

    store.away = False
    assert (await book.turn("a", one_more)).count == 1


async def test_the_living_are_those_that_are_not_over(open_book):
    """In the order in which they were made."""
    book = open_book()
    for n in (3, 1, 2):
        await book.add(Tally(f"t{n}", made_at_ms=n), ())
    await book.turn("t2", lambda there: Turned(replace(there, is_over=True)))

    assert [one.id for one in book.all()] == ["t1", "t2", "t3"]
    assert sorted(one.id for one in book.live()) == ["t1", "t3"]


async def test_the_oldest_of_the_ended_are_cleared_out_but_not_what_is_needed_or_lives(open_book, store):
    """Rule 3: ended ones are kept for a while, the newest of them."""
    book = open_book()
    await book.add(Tally("living", made_at_ms=0), ())
    for n in range(ENDED_KEPT_MAX + 5):
        await book.add(Tally(f"{n:04}", made_at_ms=n, is_over=True), ())
    await book.clear_out(lambda one: one.id == "0001")

    left = {document.key for document in await store.documents("tally")}
    assert {f"{n:04}" for n in range(ENDED_KEPT_MAX + 5)} - left == {"0000", "0002", "0003", "0004"}
    assert {"living", "0001"} <= left
    assert {one.id for one in book.all()} == left


async def test_two_that_clear_out_disturb_nobody(open_book, store):
    """Another has removed it."""
    here, there = open_book(), open_book()
    for n in range(ENDED_KEPT_MAX + 3):
        await here.add(Tally(f"{n:04}", made_at_ms=n, is_over=True), ())
    await there.look()
    await asyncio.gather(here.clear_out(), there.clear_out())

    assert len(await store.documents("tally")) == ENDED_KEPT_MAX
    assert [one.id for one in here.all()] == [one.id for one in there.all()]
