"""The service manager's side of the agent: sd_notify(3) and sd_watchdog_enabled(3), by hand.

Rule 1: without a manager everything here does nothing; one that does not listen is not waited for.
The server has its own (notbefore.systemd), which does not ship into a VM.
"""

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress

from notbefore.agent.picture import Picture, summary

HALF_US = 2_000_000
HEARD_WITHIN_S = 0.5


def notify(state: str, env: Mapping[str, str] = os.environ) -> None:
    """`READY=1`, `STATUS=…`, `STOPPING=1`, `WATCHDOG=1`, one per line."""
    address = env.get("NOTIFY_SOCKET", "")
    if sys.platform == "win32" or not address.startswith(("/", "@")):
        return
    # Abstract names are written with @ and begin with a zero byte [sd_notify(3)].
    name = "\0" + address[1:] if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.settimeout(HEARD_WITHIN_S)
        line.sendto(state.encode(), name)


def watchdog_interval_s(env: Mapping[str, str] = os.environ) -> float | None:
    """How often to say `WATCHDOG=1`: twice as often as the manager wants to hear it; None when it does not."""
    wanted_us = env.get("WATCHDOG_USEC", "")
    for_pid = env.get("WATCHDOG_PID") or str(os.getpid())
    if for_pid != str(os.getpid()) or not wanted_us.isdecimal() or int(wanted_us) == 0:
        return None
    return int(wanted_us) / HALF_US


class StatusLine:
    """What `systemctl status` shows beside the agent: said when it has changed."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        self._env = env
        self._said = ""

    def show(self, picture: Picture) -> None:
        if (line := summary(picture)) != self._said:
            self._said = line
            notify(f"STATUS={line}", self._env)
