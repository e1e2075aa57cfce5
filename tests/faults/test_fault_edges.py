"""Faults live at the edges: with none set the way of a GET is untouched, and set they let nobody wait in vain."""

import asyncio
from contextlib import asynccontextmanager

from lab import PATH, lab_settings
from notbefore.executors.simulate import SimulatedExecutor
from notbefore.faults.book import FaultBook
from notbefore.faults.documents import Documents
from notbefore.faults.fault import Order
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.faulty import FaultyApp, FaultyService
from notbefore.metadata.identity import Listener
from notbefore.metadata.listen import metadata_server
from notbefore.metadata.service import MetadataOptions, MetadataService
from notbefore.sockets import bind
from notbefore.wiring import made_service, running_server, serving

ASK = f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n".encode()
NO_LIMIT = MetadataOptions(rate_limit_per_s=0)


class WatchedFaulty(FaultyApp):
    """Counts what comes to it as an app: what the memo answers does not."""

    calls = 0

    async def __call__(self, scope, receive, send):
        WatchedFaulty.calls += 1
        await super().__call__(scope, receive, send)


class WatchedPlain(MetadataApp):
    calls = 0

    async def __call__(self, scope, receive, send):
        WatchedPlain.calls += 1
        await super().__call__(scope, receive, send)


@asynccontextmanager
async def data_plane(service, app):
    """A data plane of its own on the node of a server that runs."""
    bound = bind("127.0.0.1", 0)
    listener = Listener("127.0.0.1", bound.getsockname()[1])
    app.calls = 0
    async with serving((metadata_server(service, [listener], app), [bound])):
        reader, writer = await asyncio.open_connection(*bound.getsockname())

        async def ask(extra=b""):
            writer.write(ASK + extra + b"\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            lines = [line for line in head.split(b"\r\n") if not line.startswith(b"date: ")]
            return lines, await reader.readexactly(length)

        try:
            yield ask
        finally:
            writer.close()
    bound.close()


def all_of(names):
    return names


async def test_with_no_fault_set_a_known_request_is_answered_from_the_memo(tmp_path):
    """Issue: no fault code on the hot path when none is set. Set, everything goes the long way; cleared, the short one."""
    async with running_server(lab_settings(tmp_path / "state", demo=True)) as server:
        book = FaultBook(lambda _: 0)
        service = FaultyService(server.node, NO_LIMIT, book, Documents(book))
        async with data_plane(service, WatchedFaulty) as ask:
            answers = [await ask() for _ in range(4)]
            assert WatchedFaulty.calls == 1
            assert answers == [answers[0]] * 4

            book.add(Order("500", on="post"), all_of)
            assert [await ask() for _ in range(3)] == answers[:3]
            assert WatchedFaulty.calls == 4

            book.clear()
            assert [await ask() for _ in range(4)] == answers
            assert WatchedFaulty.calls == 4


async def test_with_no_fault_set_it_takes_the_steps_that_the_plain_one_takes(tmp_path):
    """The same answers, and the same number of them past the memo, whatever is asked."""
    asked = [b"", b"", b"If-None-Match: 1\r\n", b"If-None-Match: 1\r\n", b"X-A: 1\r\n", b"", b"Prefer: wait=5\r\n"]
    async with running_server(lab_settings(tmp_path / "state", demo=True)) as server:
        await server.node.hearing.enable(*service_known(server))
        book = FaultBook(lambda _: 0)
        async with data_plane(MetadataService(server.node, NO_LIMIT), WatchedPlain) as ask:
            plain = [await ask(extra) for extra in asked]
        async with data_plane(FaultyService(server.node, NO_LIMIT, book, Documents(book)), WatchedFaulty) as ask:
            faulty = [await ask(extra) for extra in asked]

    assert faulty == plain
    assert WatchedFaulty.calls == WatchedPlain.calls


def service_known(server):
    (caller,) = server.node.snapshot.owners_of("127.0.0.1")
    return caller, server.node.snapshot.view_by_key(caller.scope)


async def test_without_allow_faults_every_part_is_the_plain_one(tmp_path):
    """The classes that can have faults are not even there."""
    settings = lab_settings(tmp_path / "state")
    async with running_server(settings) as server:
        service, app = made_service(settings, server.node, server.node._tasks, None)

        assert server.faults is None
        assert (type(service), app) == (MetadataService, MetadataApp)
        assert type(server.node._outbox._executor._executor) is SimulatedExecutor


async def test_held_questions_are_let_go_when_a_fault_is_set_and_none_is_held_meanwhile(tmp_path):
    """`Prefer: wait` is not applied while any fault is set."""
    waiting = b"If-None-Match: 1\r\nPrefer: wait=60\r\n"
    async with running_server(lab_settings(tmp_path / "state", demo=True)) as server:
        book = FaultBook(lambda _: 0)
        service = FaultyService(server.node, NO_LIMIT, book, Documents(book))
        async with data_plane(service, WatchedFaulty) as ask:
            await ask()
            held = asyncio.ensure_future(ask(waiting))
            while not service.counts.polls_held:
                await asyncio.sleep(0)

            book.add(Order("500", on="post"), all_of)
            lines, _ = await held
            assert lines[0] == b"HTTP/1.1 304 Not Modified"
            assert not any(line.startswith(b"preference-applied") for line in lines)

            lines, _ = await ask(waiting)
            assert lines[0] == b"HTTP/1.1 304 Not Modified"
            assert service.counts.polls_held == 0

            book.clear()
            held = asyncio.ensure_future(ask(waiting))
            while not service.counts.polls_held:
                await asyncio.sleep(0)
            book.add(Order("500"), all_of)
            await held
