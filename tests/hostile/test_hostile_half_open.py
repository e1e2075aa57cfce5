"""Half-open connections on a real server process: 500 by default, 5,000 with NOTBEFORE_PROOF=1. An honest VM beside them is served."""

import asyncio
import os
import resource
import socket
import statistics
from contextlib import ExitStack

import pytest
from answers_read import Answers, eventually, read_answers, read_to_the_end, told
from attacked import HONEST, Attacked
from hostile_case import GET, LAST, TARGET

pytestmark = pytest.mark.one_process("caps count in each worker")

PROOF = os.environ.get("NOTBEFORE_PROOF") == "1"
HALF_OPEN = 5_000 if PROOF else 500
PER_ADDRESS = 50
SPARE = 100
BEYOND = 40
QUESTIONS = 1_000 if PROOF else 300
HALF_A_HEAD = b"GET " + TARGET + b" HTTP/1.1\r\nHost: a\r\nMeta"
FILES_NEEDED = HALF_OPEN + SPARE + 200


@pytest.fixture
def server(tmp_path):
    """Patient enough for the test, with room for the half-open ones and few more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < FILES_NEEDED:
        pytest.skip(f"the hard limit on open files is {hard}; {FILES_NEEDED} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    limits = {"head_timeout_s": 120, "idle_timeout_s": 120, "connections_max": HALF_OPEN + SPARE}
    try:
        with Attacked(tmp_path / "state", **limits) as started:
            yield started
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def line_from(server, source):
    return socket.create_connection(server.metadata, timeout=20, source_address=(source, 0))


def address_of(number):
    """Every fifty connections another address, none of them a VM's."""
    high, low = divmod(number // PER_ADDRESS, 250)
    return f"127.8.{high}.{low + 1}"


def half_open(server, stack, numbers):
    """So many lines that say half a head and no more."""
    lines = []
    for number in numbers:
        lines.append(stack.enter_context(line_from(server, address_of(number))))
        lines[-1].sendall(HALF_A_HEAD)
    return lines


def is_refused(line):
    """With 503, or closed at once; a line that is let in stays silent, so it is asked to go on."""
    try:
        line.sendall(b"data: true\r\nConnection: close\r\n\r\n")
        answers = read_to_the_end(line, Answers())
    except ConnectionError:
        return True
    return answers.statuses in ([], [503])


async def answered_ms(server):
    """How long the honest VM waits for each answer, connecting anew each time, in order."""
    loop = asyncio.get_running_loop()
    took = []
    for _ in range(QUESTIONS):
        began = loop.time()
        await server.ask_honestly()
        took.append((loop.time() - began) * 1000)
    return took


def measured(server, what):
    took = asyncio.run(answered_ms(server))
    percentiles = statistics.quantiles(took, n=100)
    told(f"{what}: p50 {percentiles[49]:.2f} ms, p99 {percentiles[98]:.2f} ms, worst {max(took):.2f} ms")


def has_room(server):
    with line_from(server, HONEST) as line:
        line.sendall(LAST)
        return read_to_the_end(line, Answers()).statuses == [200]


def test_half_open_connections_keep_nobody_else_from_being_served(server):
    """SPEC §2.1: a slow or half-open client costs a bounded amount of memory. Another VM is always answered; at the
    cap new connections are refused while those that are there are served; once they have gone all is as before.
    """
    assert server.open_files_max() >= FILES_NEEDED
    measured(server, "idle")
    before_kib = server.peak_kib()
    with ExitStack() as held:
        half_open(server, held, range(HALF_OPEN))
        measured(server, f"beside {HALF_OPEN} half-open connections")
        told(f"memory: {before_kib} KiB before, {server.peak_kib()} KiB with them")

        kept = held.enter_context(line_from(server, HONEST))
        kept.sendall(GET)
        assert read_answers(kept, Answers(), 1).statuses == [200]
        half_open(server, held, range(HALF_OPEN, HALF_OPEN + SPARE - 1))
        with ExitStack() as beyond:
            refused = [is_refused(one) for one in half_open_beyond(server, beyond)]
        kept.sendall(GET)
        told(f"at the cap: {sum(refused)} of {BEYOND} refused")
        assert all(refused)
        assert read_answers(kept, Answers(), 1).statuses == [200]

    assert eventually(lambda: has_room(server), within_s=20)
    measured(server, "after they have gone")
    assert server.process.poll() is None
    assert "Traceback" not in server.log.read_text()


def half_open_beyond(server, stack):
    return [
        stack.enter_context(line_from(server, address_of(n)))
        for n in range(HALF_OPEN + SPARE, HALF_OPEN + SPARE + BEYOND)
    ]


def test_one_address_cannot_take_more_than_its_share(server):
    """A cap for each caller: at 64 connections one address is refused, and the others are served."""
    with ExitStack() as held:
        mine = [held.enter_context(line_from(server, "127.8.200.1")) for _ in range(70)]
        for line in mine[:64]:
            line.sendall(HALF_A_HEAD)
        for line in mine[64:]:
            assert is_refused(line)

        assert has_room(server)
