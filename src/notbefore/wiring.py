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
import resource
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from typing import Any
from uuid import uuid4

from notbefore import event_loop, garbage, logs, systemd
from notbefore.clock import ManualClock, SystemClock, thread_busy_s
from notbefore.control.app import control_server
from notbefore.control.auth import admin_token
from notbefore.control.metrics.page import Metrics
from notbefore.control.plane import ControlPlane
from notbefore.control.shapes import json_line, shown_record
from notbefore.control.streams import Streams
from notbefore.control.token_book import TokenBook
from notbefore.core.errors import NotAllowed, Refusal
from notbefore.demo import declare_demo
from notbefore.executors.simulate import SimulatedExecutor, Simulation
from notbefore.faults.book import FaultBook
from notbefore.faults.documents import Documents
from notbefore.faults.executor import FaultyExecutor
from notbefore.faults.hand import Hand
from notbefore.faults.watch import EventWatch
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.door import Through
from notbefore.metadata.faulty import FaultyApp, FaultyService
from notbefore.metadata.identity import Listener, vm_ref
from notbefore.metadata.listen import MetadataServer, metadata_server, refuse_routable
from notbefore.metadata.service import MetadataService
from notbefore.ports import HistorySink
from notbefore.runtime.node import Node
from notbefore.runtime.notifying import Notifying
from notbefore.runtime.retention import DAY_MS, Retention
from notbefore.settings import Settings, load_settings
from notbefore.settings.options import metadata_options
from notbefore.settings.reload import Reloading
from notbefore.settings.shown import as_toml
from notbefore.sockets import GRACE_S, QuietServer, address_of, bind, parse_address, serving, url_of
from notbefore.state_dir import TOKEN_FILE
from notbefore.stores.codec import ENCODINGS
from notbefore.stores.history_sink import JsonLinesSink, NoSink
from notbefore.stores.sqlite.store import SqliteStore
from notbefore.targets import Targets, refuse_unusable
from notbefore.tasks import AsyncioTasks
from notbefore.wire.api_versions import NEWEST, PATH
from notbefore.workers.crew import Crew
from notbefore.workers.places import kept, places_of
from notbefore.workers.process import PROGRAM as WORKER
from notbefore.workers.process import Argv
from notbefore.workers.starting import started_crew, watch_crew

NO_SOCKETS: systemd.Inherited = {}
LOOPBACK = "127.0.0.1"

