"""`haproxy`: servers leave the load balancer for an event and come back after it, by HAProxy's runtime socket.

Rule 1: `do` drains: no new sessions, done when the last one has ended. `undo` is done when the server takes requests.
Rule 2: a server that somebody else has put into maintenance is left there, on the way out and on the way back.
Rule 3: each server is seen to, also when another failed; the step fails when one did.
"""

import os
import re
import threading
from collections.abc import Callable

from notbefore.agent.steps.attempt import Attempt, Trouble, Until, refuse_alerts
from notbefore.agent.steps.haproxy_socket import RuntimeSocket, Server
from notbefore.agent.steps.step import Errand, Phase, Result, WrongSetting
from notbefore.agent.steps.table import Table

LOOK_S = 0.1
CHECK_S = 5.0
PORT_MAX = 65535
_SERVER = re.compile(r"[A-Za-z0-9_.:-]+/[A-Za-z0-9_.:-]+")


class HaproxyStep(Attempt):
    kind = "haproxy"

    def __init__(self, runtime: RuntimeSocket, servers: tuple[str, ...], *, wait_sessions: bool, wait_up: bool) -> None:
        self._runtime = runtime
        self._servers = servers
        self._waits = {Phase.DO: wait_sessions, Phase.UNDO: wait_up}

    def problems(self) -> list[str]:
        until = Until(CHECK_S, threading.Event())
        try:
            level = self._runtime.ask("show cli level", until).strip()
            known = self._runtime.servers(until)
        except Trouble as trouble:
            return [str(trouble)]
        missing = [f"HAProxy has no server {name}" for name in self._servers if name not in known]
        weak = level in ("user", "operator")
        return [*missing, *([f"the socket {self._runtime.name} needs `level admin`, it has {level}"] if weak else [])]

    def attempt(self, errand: Errand, until: Until) -> Result:
        refuse_alerts(errand)
        is_undo = errand.phase == Phase.UNDO
        turn, awaited = (self._readied, is_back) if is_undo else (self._drained, is_empty)
        known = self._runtime.servers(until)
        told, waiting, failed = [], [], []
        for name in self._servers:
            try:
                sentence, is_turned = turn(known.get(name), name, until)
            except Trouble as trouble:
                failed.append(str(trouble))
                continue
            told.append(sentence)
            if is_turned:
                waiting.append(name)
        if self._waits[Phase.UNDO if is_undo else Phase.DO]:
            failed += self._left_after_waiting(waiting, awaited, until)
        if failed:
            raise Trouble("; ".join(failed))
        return Result(True, "; ".join(told))

    def shown(self, phase: Phase) -> str:
        state = "ready" if phase == Phase.UNDO else "drain"
        return f"set {', '.join(self._servers)} to {state} at {self._runtime.name}"

    def _drained(self, server: Server | None, name: str, until: Until) -> tuple[str, bool]:
        if server is None:
            raise Trouble(f"HAProxy has no server {name}")
        if server.is_in_maintenance:
            return f"{name} is in maintenance already, and left so", True
        self._runtime.change(f"set server {name} state drain", until)
        return f"{name} is drained", True

    def _readied(self, server: Server | None, name: str, until: Until) -> tuple[str, bool]:
        if server is None:
            raise Trouble(f"HAProxy has no server {name}")
        if server.is_in_maintenance:
            return f"{name} is in maintenance, and left so", False
        if server.is_drained:
            self._runtime.change(f"set server {name} state ready", until)
        return f"{name} is ready", True

    def _left_after_waiting(self, names: list[str], is_done: Callable[[Server], str], until: Until) -> list[str]:
        """What the servers still lack when the time is over."""
        lacking = [f"nobody has looked at {name} yet" for name in names]
        while lacking and not until.is_over():
            try:
                known = self._runtime.servers(until)
            except Trouble:
                if until.is_over():
                    # What was seen last says more than that the last answer came too late.
                    break
                raise
            if gone := [f"HAProxy has no server {name} any more" for name in names if name not in known]:
                return gone
            lacking = [lack for name in names if (lack := is_done(known[name]))]
            if lacking:
                until.wait(LOOK_S)
        return [f"{lack} when {until.reason()}" for lack in lacking]


def is_empty(server: Server) -> str:
    if not server.is_drained and not server.is_in_maintenance:
        # A reload of HAProxy forgets it.
        return f"{server.name} is drained no longer"
    return f"{server.name} still has {server.sessions} sessions" if server.sessions else ""


def is_back(server: Server) -> str:
    return "" if server.is_up else f"{server.name} is still {server.status}"


def made(table: Table) -> HaproxyStep:
    servers = table.words("servers", needed=True)
    for name in servers:
        if not _SERVER.fullmatch(name):
            raise WrongSetting("servers", "a server is named backend/server")
    return HaproxyStep(
        RuntimeSocket(address(table)),
        tuple(dict.fromkeys(servers)),
        wait_sessions=table.flag("wait_sessions", default=True),
        wait_up=table.flag("wait_up", default=True),
    )


def address(table: Table) -> str | tuple[str, int]:
    """A path, or an address of this machine with a port: the socket has no password."""
    text = table.text("socket")
    host, _, port = text.rpartition(":")
    if "/" in text or not port.isdecimal():
        if os.name != "posix":
            raise WrongSetting("socket", "it is HOST:PORT here")
        return str(table.path("socket"))
    from ipaddress import ip_address  # noqa: PLC0415  only while settings are read

    host = host.strip("[]")
    try:
        is_here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if not is_here or not 0 < int(port) <= PORT_MAX:
        raise WrongSetting(
            "socket", "it is a path, or HOST:PORT with an address of this machine, such as 127.0.0.1:9999"
        )
    return host, int(port)
