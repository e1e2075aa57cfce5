"""From settings to a running agent: the lock, the journal, the watch, the loop, and signals.

Rule 1: what is needed to be safe is had before anything is watched: the lock and the journal.
Rule 2: a signal only puts something into the queue; the loop does the rest.
"""

import logging
import os
import queue
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from notbefore import __version__
from notbefore.agent.book import Book, Keeping
from notbefore.agent.boot import boot_id
from notbefore.agent.facts import Opened
from notbefore.agent.hands import Approver, Hands
from notbefore.agent.journal import Journal
from notbefore.agent.lock import Lock
from notbefore.agent.picture import Picture
from notbefore.agent.reading import dotted, rule_in, settings_in
from notbefore.agent.running import Agent, Happening, Reload, Stop
from notbefore.agent.service_manager import StatusLine, notify, watchdog_interval_s
from notbefore.agent.settings import Rule, Settings
from notbefore.agent.status import Window
from notbefore.agent.telling import tell
from notbefore.agent.toml_table import TomlTable, Wrong
from notbefore.agent.watching import Watcher, Watching
from notbefore.client.clock import SystemClock
from notbefore.core.errors import NotAllowed, Refusal

OWNER_ONLY = 0o700
# How old what is shown may be while nothing happens.
SHOWN_EVERY_S = 15.0

log = logging.getLogger("notbefore.agent")


def run_agent(settings: Settings, *, is_dry: bool = False) -> None:
    """Until a signal comes; a Refusal when it cannot begin."""
    lock = None if is_dry else _locked(settings.state)
    settings = _dry(settings) if is_dry else settings
    window = Window(settings.status)
    try:
        if url := window.open():
            log.info("status: %s/healthz and %s/metrics", url, url)
        _run(settings, window, is_dry=is_dry)
    finally:
        window.close()
        if lock is not None:
            lock.release()


def _run(settings: Settings, window: Window, *, is_dry: bool) -> None:
    clock, happenings = SystemClock(), queue.SimpleQueue[Happening]()
    service = Watcher(settings.endpoint, settings.api_version, vm=settings.vm, clock=clock)
    keeping, approver = _for_show() if is_dry else (Journal(settings.state), service)
    book = Book(keeping, clock, tell)
    hands = Hands(happenings.put, approver)
    show = _shown_by(window, StatusLine())
    agent = Agent(settings, book, hands, clock, happenings, show, lambda: _read_again(settings, is_dry=is_dry))
    _open(book, settings.file.absolute().parent)
    agent.watching = Watching(service, happenings.put, lambda: agent.knows_events)
    _hear_signals(happenings)
    log.info("the agent %s watches, with %d rules%s", __version__, len(settings.rules), " (dry run)" if is_dry else "")
    agent.watching.start()
    notify("READY=1")
    agent.run(_beat_s(window), lambda: notify("WATCHDOG=1"))
    notify("STOPPING=1")
    book.close()
    log.info("the agent has stopped")


def _shown_by(window: Window, line: StatusLine) -> Callable[[Picture], None]:
    def show(picture: Picture) -> None:
        window.show(picture)
        line.show(picture)

    return show


def _beat_s(window: Window) -> float | None:
    """How often the loop turns at least: as the manager wants it, and as whoever looks does."""
    wanted = [watchdog_interval_s(), SHOWN_EVERY_S if window.is_shown else None]
    return min((one for one in wanted if one), default=None)


def _for_show() -> tuple[Keeping, Approver]:
    from notbefore.agent.dry_run import DryService, MemoryJournal  # noqa: PLC0415  for whoever runs dry

    return MemoryJournal(), DryService()


def _dry(settings: Settings) -> Settings:
    from notbefore.agent.dry_run import dry  # noqa: PLC0415  likewise

    return dry(settings)


def _locked(state: Path) -> Lock:
    try:
        state.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        lock = Lock(state)
        lock.take()
    except OSError as error:
        raise NotAllowed(
            f"The agent cannot keep its journal in {state}: {error.strerror or error}.",
            "Set `state` in agent.toml to a directory that it may write to.",
        ) from None
    return lock


def _open(book: Book, base: Path) -> None:
    def rule_of(table: Mapping[str, Any]) -> Rule:
        try:
            return rule_in(TomlTable(table, ()), base)
        except Wrong as wrong:
            raise ValueError(f"its rule cannot be taken any more: {dotted(wrong.path)}: {wrong.sentence}") from None

    try:
        book.open(Opened(boot_id(), os.getpid(), __version__), rule_of)
    except OSError as error:
        raise NotAllowed(f"{book.path} cannot be read: {error.strerror or error}.") from None
    if book.torn:
        log.warning("the last line of the journal was torn by a crash; nothing had followed from it, so it is dropped")


def _read_again(settings: Settings, *, is_dry: bool) -> Settings | None:
    try:
        fresh = settings_in(settings.file)
    except Refusal as refusal:
        log.error("the settings stay as they are: %s", refusal.message)  # noqa: TRY400  a sentence says it
        return None
    except Exception as error:  # noqa: BLE001  whatever stands in the file, a reload ends nobody's agent
        log.error("the settings stay as they are: %s: %s", type(error).__name__, error)  # noqa: TRY400  likewise
        return None
    return _dry(fresh) if is_dry else fresh


def _hear_signals(happenings: queue.SimpleQueue[Happening]) -> None:
    def stop(number: int, _: FrameType | None) -> None:
        happenings.put(Stop(signal.Signals(number).name))

    def read_again(_: int, __: FrameType | None) -> None:
        happenings.put(Reload())

    for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
        if number := getattr(signal, name, None):
            signal.signal(number, stop)
    if number := getattr(signal, "SIGHUP", None):
        signal.signal(number, read_again)
    if number := getattr(signal, "SIGCHLD", None):
        # Whoever starts the agent may ignore it, and then nobody could tell how a step ended.
        signal.signal(number, signal.SIG_DFL)
