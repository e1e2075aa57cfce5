"""Good requests made bad, at random and repeatably: the same seed and number give the same attack."""

import os
import random
import re
import time
from dataclasses import dataclass

from hostile_case import APPROVE, CHUNKED, EVENT, GET, chunk, get, length_of, post

FIXED_SEEDS = (1, 7, 20160919)
PIECES_MAX = 6
HOT = (
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\0",
    b" ",
    b"\t",
    b":",
    b"\x0b",
    b"\xff",
    b"0",
    b"%",
    b"?",
    b"&",
    b"=",
    b"{",
    b"\\",
)
ENDS = ("read",) * 6 + ("half close",) * 2 + ("close", "reset")
BODY = b'{"StartRequests":[{"EventId":"' + EVENT + b'"}]}'
GOOD = (
    GET,
    get(b"Metadata: true\r\nIf-None-Match: 1\r\n"),
    get(b"metadata: TRUE\r\nAccept: */*\r\nUser-Agent: x\r\nConnection: keep-alive\r\n"),
    get(b"Metadata: true\r\nConnection: close\r\n"),
    get(b"Metadata: true\r\n", target=b"/metadata/instance?api-version=2021-02-01"),
    get(b"Metadata: true\r\n", target=b"/metadata/instance/compute/name?api-version=2021-02-01&format=text"),
    get(b"Metadata: true\r\n", target=b"/metadata/versions"),
    get(b'Metadata: true\r\nIf-None-Match: 1, 2\r\nPrefer: respond-async; a="b", wait=1\r\n'),
    get(b""),
    get(version=b"HTTP/1.0"),
    APPROVE,
    post(CHUNKED, chunk(BODY[:9]) + chunk(BODY[9:]) + b"0\r\n\r\n"),
    post(CHUNKED, chunk(BODY) + b"0;x=y\r\nMetadata: true\r\n\r\n"),
    post(length_of(BODY) + b"Expect: 100-continue\r\n", BODY),
    post(length_of(BODY) + b"Connection: upgrade\r\nUpgrade: websocket\r\n", BODY),
    post(length_of(APPROVE), APPROVE),
    APPROVE.replace(b"POST", b"DELETE"),
)


@dataclass(frozen=True)
class Attack:
    source: str
    pieces: tuple[bytes, ...]
    end: str


def seeds():
    """The one that is asked for; else the fixed ones and one of the day."""
    asked = os.environ.get("NOTBEFORE_HOSTILE_SEED")
    return (int(asked),) if asked else (*FIXED_SEEDS, int(time.strftime("%Y%m%d")))


def attack(seed, number, sources):
    rng = random.Random(f"{seed}:{number}")
    requests = [rng.choice(GOOD) for _ in range(rng.choice((1, 1, 1, 2, 5)))]
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        at = rng.randrange(len(requests))
        requests[at] = rng.choice(MUTATIONS)(rng, requests[at])
    return Attack(rng.choice(sources), tuple(cut(rng, b"".join(requests))), rng.choice(ENDS))


def cut(rng, sent):
    """The stream in pieces, as TCP might bring it."""
    at = sorted(rng.randrange(len(sent) + 1) for _ in range(rng.randrange(PIECES_MAX)))
    return [sent[begin:end] for begin, end in zip([0, *at], [*at, len(sent)], strict=True) if begin < end]


def span(rng, sent):
    begin = rng.randrange(len(sent) + 1)
    return begin, min(len(sent), begin + rng.choice((1, 2, 8, 40)))


def flip_bits(rng, sent):
    changed = bytearray(sent)
    for _ in range(rng.choice((1, 3)) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def delete(rng, sent):
    begin, end = span(rng, sent)
    return sent[:begin] + sent[end:]


def repeat(rng, sent):
    begin, end = span(rng, sent)
    return sent[:end] + sent[begin:end] * rng.choice((1, 2, 500)) + sent[end:]


def insert(rng, sent):
    at = rng.randrange(len(sent) + 1)
    return sent[:at] + rng.choice((*HOT, rng.randbytes(5))) + sent[at:]


def splice(rng, sent):
    other = rng.choice(GOOD)
    return sent[: rng.randrange(len(sent) + 1)] + other[rng.randrange(len(other)) :]


def shuffle_lines(rng, sent):
    first, *lines = sent.split(b"\r\n")
    rng.shuffle(lines)
    return b"\r\n".join([first, *lines])


def shuffle_headers(rng, sent):
    head, empty, body = sent.partition(b"\r\n\r\n")
    first, *headers = head.split(b"\r\n")
    rng.shuffle(headers)
    return b"\r\n".join([first, *headers]) + empty + body


def other_number(rng, sent):
    number = rng.choice((b"0", b"1", b"-1", b"+5", b"0x10", b"65537", b"99999999999", b"18446744073709551616", b""))
    return re.sub(rb"(?<=Length: )\d+|^[0-9a-f]+(?=\r\n)", number, sent, count=1, flags=re.MULTILINE)


def truncate(rng, sent):
    return sent[: rng.randrange(len(sent) + 1)]


MUTATIONS = (
    flip_bits, delete, repeat, insert, splice, shuffle_lines, shuffle_headers, other_number, truncate,
)  # fmt: skip
