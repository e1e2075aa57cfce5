"""The composition root: from settings to a running server, and back down again.

Rule 1: parts are made here and handed over; nothing else reaches for a concrete part.
Rule 2: sockets are bound before anything is served; `/readyz` is true when all of them are and the snapshot is loaded.
Rule 3: one task tree; stopping is cancelling it, the store last.
Called by: cli/, tests, later `notbefore.testing`.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from typing import Any
from uuid import uuid4

import uvloop

from notbefore.clock import ManualClock, SystemClock
from notbefore.control.app import control_server
from notbefore.control.auth import admin_token
from notbefore.control.plane import ControlPlane
from notbefore.core.errors import NotAllowed
from notbefore.demo import declare_demo
from notbefore.executors.simulate import SimulatedExecutor, Simulation
from notbefore.metadata.identity import Listener, vm_ref
from notbefore.metadata.listen import metadata_server, refuse_routable
from notbefore.metadata.service import MetadataOptions, MetadataService
from notbefore.runtime.node import Node
from notbefore.settings import Settings, load_settings
from notbefore.sockets import QuietServer, bind, parse_address
from notbefore.state_dir import TOKEN_FILE
from notbefore.stores.sqlite.store import SqliteStore
from notbefore.tasks import AsyncioTasks
from notbefore.wire.api_versions import NEWEST, PATH

log = logging.getLogger("notbefore")


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers: where, and with which parts."""

    node: Node
    metadata_urls: tuple[str, ...]
    control_url: str
    token: str
    token_file: Path
    manual_clock: ManualClock | None
    failure: asyncio.Future[None]


@asynccontextmanager
async def running_server(settings: Settings) -> AsyncIterator[RunningServer]:
    state = prepared_state_dir(settings)
    async with AsyncExitStack() as stack:
        listeners, sockets = bind_metadata(settings, stack)
        control_socket = stack.enter_context(contextlib.closing(bind(*parse_address(settings.control.address))))
        token = admin_token(state)
        tasks = AsyncioTasks()
        name = str(uuid4())
        store = await SqliteStore.open(settings.store_path, name)
        stack.push_async_callback(store.close)
        stack.push_async_callback(tasks.cancel_all)
        node, manual_clock = made_node(name, settings, store, tasks)
        await node.start()
        if settings.demo:
            await declare_demo(node)
        service = MetadataService(node, metadata_options(settings))
        servers = [metadata_server(service, listeners)]
        plane = ControlPlane(
            node,
            {"admin": token},
            manual_clock,
            is_ready=lambda: node.snapshot.loaded and all(server.started for server in servers),
        )
        servers.append(control_server(plane))
        await stack.enter_async_context(serving((servers[0], sockets), (servers[1], [control_socket])))
        yield RunningServer(
            node,
            tuple(url_of(one) for one in sockets),
            url_of(control_socket),
            token,
            state / TOKEN_FILE,
            manual_clock,
            tasks.failure,
        )


def prepared_state_dir(settings: Settings) -> Path:
    state = settings.state_dir
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise NotAllowed(
            f"Cannot use {state} for state: {error.strerror}.", "Choose another --state directory."
        ) from None
    return state


def bind_metadata(settings: Settings, stack: AsyncExitStack) -> tuple[list[Listener], list[socket.socket]]:
    listeners, sockets = [], []
    for wanted in settings.metadata.listeners:
        host, port = parse_address(wanted.address)
        if not settings.metadata.allow_routable:
            refuse_routable(host)
        bound = stack.enter_context(contextlib.closing(bind(host, port)))
        listeners.append(Listener(host, bound.getsockname()[1], vm_ref(wanted.vm) if wanted.vm else None))
        sockets.append(bound)
    return listeners, sockets


def made_node(
    name: str, settings: Settings, store: SqliteStore, tasks: AsyncioTasks
) -> tuple[Node, ManualClock | None]:
    manual_clock = None
    if settings.clock.kind == "manual":
        manual_clock = ManualClock(tasks, settings.state_dir / "manual.clock")
    clock = manual_clock or SystemClock()
    simulate = settings.executor.simulate
    simulation = Simulation(simulate.duration_s, simulate.failure_rate)
    executor = SimulatedExecutor(simulation, clock, tasks, SystemRandom())
    return Node(name, store, executor, clock, tasks, ids=lambda: str(uuid4())), manual_clock


def metadata_options(settings: Settings) -> MetadataOptions:
    wanted = settings.metadata
    return MetadataOptions(
        rate_limit_per_s=wanted.rate_limit_per_s,
        first_call_delay_s=wanted.first_call_delay_s,
        headerless_post_2017=wanted.headerless_post_2017,
        fallback_vm=vm_ref(wanted.fallback_vm) if wanted.fallback_vm else None,
    )


@asynccontextmanager
async def serving(*servers: tuple[QuietServer, list[socket.socket]]) -> AsyncIterator[None]:
    """Run servers on their sockets until the block ends; what they began, they finish."""
    tasks = [asyncio.create_task(server.serve(sockets=sockets)) for server, sockets in servers]
    for server, _ in servers:
        await server.up.wait()
    try:
        yield
    finally:
        for server, _ in servers:
            server.should_exit = True
        await asyncio.gather(*tasks)


def url_of(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(config: Path | None, overrides: Mapping[str, Any]) -> int:
    """Serve until told to stop. Refusals of settings and addresses are raised for the caller to word."""
    settings = load_settings(config, os.environ, overrides)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    return uvloop.run(_serve_until_told(settings))


async def _serve_until_told(settings: Settings) -> int:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    async with running_server(settings) as server:
        print(banner(server, settings), flush=True)  # noqa: T201  the first thing a person sees
        stop: asyncio.Future[Any] = asyncio.ensure_future(told.wait())
        await asyncio.wait({stop, server.failure}, return_when=asyncio.FIRST_COMPLETED)
        if server.failure.done():
            log.critical("a part of the server broke down, so it stops", exc_info=server.failure.exception())
        stop.cancel()
        return 1 if server.failure.done() else 0


def banner(server: RunningServer, settings: Settings) -> str:
    """Where it answers, and the line to try."""
    lines = [
        "notbefore is serving",
        *(f"  metadata  {url}" for url in server.metadata_urls),
        f"  control   {server.control_url}   (token in {server.token_file})",
        f"  store     {settings.store_path}",
        f"  clock     {settings.clock.kind}",
        "Try it, as a VM:",
        f'  curl -H Metadata:true "{server.metadata_urls[0]}{PATH}?api-version={NEWEST}"',
    ]
    if settings.demo:
        lines += ["and as an operator:", "  notbefore restart FrontEnd_IN_0"]
    return "\n".join(lines)
