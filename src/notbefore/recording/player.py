"""The player: serves a recording on an address, one line after the other, at its own pace or a multiple of it.

Rule 1: the file has been looked through, and the address is bound, before anything is shown.
Rule 2: the first line is shown from the beginning.
Rule 3: it ends with the flow, or when it is told to; `stay` keeps the last line until then.
"""

import asyncio
import contextlib
import signal
from collections.abc import Collection, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from notbefore.clock import RealTime
from notbefore.core.times import SECOND_MS
from notbefore.metadata.identity import Listener
from notbefore.metadata.listen import metadata_server, refuse_routable
from notbefore.recording.flow import BROKEN, UNREACHABLE, Change
from notbefore.recording.pace import NoMoreSteps, Pace, Stepped, Timed
from notbefore.recording.past import SILENCE_S, PastApp, PastService, Picture, cut_held
from notbefore.recording.reading import Look, flow_lines, looked_through
from notbefore.recording.shifting import Shift
from notbefore.sockets import address_of, bind, parse_address, serving, url_of


@dataclass(frozen=True, slots=True)
class Replay:
    """What to replay, and how."""

    file: Path
    metadata: str
    rate: float = 1.0
    step: bool = False
    verbatim: bool = False
    stay: bool = False


class Teller(Protocol):
    """Who is told how it goes."""

    def serving(self, url: str, look: Look) -> None: ...

    def shows(self, change: Change, picture: Picture) -> None: ...

    def said(self, sentence: str) -> None: ...

    def ends(self) -> None: ...


async def replay(wanted: Replay, teller: Teller) -> None:
    """Replay it until its end, or until a signal says so."""
    look = await asyncio.to_thread(looked_through, wanted.file)
    host, port = parse_address(wanted.metadata)
    refuse_routable(host, or_else="")
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    with contextlib.closing(bind(host, port)) as bound:
        service = PastService(look.header, RealTime().steady_s, teller.said, SILENCE_S / wanted.rate)
        server = metadata_server(service, [Listener(host, address_of(bound)[1])], PastApp)
        pace = Stepped() if wanted.step else Timed(wanted.rate)
        connections = server.server_state.connections
        player = Player(wanted, look, service, teller, pace=pace, connections=connections)
        player.show_first()
        async with serving((server, [bound])):
            teller.serving(url_of(bound), look)
            await first_of(player.play(), told)
            service.stop()
    teller.ends()


async def first_of(playing: Coroutine[Any, Any, None], told: asyncio.Event) -> None:
    """Play to the end, or until told."""
    both = {asyncio.ensure_future(playing), asyncio.ensure_future(told.wait())}
    done, left = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    for one in left:
        one.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    for one in done:
        one.result()


class Player:
    """`connections`: the server's, as they are."""

    def __init__(
        self,
        wanted: Replay,
        look: Look,
        service: PastService,
        teller: Teller,
        *,
        pace: Pace,
        connections: Collection[object],
    ) -> None:
        self._wanted = wanted
        self._look = look
        self._service = service
        self._teller = teller
        self._pace = pace
        self._connections = connections
        self._shift = Shift(look.header.began_ms, round(RealTime().real_s() * SECOND_MS), wanted.rate)
        self._changes = (line for line in flow_lines(wanted.file) if isinstance(line, Change))

    def show_first(self) -> None:
        """Before anybody can ask."""
        self._first = next(self._changes)
        self._first_picture = self._shown(self._first)

    async def play(self) -> None:
        self._teller.shows(self._first, self._first_picture)
        try:
            for change in self._changes:
                await self._pace.until(change.t_s)
                self._teller.shows(change, self._shown(change))
            await self._pace.until_over(self._look.lasts_s)
        except NoMoreSteps:
            pass
        if self._wanted.stay:
            await asyncio.Event().wait()

    def _shown(self, change: Change) -> Picture:
        shown = change.shown
        if not self._wanted.verbatim and Picture(shown).document is not None:
            shown = replace(shown, body=self._shift.moved(shown.body))
        if shown.error in (BROKEN, UNREACHABLE):
            cut_held(self._connections)
        return self._service.show(shown)
