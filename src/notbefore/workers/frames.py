"""What parent and worker say to each other, as frames of msgpack.

Rule 1: a frame is a tagged array that is checked by type when it is read; what does not fit ends the line.
Rule 2: what is asked is answered once, by its number; what is told is told in order.
"""

from typing import Final

import msgspec

from notbefore.metadata.service import MetadataOptions
from notbefore.runtime.snapshot import VmRef

FRAME_MAX_BYTES: Final = 4 * 1024 * 1024
ASKED_IN_FLIGHT_MAX: Final = 4096
# Of the longest names there are, still less than a frame.
HEARD_PER_FRAME_MAX: Final = 1000


class Frame(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """One of those below."""


class Address(msgspec.Struct, frozen=True, array_like=True):
    """Where a worker listens: the descriptor that it inherited, and what came in on it."""

    descriptor: int
    host: str
    port: int
    vm: VmRef | None


class Time(msgspec.Struct, frozen=True, array_like=True):
    """What the parent's clock shows, and how many of its seconds go by in a real one."""

    wall_ms: int
    rate: float


class Taken(msgspec.Struct, frozen=True, array_like=True):
    """The settings that a worker runs with."""

    options: MetadataOptions
    log_format: str
    log_level: str


class Refused(msgspec.Struct, frozen=True, array_like=True):
    """A refusal, whole. It may repeat what a VM sent, which may be no text that UTF-8 has."""

    code: str
    message: bytes
    hint: bytes
    # As JSON, which has an escape for everything.
    facts: str


class Tally(msgspec.Struct, frozen=True, array_like=True):
    """What a worker has counted since it began (metadata/counts.py)."""

    answered: tuple[tuple[str, str, int, int], ...] = ()
    refusals: dict[str, int] = {}
    connections_open: int = 0
    connections_refused: int = 0
    polls_held: int = 0
    polls_refused: int = 0
    polls_ended: dict[str, int] = {}


# -- from the parent


class Begin(Frame, frozen=True):
    index: int
    store: str
    addresses: tuple[Address, ...]
    settings: Taken
    # None: the real one.
    time: Time | None


class Look(Frame, frozen=True):
    """The store may have changed; say so when you have taken it in."""

    number: int
    time: Time | None
    # What was counted and heard is wanted first.
    report: bool


class Change(Frame, frozen=True):
    settings: Taken


class Answered(Frame, frozen=True):
    number: int
    refused: Refused | None


class Broke(Frame, frozen=True):
    """It broke down over what was asked; its log says how."""

    number: int


class Stop(Frame, frozen=True):
    grace_s: float


# -- from a worker


class Loaded(Frame, frozen=True):
    """It knows the fleet, and waits for its first look before it listens."""


class Serving(Frame, frozen=True):
    pass


class Seen(Frame, frozen=True):
    number: int


class Approve(Frame, frozen=True):
    number: int
    scope: str
    vm: str
    request_id: str
    event_ids: tuple[bytes, ...]


class Enable(Frame, frozen=True):
    """A VM's question that has to be committed before its answer."""

    number: int
    scope: str
    vm: str


class Report(Frame, frozen=True):
    """Who asked since the last one and when, by scope and VM; and all that was counted."""

    heard: dict[str, dict[str, int]]
    tally: Tally


FromParent = Begin | Look | Change | Answered | Broke | Stop
FromWorker = Loaded | Serving | Seen | Approve | Enable | Report

_encoder = msgspec.msgpack.Encoder()
FROM_PARENT: Final = msgspec.msgpack.Decoder(FromParent)
FROM_WORKER: Final = msgspec.msgpack.Decoder(FromWorker)


def encoded(frame: Frame) -> bytes:
    body = _encoder.encode(frame)
    return len(body).to_bytes(4, "big") + body


def as_bytes(said: str) -> bytes:
    """Of whatever a VM may have put into a JSON string."""
    return said.encode(errors="surrogatepass")


def as_said(kept: bytes) -> str:
    return kept.decode(errors="surrogatepass")