log = logging.getLogger("notbefore")


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers: where, and with which parts."""

    node: Node
    metadata: MetadataServer
    metadata_urls: tuple[str, ...]
    control_url: str
    token: str
    token_file: Path
    manual_clock: ManualClock | None
    failure: asyncio.Future[None]
    reloading: Reloading
    streams: Streams
    faults: FaultBook | None = None
    crew: Crew | None = None
    """The workers, where VMs are answered by other processes."""


@asynccontextmanager
async def running_server(
    settings: Settings, inherited: systemd.Inherited = NO_SOCKETS, *, grace_s: float = GRACE_S, worker: Argv = WORKER
) -> AsyncIterator[RunningServer]:
    state = prepared_state_dir(settings)
    async with AsyncExitStack() as stack:
        listeners, sockets = bind_metadata(settings, inherited.get(systemd.METADATA, []), stack)
        control_socket = bind_control(settings, inherited.get(systemd.CONTROL, []), stack)
        token = admin_token(state)
        tasks = AsyncioTasks(event_loop.give_way)
        name = str(uuid4())
        store = await SqliteStore.open(settings.store_path, name)
        stack.push_async_callback(store.close)
        stack.push_async_callback(tasks.cancel_all)
        reloading = Reloading(settings)
        metrics = Metrics(settings.clock.name)
        faults = FaultBook(SystemRandom().getrandbits) if settings.allow_faults else None
        node, manual_clock = made_node(name, settings, store, tasks, reloading, metrics, faults)
        crew = started_crew(settings, node, manual_clock, places_of(listeners, sockets), tasks, worker)
        if crew:
            stack.push_async_callback(crew.ended, grace_s)
        await node.start()
        if manual_clock:
            # Not before the timer knows what is due: nothing must be passed.
            tasks.spawn_aside("clock", manual_clock.run())
            stack.callback(manual_clock.stop)
        retire_history(name, settings, node, tasks)
        metrics.watch_notifying(await told_of_history(name, settings, node, tasks, reloading, stack))
        if settings.demo:
            await declare_demo(node)
        service, app = made_service(settings, node, tasks, faults)
        metrics.watch_data_plane(service.counts)
        if crew:
            watch_crew(crew, service.counts, metrics, reloading)
        reloading.on_change(lambda changed: service.reconfigure(metadata_options(changed)))
        metadata = metadata_server(service, listeners, app)
        servers: list[QuietServer] = [metadata]
        tokens = TokenBook(node.store, node.clock, tasks.lock(), node.ids, token)
        node.snapshot.on_any_change(tokens.look)
        await tokens.look()
        plane = made_plane(settings, node, tokens, manual_clock, metrics, faults, crew, servers)
        servers.append(control_server(plane, settings.control.certificate))
        reloading.on_each(lambda running: renew_certificate(servers[1], running))
        for server in servers:
            server.grace_s = grace_s
        await stack.enter_async_context(serving((servers[0], [] if crew else sockets), (servers[1], [control_socket])))
        metrics.watch_streams(plane.streams)
        # Before the servers wait for their last answers: a stream is one that does not end by itself.
        stack.callback(plane.streams.close)
        if faults:
            # Likewise who hangs.
            stack.callback(faults.clear)
        if crew:
            await crew.open()
            stack.callback(crew.tell_to_stop, grace_s)
        yield RunningServer(
            node,
            metadata,
            tuple(url_of(one) for one in sockets),
            url_of(control_socket, "https" if settings.control.certificate else "http"),
            token,
            state / TOKEN_FILE,
            manual_clock,
            tasks.failure,
            reloading,
            plane.streams,
            faults,
            crew,
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


def bind_metadata(
    settings: Settings, handed_over: list[socket.socket], stack: AsyncExitStack
) -> tuple[list[Listener], list[socket.socket]]:
    """Sockets that were handed over are served instead of the settings' addresses, which then only name VMs."""
    wanted = [(*parse_address(one.address), one.vm) for one in settings.metadata.listeners]
    if handed_over:
        vms = {(host, port): vm for host, port, vm in wanted}
        wanted = [(*address_of(one), vms.get(address_of(one), "")) for one in handed_over]
    listeners: list[Listener] = []
    sockets: list[socket.socket] = []
    for index, (host, port, vm) in enumerate(wanted):
        if not settings.metadata.allow_routable:
            refuse_routable(host)
        taken = kept if settings.has_workers else bind
        bound = handed_over[index] if handed_over else taken(host, port)
        sockets.append(stack.enter_context(contextlib.closing(bound)))
        listeners.append(Listener(host, address_of(bound)[1], vm_ref(vm) if vm else None))
    return listeners, sockets


def bind_control(settings: Settings, handed_over: list[socket.socket], stack: AsyncExitStack) -> socket.socket:
    bound = handed_over[0] if handed_over else bind(*parse_address(settings.control.address))
    return stack.enter_context(contextlib.closing(bound))


async def listen_for(server: RunningServer, vm: str, through: Through | None = None) -> str:
    """One more listener, on loopback, while serving: the private line of `scope/vm`, whoever asks there; its URL."""
    bound = bind(LOOPBACK, 0)
    await server.metadata.listen(bound, Listener(*address_of(bound), vm_ref(vm)), through)
    return url_of(bound)


