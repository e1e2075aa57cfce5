"""The memo (DESIGN §2): a remembered request is answered exactly as a parsed one; differential, with random splits."""

import random
import re
import socket

import pytest

from lab import PATH
from notbefore.metadata import memo
from notbefore.metadata.verdict import RequestHead, judge

BASE = f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n"
REQUESTS = [
    BASE,
    BASE.replace("2020-07-01", "2017-03-01"),
    BASE.replace("2020-07-01", "latest"),
    BASE.replace("?api-version=2020-07-01", ""),
    BASE.replace("Metadata: true\r\n", ""),
    BASE.replace("Metadata: true", "metadata:TRUE"),
    BASE.replace(PATH, "/nowhere"),
    BASE.replace(PATH, PATH.upper() + "/"),
    BASE.replace("GET /", "GET http://h/"),
    BASE + "X-Forwarded-For: 1.2.3.4\r\n",
    BASE + "If-None-Match: 1\r\n",
    BASE + 'If-None-Match: "7", "1"\r\n',
    BASE + "If-None-Match: 0\r\n",
    BASE + "Connection: close\r\n",
    BASE + "Connection: Keep-Alive, Close\r\n",
    BASE.replace("HTTP/1.1", "HTTP/1.0"),
    BASE.replace("HTTP/1.1", "HTTP/1.0") + "Connection: keep-alive\r\n",
    BASE + "Content-Length: 0\r\n",
    BASE + "Content-Length: 3\r\n",
    BASE + "Transfer-Encoding: chunked\r\n",
    BASE + "Prefer: wait=1\r\n",
    BASE + "Expect: 100-continue\r\n",
    BASE + "Upgrade: h2c\r\nConnection: Upgrade\r\n",
    BASE + "X-Notbefore-Vm: v1 demo/FrontEnd_IN_0 1 00\r\n",
    BASE + "X-Long: " + "a" * 1200 + "\r\n",
    BASE.replace("GET", "HEAD"),
    BASE.replace("GET", "PUT"),
    BASE.replace("GET", "POST"),
    BASE.replace("GET", "BREW"),
    BASE.replace("\r\n", "\n"),
    BASE + "Metadata : true\r\n",
    BASE + "Metadata: false\r\n",
]
DATE = re.compile(rb"\r\ndate: [^\r]*")


def exchange(address, pieces, source):
    """What comes back for a request sent in pieces, once the other side is told that nothing more will come."""
    with socket.create_connection(address, timeout=20, source_address=(source, 0)) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            line.sendall(piece)
        line.shutdown(socket.SHUT_WR)
        received = b""
        while part := line.recv(65536):
            received += part
    told = DATE.sub(b"", received)
    # Who asks for no close hears of one only if its end is noticed before its answer is made: either is right.
    asked_to_close = re.search(rb"close|HTTP/1\.0", b"".join(pieces), re.IGNORECASE)
    return told if asked_to_close else told.replace(b"\r\nconnection: close", b"")


def split(request, chance):
    cuts = sorted(chance.sample(range(1, len(request)), chance.randint(1, 3)))
    return [request[a:b] for a, b in zip([0, *cuts], [*cuts, len(request)], strict=True)]


@pytest.mark.parametrize("source", ["127.0.0.1", "127.9.9.9"], ids=["known", "unknown"])
@pytest.mark.parametrize("text", REQUESTS, ids=range(len(REQUESTS)))
def test_a_remembered_request_is_answered_as_a_parsed_one(shared_demo, text, source):
    """DESIGN §2: a differential test (memo against httptools, random splits)."""
    request = (text + ("\n" if "\r\n" not in text else "\r\n")).encode()
    shared_demo.ask()
    chance = random.Random(text)

    parsed = {exchange(shared_demo.metadata, split(request, chance), source) for _ in range(3)}
    whole = {exchange(shared_demo.metadata, [request], source) for _ in range(3)}

    assert len(parsed) == 1
    assert whole == parsed


def head_of(text):
    _, *lines = text.split("\r\n")
    headers = [tuple(part.strip().encode() for part in line.lower().split(":", 1)) for line in lines if line]
    return RequestHead(text.split(" ")[0], PATH.encode(), b"api-version=2020-07-01", headers)


def learnt(text):
    kept = memo.Memo()
    head = head_of(text)
    kept.learn(text.encode(), head, judge(head), close=False)
    return len(kept) == 1


@pytest.mark.parametrize(
    "header",
    ["X-Notbefore-Vm: v1 a/b 1 00", "Prefer: wait=5", "Expect: 100-continue", "Content-Length: 0", "Upgrade: h2c"],
)
def test_what_means_more_than_its_bytes_is_not_learnt(header):
    """DESIGN §2: never with the proxy header, `Prefer` or `Expect`; a bodiless GET only."""
    assert learnt(BASE)
    assert not learnt(BASE + header + "\r\n")
    assert not learnt(BASE.replace("GET", "POST"))


def test_a_long_request_is_not_learnt():
    """DESIGN §2: ≤ 1 KiB."""
    padded = BASE + "X: " + "a" * (1024 - len(BASE) - 5) + "\r\n"

    assert len(padded) == 1024
    assert learnt(padded)
    assert not learnt(padded.replace("X: ", "X:  "))


def test_the_memo_is_bounded_and_cleared_when_full():
    """DESIGN §2: ≤ 4,096 entries, cleared when full."""
    kept = memo.Memo()
    head = head_of(BASE)
    for n in range(4096):
        kept.learn(b"%d" % n, head, judge(head), close=False)
    assert len(kept) == 4096

    kept.learn(b"one more", head, judge(head), close=False)

    assert len(kept) == 1
    assert kept.get(b"one more")


def test_nothing_of_a_vm_is_remembered(shared_demo):
    """DESIGN §2: nothing per-VM in it: the same bytes from another VM, or from nobody, are judged for that caller."""
    request = (BASE + "X-Probe: memo\r\nConnection: close\r\n\r\n").encode()

    seen = [shared_demo.raw(request, source)[:12] for source in ("127.0.0.1", "127.9.9.9", "127.0.0.2", "127.9.9.9")]

    assert seen == [b"HTTP/1.1 200", b"HTTP/1.1 403", b"HTTP/1.1 200", b"HTTP/1.1 403"]
