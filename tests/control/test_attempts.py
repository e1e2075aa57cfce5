"""Wrong tokens are slowed down and told in the log: per peer, on real time, with a limit on everything."""

import asyncio
import logging
import threading

import pytest

from notbefore.clock import RealTime
from notbefore.control.attempts import (
    DELAY_MAX_S,
    FREE_MAX,
    PEERS_MAX,
    WAITING_MAX,
    WAITING_PER_PEER_MAX,
    WINDOW_S,
    Attempts,
    delay_after,
    kin_of,
)
from notbefore.core.errors import TooManyAttempts


class PatientClock(RealTime):
    """Real time that a test moves; whoever rests stays until it is let go."""

    def __init__(self):
        self.now_s = 1000.0
        self.rested = []
        self.open = asyncio.Event()

    def steady_s(self):
        return self.now_s

    async def rest(self, seconds):
        self.rested.append(seconds)
        await self.open.wait()


@pytest.fixture
def clock():
    return PatientClock()


@pytest.fixture
def attempts(clock):
    return Attempts(clock)


async def fail(attempts, peer="192.0.2.1", times=1):
    """So many failures side by side; the tasks that wait."""
    tasks = [asyncio.create_task(attempts.failed(peer)) for _ in range(times)]
    await asyncio.sleep(0)
    return tasks


async def let_go(clock, tasks):
    clock.open.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_first_five_in_a_minute_are_answered_at_once(clock, attempts):
    """A typing mistake is not an attack."""
    for _ in range(FREE_MAX):
        await attempts.failed("192.0.2.1")

    assert clock.rested == []


async def test_each_further_one_waits_longer_up_to_two_seconds(clock, attempts):
    """A growing delay with an end."""
    clock.open.set()
    for _ in range(FREE_MAX + 10):
        await attempts.failed("192.0.2.1")

    assert clock.rested == sorted(clock.rested)
    assert clock.rested[0] < 0.1
    assert clock.rested[-1] == DELAY_MAX_S == 2.0
    assert delay_after(10**6) == DELAY_MAX_S


async def test_after_a_minute_of_peace_a_peer_begins_anew(clock, attempts):
    """Within a minute: older ones are forgotten."""
    clock.open.set()
    for _ in range(FREE_MAX + 3):
        await attempts.failed("192.0.2.1")
    clock.rested.clear()

    clock.now_s += WINDOW_S
    await attempts.failed("192.0.2.1")

    assert clock.rested == []


async def test_peers_are_counted_apart(clock, attempts):
    """One address does not slow down another; the addresses of one IPv6 subscriber count together."""
    clock.open.set()
    for _ in range(FREE_MAX):
        await attempts.failed("192.0.2.1")
        await attempts.failed("2001:db8::1")
    await attempts.failed("192.0.2.2")
    await attempts.failed("2001:db8:0:1::1")
    assert clock.rested == []

    await attempts.failed("2001:db8::ffff:2")
    assert len(clock.rested) == 1


def test_an_ipv4_address_is_known_in_every_writing():
    """As the metadata service has it: IPv4-mapped IPv6 counts as IPv4."""
    assert kin_of("::ffff:192.0.2.1") == kin_of("192.0.2.1") == "192.0.2.1"
    assert kin_of("fe80::1%eth0") == "fe80::/64"
    assert kin_of("") == ""


async def test_only_so_many_of_one_peer_wait_and_the_next_are_refused_at_once(clock, attempts):
    """429 `too_many_attempts`; those that wait are answered in their time, and then there is room again."""
    for _ in range(FREE_MAX):
        await attempts.failed("192.0.2.1")
    waiting = await fail(attempts, times=WAITING_PER_PEER_MAX)

    with pytest.raises(TooManyAttempts) as refused:
        await attempts.failed("192.0.2.1")

    assert refused.value.facts == {"retry_after_s": 2}
    assert await let_go(clock, waiting) == [None] * WAITING_PER_PEER_MAX
    await attempts.failed("192.0.2.1")