def made_node(
    name: str,
    settings: Settings,
    store: SqliteStore,
    tasks: AsyncioTasks,
    reloading: Reloading,
    metrics: Metrics,
    faults: FaultBook | None,
) -> tuple[Node, ManualClock | None]:
    manual_clock = None
    if settings.clock.kind != "real":
        manual_clock = ManualClock(tasks, settings.state_dir / "manual.clock", settings.clock.kind)
    clock = manual_clock or SystemClock()
    executor = SimulatedExecutor(simulation(settings), clock, tasks, SystemRandom())
    reloading.on_change(lambda changed: executor.reconfigure(simulation(changed)))
    carrying_out = FaultyExecutor(executor, faults, clock, tasks) if faults else executor
    watched = metrics.measured_store(store, clock), metrics.measured_executor(carrying_out, clock)
    node = Node(name, *watched, clock, tasks, ids=lambda: str(uuid4()), encodings=ENCODINGS)
    node.rollouts.expected = executor.expected()
    reloading.on_change(lambda _: setattr(node.rollouts, "expected", executor.expected()))
    metrics.watch_node(node)
    executor.moves_vms_by(node.hosts.another_for)
    return node, manual_clock


def made_service(
    settings: Settings, node: Node, tasks: AsyncioTasks, faults: FaultBook | None
) -> tuple[MetadataService, type[MetadataApp]]:
    """The plain data plane; only where faults are allowed, the one that can have them."""
    if faults is None:
        return MetadataService(node, metadata_options(settings)), MetadataApp
    documents = Documents(faults)
    EventWatch(faults, node.snapshot, documents, Hand(faults, node, tasks))
    return FaultyService(node, metadata_options(settings), faults, documents), FaultyApp


def made_plane(
    settings: Settings,
    node: Node,
    tokens: TokenBook,
    clock: ManualClock | None,
    metrics: Metrics,
    faults: FaultBook | None,
    crew: Crew | None,
    servers: Sequence[QuietServer],
) -> ControlPlane:
    def is_ready() -> bool:
        serves = all(server.started for server in servers) and (crew is None or crew.is_ready)
        return serves and node.snapshot.loaded

    return ControlPlane(
        node,
        tokens,
        clock,
        is_ready,
        Streams(node.snapshot),
        settings.history.keep_days,
        metrics,
        faults=faults,
        workers=crew,
    )


def retire_history(name: str, settings: Settings, node: Node, tasks: AsyncioTasks) -> None:
    if not settings.history.keep_days:
        return
    sink: HistorySink = NoSink()
    if directory := settings.history.directory:
        sink = kept = JsonLinesSink(directory, lambda stored: json_line(shown_record(stored)))
        kept.prepare()
    keep_ms = settings.history.keep_days * DAY_MS
    retention = Retention(name, node.store, sink, node.snapshot, node.clock, tasks, keep_ms)
    tasks.spawn("retention", retention.run())


async def told_of_history(
    name: str, settings: Settings, node: Node, tasks: AsyncioTasks, reloading: Reloading, stack: AsyncExitStack
) -> Notifying:
    """Before anything is served: from then on every change is told."""
    targets = Targets(node.clock)
    stack.callback(targets.close)
    notifying = Notifying(name, node.store, node.snapshot, node.clock, tasks, SystemRandom().random)
    await notifying.start(targets.made_of(settings.notify))
    reloading.on_change(lambda changed: notifying.change(targets.made_of(changed.notify)))
    return notifying


def simulation(settings: Settings) -> Simulation:
    wanted = settings.executor.simulate
    return Simulation(wanted.duration_s, wanted.failure_rate, wanted.checks_s)


def renew_certificate(server: QuietServer, settings: Settings) -> None:
    """A certificate is renewed in its own files, which no setting tells of; so it is read at every reload."""
    if server.config.ssl and (certificate := settings.control.certificate):
        certificate.renew(server.config.ssl)
        log.info("certificate read again", extra={"certificate": certificate.chain})


