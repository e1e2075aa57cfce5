"""A sandbox from beginning to end: network, server, VMs, the command; and nothing of it afterwards.

Rule 1: with one VM it shares the server's network, as a client with the address written into it needs; with several
each has its own, and the command stays with the server.
Rule 2: without namespaces (`port_per_vm`) each VM has a port of 127.0.0.1, and nobody has the link-local address.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from notbefore.sandbox.command import Signals, run_to_end, wait_for_the_end
from notbefore.sandbox.kernel import end_with_parent, enter_private_network, take_hostname
from notbefore.sandbox.machines import LINK_LOCAL, Json, Machine, with_addresses
from notbefore.sandbox.network import put_up_link_local, put_up_machines, refuse_without_ip
from notbefore.sandbox.register import entry_for, take_back, write_entry
from notbefore.sandbox.server import SandboxServer

ANY_PORT = "127.0.0.1:0"
CONTROL = "127.0.0.1:8255"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the sandbox is to have. `separate`: a network for each VM."""

    scopes: Mapping[str, Json]
    hosts: Mapping[str, Any] = field(default_factory=dict)
    separate: bool = False
    port_per_vm: bool = False
    state: Path | None = None
    serve_words: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """What is there before anything is set up."""

    state: Path
    machines: Sequence[Machine]
    scopes: Mapping[str, Json]
    signals: Signals


@dataclass(frozen=True, slots=True)
class Place:
    """What was set up: where the command runs, and what its environment tells it."""

    env: Mapping[str, str]
    prepare: Callable[[], None]
    endpoints: Mapping[str, str]


def run_sandbox(wanted: Wanted, words: Sequence[str], tell: Callable[[Place], None]) -> int:
    """The command's exit code. `tell` is called when everything is there."""
    with ExitStack() as stack:
        signals = stack.enter_context(Signals())
        state = wanted.state or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notbefore-sandbox-")))
        scopes, machines = with_addresses(wanted.scopes)
        # Ports say who asks, and an address of another network would only be in the way.
        declared = wanted.scopes if wanted.port_per_vm else scopes
        set_up = set_up_ports if wanted.port_per_vm else set_up_network
        place = set_up(wanted, Parts(state, machines, declared, signals), stack)
        tell(place)
        if not words:
            return wait_for_the_end(signals)
        return run_to_end(words, place.env, signals, place.prepare)


def set_up_network(wanted: Wanted, parts: Parts, stack: ExitStack) -> Place:
    refuse_without_ip()
    enter_private_network()
    put_up_link_local()
    networks = put_up_machines(parts.machines) if wanted.separate else {}
    alone = None if wanted.separate else parts.machines[0]
    listener = (f"{LINK_LOCAL}:80", alone.ref if alone else "")
    server = started(wanted, parts, [listener], CONTROL, stack)
    in_same = {} if alone is None else {alone.name: os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)}
    entry = entry_for(server.url, parts.state / "admin.token", {**networks, **in_same})
    file = write_entry(entry, os.environ)
    stack.callback(take_back, file)

    def prepare() -> None:
        end_with_parent()
        if alone:
            take_hostname(alone.name)

    env = {**operator_env(server), "NOTBEFORE_SANDBOX": str(entry.pid)}
    return Place(env, prepare, {machine.name: f"http://{LINK_LOCAL}" for machine in parts.machines})


def set_up_ports(wanted: Wanted, parts: Parts, stack: ExitStack) -> Place:
    listeners = [(ANY_PORT, machine.ref) for machine in parts.machines]
    server = started(wanted, parts, listeners, ANY_PORT, stack)
    endpoints = {machine.name: url for machine, url in zip(parts.machines, server.metadata_urls, strict=True)}
    return Place({**operator_env(server), **endpoint_env(endpoints)}, end_with_parent, endpoints)


def started(
    wanted: Wanted, parts: Parts, listeners: Sequence[tuple[str, str]], control: str, stack: ExitStack
) -> SandboxServer:
    server = SandboxServer(parts.state, wanted.serve_words, listeners, control)
    stack.callback(server.stop)
    server.start(parts.signals.as_before)
    server.declare(parts.scopes, wanted.hosts)
    return server


def operator_env(server: SandboxServer) -> dict[str, str]:
    """So that `notbefore restart …` works in there."""
    return {**os.environ, "NOTBEFORE_URL": server.url, "NOTBEFORE_TOKEN": server.token}


def endpoint_env(endpoints: Mapping[str, str]) -> dict[str, str]:
    """`NOTBEFORE_ENDPOINT_WEB_0` for each, and all of them as JSON."""
    each = {f"NOTBEFORE_ENDPOINT_{re.sub(r'[^A-Za-z0-9]', '_', vm).upper()}": url for vm, url in endpoints.items()}
    return {**each, "NOTBEFORE_ENDPOINTS": json.dumps(endpoints)}