async def test_only_so_many_wait_in_all(clock, attempts):
    """Whatever number of peers fails at once, the server holds a bounded number of answers."""
    waiting = []
    for n in range(WAITING_MAX // WAITING_PER_PEER_MAX + 1):
        for _ in range(FREE_MAX):
            await attempts.failed(f"192.0.2.{n}")
        waiting += await fail(attempts, f"192.0.2.{n}", WAITING_PER_PEER_MAX)

    assert len(clock.rested) == WAITING_MAX
    ended = await let_go(clock, waiting)
    assert sum(isinstance(one, TooManyAttempts) for one in ended) == WAITING_PER_PEER_MAX


async def test_a_waiting_one_that_goes_away_gives_its_place_back(clock, attempts):
    """A connection that is closed meanwhile holds nothing."""
    for _ in range(FREE_MAX):
        await attempts.failed("192.0.2.1")
    waiting = await fail(attempts, times=WAITING_PER_PEER_MAX)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    clock.open.set()

    await attempts.failed("192.0.2.1")

    assert attempts._waiting.total() == 0


async def test_memory_is_bounded_however_many_peers_fail(clock, attempts):
    """The peer that failed longest ago is forgotten first."""
    for n in range(PEERS_MAX + 100):
        await attempts.failed(f"10.0.{n // 256}.{n % 256}")

    assert len(attempts._failures) == PEERS_MAX
    assert "10.0.0.0" not in attempts._failures


async def test_a_flood_is_told_once_and_each_failure_with_its_peer(clock, attempts, caplog):
    """A log line has the peer; who floods the door does not flood the log."""
    with caplog.at_level(logging.DEBUG):
        for _ in range(FREE_MAX):
            await attempts.failed("192.0.2.1")
        waiting = await fail(attempts, times=WAITING_PER_PEER_MAX + 50)

    assert {record.peer for record in caplog.records} == {"192.0.2.1"}
    assert len(caplog.records) == FREE_MAX + WAITING_PER_PEER_MAX + 1
    await let_go(clock, waiting)


# -- over real sockets


def wrong(lab, n=0):
    return lab.control("GET", "/v1/scopes", token=f"nbt_wrong-{n}")


def test_right_tokens_of_a_failing_peer_are_not_slowed_down(lab):
    """Somebody else behind the same address may be at work."""
    waiting = [threading.Thread(target=wrong, args=(lab, n)) for n in range(FREE_MAX + WAITING_PER_PEER_MAX)]
    for thread in waiting:
        thread.start()
    answered_meanwhile = 0
    while any(thread.is_alive() for thread in waiting):
        assert lab.control("GET", "/v1/scopes").status == 200
        answered_meanwhile += any(thread.is_alive() for thread in waiting)
    for thread in waiting:
        thread.join()

    assert answered_meanwhile > 0


def test_too_many_at_once_are_answered_429_and_when_to_come_again(lab):
    """The code, the status and Retry-After."""
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(wrong(lab))) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    refused = [reply for reply in answers if reply.status == 429]
    assert {reply.status for reply in answers} == {401, 429}
    assert refused[0].json["error"]["code"] == "too_many_attempts"
    assert refused[0].headers["retry-after"] == "2"
    assert lab.control("GET", "/v1/scopes").status == 200


def test_who_sends_no_token_is_refused_and_not_counted(lab, caplog):
    """Forgetting it is no attempt to guess it."""
    for _ in range(30):
        assert lab.request(lab.control_address, "GET", "/v1/scopes", None, {}).status == 401

    with caplog.at_level(logging.WARNING):
        wrong(lab)
    (told,) = [record for record in caplog.records if record.message.startswith("wrong token")]
    assert (told.failures, told.delay_s) == (1, 0.0)


def test_a_wrong_token_is_told_in_the_log_without_a_letter_of_it(lab, caplog):
    """One line with the peer."""
    with caplog.at_level(logging.DEBUG):
        wrong(lab)
        lab.request(lab.control_address, "GET", "/v1/scopes", None, {"Authorization": "Basic bmJ0X3dyb25n"})

    told = [record for record in caplog.records if "wrong token" in record.message]
    assert [record.peer for record in told] == ["127.0.0.1", "127.0.0.1"]
    assert not any(secret in str(vars(record)) for record in caplog.records for secret in ("nbt_wrong", "bmJ0X3dyb25n"))