def serve(config: Path | None, overrides: Mapping[str, Any]) -> int:
    """Serve until told to stop. Refusals of settings and addresses are raised for the caller to word."""

    def reread() -> Settings:
        wanted = load_settings(config, os.environ, overrides)
        refuse_unusable(wanted.notify)
        return wanted

    settings = reread()
    raise_file_limit()
    logs.configure(settings.log.format, settings.log.level)
    return event_loop.run(_serve_until_told(settings, reread, systemd.inherited_sockets()))


def raise_file_limit() -> None:
    """Every connection is a file: as many as the system lets this process have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def checked(config: Path | None, overrides: Mapping[str, Any]) -> str:
    """The settings `serve` would run with, as TOML; refused where `serve` would refuse them."""
    settings = load_settings(config, os.environ, overrides)
    for listener in () if settings.metadata.allow_routable else settings.metadata.listeners:
        refuse_routable(parse_address(listener.address)[0])
    refuse_unusable(settings.notify)
    return as_toml(settings)


async def _serve_until_told(settings: Settings, reread: Callable[[], Settings], inherited: systemd.Inherited) -> int:
    told, hung_up = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    on_terminal = os.isatty(0)

    def hang_up() -> None:
        # A terminal that is closed hangs up as well; a server that was started there ends with it.
        (told if on_terminal and not os.isatty(0) else hung_up).set()

    loop.add_signal_handler(signal.SIGHUP, hang_up)
    async with AsyncExitStack() as stack:
        with garbage.none_while_loading():
            server = await stack.enter_async_context(running_server(settings, inherited))
        stack.enter_context(garbage.Freezer(thread_busy_s).watching())
        print(banner(server, settings), flush=True)  # noqa: T201  the first thing a person sees
        server.reloading.on_change(lambda changed: logs.configure(changed.log.format, changed.log.level))
        reloads = asyncio.create_task(reload_at_each(hung_up, reread, server.reloading))
        systemd.feed_watchdog(loop)
        systemd.notify(f"READY=1\nSTATUS=Serving {', '.join(server.metadata_urls)} and {server.control_url}")
        stop: asyncio.Future[Any] = asyncio.ensure_future(told.wait())
        await asyncio.wait({stop, server.failure}, return_when=asyncio.FIRST_COMPLETED)
        if server.failure.done():
            log.critical("a part of the server broke down, so it stops", exc_info=server.failure.exception())
        systemd.notify("STOPPING=1")
        stop.cancel()
        reloads.cancel()
        return 1 if server.failure.done() else 0


async def reload_at_each(hung_up: asyncio.Event, reread: Callable[[], Settings], reloading: Reloading) -> None:
    """SIGHUP: take what the settings say now; settings with anything wrong in them change nothing."""
    while await hung_up.wait():
        hung_up.clear()
        try:
            await reloading.apply_everywhere(await asyncio.to_thread(reread))
        except Refusal as refusal:
            log.error("settings not reloaded, the running ones stay: %s", refusal.message)  # noqa: TRY400  a sentence is enough
        except Exception:  # a reload that breaks down is no reason to stop serving
            log.exception("settings could not be taken")


def banner(server: RunningServer, settings: Settings) -> str:
    """Where it answers, and the line to try."""
    lines = [
        "notbefore is serving",
        *(f"  metadata  {url}" for url in server.metadata_urls),
        f"  control   {server.control_url}   (token in {server.token_file})",
        f"  store     {settings.store_path}",
        f"  clock     {settings.clock.kind}",
        *([f"  workers   {settings.workers}"] if server.crew else []),
        *(["  workers   none: faults are allowed"] if settings.workers > 1 and not server.crew else []),
        *(["  faults    allowed: `notbefore fault add`"] if settings.allow_faults else []),
        "Try it, as a VM:",
        f'  curl -H Metadata:true "{server.metadata_urls[0]}{PATH}?api-version={NEWEST}"',
    ]
    if settings.demo:
        lines += ["and as an operator:", "  notbefore restart FrontEnd_IN_0"]
    return "\n".join(lines)
