"""The line between parent and worker: whole frames, checked by type, within bounds (workers/line.py)."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from notbefore.metadata.connections import Limits
from notbefore.metadata.service import MetadataOptions
from notbefore.runtime.snapshot import VmRef
from notbefore.workers.frames import (
    FRAME_MAX_BYTES,
    FROM_PARENT,
    FROM_WORKER,
    Address,
    Answered,
    Approve,
    Begin,
    Look,
    Refused,
    Report,
    Seen,
    Taken,
    Tally,
    Time,
    as_bytes,
    encoded,
)
from notbefore.workers.line import Breach, Line

OPTIONS = MetadataOptions(
    rate_limit_per_s=0.5, fallback_vm=VmRef("s", "vm"), proxy_keys=(b"\x00" * 32,), limits=Limits(head_timeout_s=1.5)
)


@asynccontextmanager
async def a_line(decoder=FROM_WORKER, refuse=None):
    """One end with a line behind it, the other a plain socket."""
    mine, theirs = socket.socketpair()
    heard, ended = [], asyncio.Event()

    def take(frame):
        if refuse:
            raise Breach(refuse)
        heard.append(frame)

    line = Line(decoder, take, ended.set)
    await asyncio.get_running_loop().create_unix_connection(lambda: line, sock=mine)
    theirs.setblocking(False)
    try:
        yield line, theirs, heard, ended
    finally:
        theirs.close()
        await ended.wait()


@pytest.mark.parametrize(
    ("decoder", "frame"),
    [
        (FROM_PARENT, Begin(1, "/s", (Address(3, "::1", 80, VmRef("s", "vm")),), Taken(OPTIONS, "text", "info"), None)),
        (FROM_PARENT, Look(7, Time(1_800_000_000_000, 60.0), report=True)),
        (FROM_PARENT, Answered(3, Refused("unknown_event", b"No.", b"Ask.", "{}"))),
        (FROM_WORKER, Approve(1, "s", "vm", "id", (b"a", as_bytes("\ud800")))),
        (
            FROM_WORKER,
            Report({"s": {"vm": 5}}, Tally((("GET", "/x", 200, 3),), {"invalid": 1}, 1, 2, 3, 4, {"left": 5})),
        ),
    ],
)
async def test_what_is_said_is_what_is_heard(decoder, frame):
    """Whole frames, however the bytes come."""
    async with a_line(decoder) as (_, theirs, heard, _ended):
        for byte in encoded(frame) + encoded(frame):
            theirs.send(bytes([byte]))
            await asyncio.sleep(0)
        while len(heard) < 2:
            await asyncio.sleep(0)
    assert heard == [frame, frame]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ((FRAME_MAX_BYTES + 1).to_bytes(4, "big"), "too long"),
        (b"\x00\x00\x00\x00", "no frame"),
        (b"\x00\x00\x00\x03abc", "no frame"),
        (encoded(Look(1, None, report=False)), "no frame"),
        (encoded(Seen("one")), "no frame"),
    ],
)
async def test_what_is_no_frame_cuts_the_line(said, why):
    """Trust is checked by type: who breaks the protocol is cut off."""
    async with a_line() as (line, theirs, heard, ended):
        theirs.send(said)
        await ended.wait()

        assert why in line.breach
        assert heard == []


async def test_what_does_not_belong_there_cuts_the_line():
    """A right frame at the wrong time is a breach as well."""
    async with a_line(refuse="not now") as (line, theirs, _, ended):
        theirs.send(encoded(Seen(1)) * 2)
        await ended.wait()

        assert line.breach == "not now"


async def test_who_does_not_read_is_cut_off():
    """A limit on every queue: what the other end has not read is bounded."""
    async with a_line(FROM_PARENT) as (line, _, _heard, ended):
        frame = Approve(1, "s", "vm", "x" * 1_000_000, ())
        while not line.breach:
            line.send(frame)
        await ended.wait()

        assert "does not read" in line.breach
        line.send(frame)
