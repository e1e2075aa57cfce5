"""The webhook notifier on real sockets: signed, bounded, and judged by its answer alone."""

import asyncio
import json
import socket
import threading
from contextlib import contextmanager

import pytest

from notbefore.clock import RealTime
from notbefore.core.news import gap_between
from notbefore.notifiers.webhook import Endpoint, WebhookNotifier, seconds_in
from notbefore.ports import NotTold
from notbefore.wire.webhook_signature import secret_bytes, signed_headers
from receiver import OTHER_SECRET, SECRET, receiving, verified

GAP = gap_between(1, 5)
BODY = json.dumps({"id": GAP.id}).encode()
TIME_MAX_S = 20.0


@pytest.fixture
def receiver():
    with receiving() as opened:
        yield opened


@pytest.fixture
def notifier_to():
    made = []

    def make(url, *secrets, timeout_s=TIME_MAX_S):
        endpoint = Endpoint(url, tuple(secret_bytes(one) for one in secrets or (SECRET,)), timeout_s)
        made.append(WebhookNotifier("ops", endpoint, lambda _news: BODY, RealTime()))
        return made[-1]

    yield make
    for notifier in made:
        notifier.close()


async def refusal(notifier):
    with pytest.raises(NotTold) as caught:
        await notifier.tell(GAP)
    return caught.value


# -- the signature


def test_a_signature_is_that_of_the_standards_own_example():
    """Standard Webhooks: HMAC-SHA256 over id, timestamp and body."""
    body = b'{"test": 2432232314}'
    headers = signed_headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, [secret_bytes(SECRET)])

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert verified(headers, body, SECRET, now_s=1614265330)


def test_the_function_of_the_page_takes_nothing_else():
    """Another body, secret, id or time, or none at all."""
    headers = signed_headers("m", 1000, b"x", [secret_bytes(SECRET)])

    assert verified({name.title(): value for name, value in headers.items()}, b"x", SECRET, now_s=1200)
    assert not verified(headers, b"y", SECRET, now_s=1000)
    assert not verified(headers, b"x", OTHER_SECRET, now_s=1000)
    assert not verified({**headers, "webhook-id": "n"}, b"x", SECRET, now_s=1000)
    assert not verified({**headers, "webhook-timestamp": "1001"}, b"x", SECRET, now_s=1000)
    assert not verified(headers, b"x", SECRET, now_s=1301)
    assert not verified({**headers, "webhook-signature": "v2,abc"}, b"x", SECRET, now_s=1000)
    assert not verified({}, b"x", SECRET)


async def test_two_secrets_sign_while_one_takes_over_from_the_other(receiver, notifier_to):
    """A receiver may know either."""
    await notifier_to(receiver.url, SECRET, OTHER_SECRET).tell(GAP)

    (came,) = receiver.came
    assert verified(came.headers, came.body, SECRET)
    assert verified(came.headers, came.body, OTHER_SECRET)


# -- what is sent


async def test_a_post_in_the_structured_mode_of_cloudevents(receiver, notifier_to):
    """Content-Type, id, path and query as they are set."""
    await notifier_to(receiver.url).tell(GAP)

    (came,) = receiver.came
    assert came.headers["Content-Type"].startswith("application/cloudevents+json")
    assert came.headers["webhook-id"] == GAP.id
    assert came.headers["User-Agent"].startswith("notbefore/")
    assert came.body == BODY


