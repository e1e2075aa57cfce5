"""The service manager's side of the process: sd_notify(3), sd_listen_fds(3), sd_watchdog_enabled(3), by hand.

Rule 1: without a manager everything here does nothing; a manager that has gone away is no reason to stop.
Rule 2: what was inherited is taken once: the variables are removed, so that no child takes it for its own.
Standard library only: three small protocols are less than a binding to libsystemd. Used by: wiring.py.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping, MutableMapping

from notbefore.core.errors import NotAllowed

Inherited = Mapping[str, list[socket.socket]]

METADATA = "metadata"
CONTROL = "control"
FIRST_FD = 3
UNNAMED = "unknown"
INHERITED = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")


def notify(state: str, env: Mapping[str, str] = os.environ) -> None:
    """Tell the manager, if there is one: `READY=1`, `STOPPING=1`, `STATUS=…`, `WATCHDOG=1`, one per line."""
    address = env.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    # Abstract names are written with @ and begin with a zero byte [sd_notify(3)].
    name = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line, contextlib.suppress(OSError):
        line.sendto(state.encode(), name)


def inherited_sockets(env: MutableMapping[str, str] = os.environ) -> Inherited:
    """The sockets that were handed to this very process, by the name each was given."""
    pid, count, names = (env.pop(name, "") for name in INHERITED)
    if pid != str(os.getpid()) or not count.isdecimal():
        return {}
    found: dict[str, list[socket.socket]] = {}
    named = names.split(":") if names else []
    for index in range(int(count)):
        name = named[index] if index < len(named) else UNNAMED
        found.setdefault(name, []).append(_taken(FIRST_FD + index))
    _refuse_unusable(found)
    return found


def feed_watchdog(loop: asyncio.AbstractEventLoop) -> None:
    """Say now and ever after that this loop turns; one that is stuck says nothing, which is the point."""
    if interval_s := watchdog_interval_s():
        notify("WATCHDOG=1")
        loop.call_later(interval_s, feed_watchdog, loop)


def watchdog_interval_s(env: Mapping[str, str] = os.environ) -> float | None:
    """How often to say `WATCHDOG=1`: twice as often as the manager wants to hear it [sd_watchdog_enabled(3)]."""
    wanted_us = env.get("WATCHDOG_USEC", "")
    for_pid = env.get("WATCHDOG_PID") or str(os.getpid())
    if for_pid != str(os.getpid()) or not wanted_us.isdecimal() or int(wanted_us) == 0:
        return None
    return int(wanted_us) / 1_000_000 / 2


def _taken(number: int) -> socket.socket:
    try:
        taken = socket.socket(fileno=number)
    except OSError as error:
        raise NotAllowed(
            f"LISTEN_FDS promises a socket at file descriptor {number}, and there is none: {error.strerror}.",
            "Unset LISTEN_FDS and LISTEN_PID, unless a service manager set them.",
        ) from None
    taken.set_inheritable(False)
    taken.setblocking(False)
    return taken


def _refuse_unusable(inherited: Inherited) -> None:
    """A socket nobody would serve is a mistake in a unit file, and is said at the start."""
    for name, sockets in inherited.items():
        if name not in {METADATA, CONTROL}:
            raise NotAllowed(
                f"A socket named {name!r} was handed over; only {METADATA} and {CONTROL} are known.",
                f"Write FileDescriptorName={METADATA} or {CONTROL} in the socket unit.",
                {"name": name},
            )
        if not all(_listens_for_tcp(one) for one in sockets):
            raise NotAllowed(f"The {name} socket that was handed over does not listen for TCP.", facts={"name": name})
    if len(inherited.get(CONTROL, ())) > 1:
        raise NotAllowed(f"Several {CONTROL} sockets were handed over; there is one control address.")


def _listens_for_tcp(one: socket.socket) -> bool:
    is_tcp = one.family in {socket.AF_INET, socket.AF_INET6} and one.type == socket.SOCK_STREAM
    return is_tcp and one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