async def test_proxies_of_the_environment_are_not_asked(receiver, monkeypatch, notifier_to):
    """Whoever sets up a proxy for other programs does not see this."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    await notifier_to(receiver.url).tell(GAP)

    assert len(receiver.came) == 1


async def test_a_connection_that_broke_meanwhile_is_made_anew(receiver, notifier_to):
    """A receiver that closes idle connections costs no failed try."""
    notifier = notifier_to(receiver.url)
    receiver.answers = lambda _event: (200, {"Connection": "keep-alive"})
    await notifier.tell(GAP)
    notifier._line.sock.shutdown(socket.SHUT_RDWR)
    await notifier.tell(GAP)

    assert len(receiver.came) == 2


# -- what its answer means


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_any_2xx_is_its_word(receiver, status, notifier_to):
    """It has it."""
    receiver.answers = lambda _event: status

    await notifier_to(receiver.url).tell(GAP)


@pytest.mark.parametrize(
    ("status", "refused"), [(400, 1), (404, 1), (410, 1), (408, 0), (425, 0), (429, 0), (500, 0), (503, 0)]
)
async def test_4xx_but_for_408_425_and_429_is_a_refusal(receiver, status, refused, notifier_to):
    """The rest is about the moment."""
    receiver.answers = lambda _event: status

    failed = await refusal(notifier_to(receiver.url))

    assert failed.refused == bool(refused)
    assert str(failed) == f"it answered {status}"


async def test_a_redirect_is_refused(receiver, notifier_to):
    """What is signed for one is not carried to another."""
    receiver.answers = lambda _event: (307, {"Location": receiver.url})

    assert (await refusal(notifier_to(receiver.url))).refused
    assert len(receiver.came) == 1


async def test_retry_after_is_read_in_seconds_and_as_a_date(receiver, notifier_to):
    """RFC 9110; what is neither is not there."""
    receiver.answers = lambda _event: (503, {"Retry-After": "120"})

    assert (await refusal(notifier_to(receiver.url))).retry_after_s == 120
    assert seconds_in("Thu, 01 Jan 1970 00:02:00 GMT", 60.0) == 60
    assert seconds_in("soon", 0.0) == seconds_in("", 0.0) == 0


async def test_nobody_there_is_a_failure_without_the_address(notifier_to):
    """Errors end up in logs, and an address may hold a secret."""
    failed = await refusal(notifier_to("http://127.0.0.1:1/very-secret?token=very-secret"))

    assert not failed.refused
    assert str(failed) == "Connection refused"


# -- limits


@contextmanager
def raw_server(answer):
    """Says to each request what it is given, and nothing more."""
    listening = socket.create_server(("127.0.0.1", 0))
    lines = []

    def serve():
        while True:
            try:
                line, _ = listening.accept()
            except OSError:
                return
            lines.append(line)
            line.recv(65536)
            answer(line)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield "http://127.0.0.1:{}/".format(*listening.getsockname()[1:])
    finally:
        listening.close()
        for line in lines:
            line.close()


async def test_an_answer_without_end_is_not_read_to_its_end(notifier_to):
    """Its head is what counts."""
    held = []

    def endless(line):
        line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 10_000)
        held.append(line)

    with raw_server(endless) as url:
        notifier = notifier_to(url)
        await notifier.tell(GAP)

        assert notifier._line.sock is None


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\n"])
async def test_who_does_not_answer_in_time_is_broken_off(begun, notifier_to):
    """A limit over the whole, and the thread does not stay."""
    held = []

    def silent(line):
        line.sendall(begun)
        held.append(line)

    with raw_server(silent) as url:
        notifier = notifier_to(url, timeout_s=0.2)
        failed = await refusal(notifier)
        while notifier._errands.is_busy:
            await asyncio.sleep(0.001)
    assert not failed.refused


async def test_an_answer_that_is_no_http_is_a_failure(notifier_to):
    """Whatever it says."""
    with raw_server(lambda line: (line.sendall(b"SMTP ready\r\n\r\n"), line.close())) as url:
        assert not (await refusal(notifier_to(url))).refused


async def test_one_try_at_a_time_and_none_while_the_last_hangs(receiver, notifier_to):
    """No threads pile up."""
    hold = threading.Event()
    receiver.answers = lambda _event: hold.wait(TIME_MAX_S) and 200
    notifier = notifier_to(receiver.url)
    first = asyncio.create_task(notifier.tell(GAP))
    await asyncio.sleep(0)

    failed = await refusal(notifier)
    hold.set()
    await first

    assert str(failed) == "the last try still hangs"
