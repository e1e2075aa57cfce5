"""Waiting for events to end (`--wait`), by asking again.

Rule 1: on a terminal one line per event counts its notice down, by the server's clock, and says what it waits for.
Rule 2: elsewhere, and not with --json, a line is printed whenever the event waits for something else.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Pause

from notbefore.cli.control_api import ControlApi, Json
from notbefore.cli.event_lines import lines_of
from notbefore.cli.local_times import for_reader
from notbefore.cli.printable import printable, show_lines
from notbefore.control_client import Clock, Event
from notbefore.control_client.shapes import shaped
from notbefore.core.errors import Refusal
from notbefore.core.kinds import ENDED, Status

ASK_AGAIN_S = 0.5
MINUTE_S = 60

Tell = Callable[[ControlApi, Sequence[Json]], None]


def until_ended(api: ControlApi, events: Sequence[Json], *, as_json: bool) -> list[Json]:
    """The events as they ended, in order. What was said before is said now, also into a pipe."""
    sys.stdout.flush()
    known = list(events)
    pause = Pause()
    with _teller(as_json=as_json) as tell:
        while any(event["status"] not in ENDED for event in known):
            tell(api, [event for event in known if event["status"] not in ENDED])
            pause.wait(ASK_AGAIN_S)
            known = [event if event["status"] in ENDED else api.get("events", event["id"]) for event in known]
    return known


def refuse_bad_ends(events: Sequence[Json]) -> None:
    bad = [event for event in events if event["status"] != Status.COMPLETED]
    if bad:
        ends = ", ".join(f"{event['type']} {event['id']} ended {event['status']}" for event in bad)
        raise Refusal(f"{ends}.", f"`notbefore history --event {bad[0]['id']}` says why.")


@contextmanager
def _teller(*, as_json: bool) -> Iterator[Tell]:
    if sys.stderr.isatty():
        with _countdown() as tell:
            yield tell
    elif as_json:
        yield lambda *_: None
    else:
        yield _Appended()


class _Appended:
    """What an event waits for, whenever that is something else than before. The first time it was said already."""

    def __init__(self) -> None:
        self._said: dict[str, list[str]] = {}

    def __call__(self, _: ControlApi, events: Sequence[Json]) -> None:
        for event in events:
            lines = lines_of(event)
            if self._said.setdefault(event["id"], lines) != lines:
                self._said[event["id"]] = lines
                show_lines(lines)
                sys.stdout.flush()


@contextmanager
def _countdown() -> Iterator[Tell]:
    from rich.console import Console  # noqa: PLC0415  only terminals need it
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:

        def tell(api: ControlApi, events: Sequence[Json]) -> None:
            clock = shaped(Clock, api.get("clock"))
            lines = [for_reader(printable(counted_down(event, clock)), sys.stderr) for event in events]
            live.update(Text("\n".join(lines)), refresh=True)

        yield tell


def counted_down(raw: Json, clock: Clock) -> str:
    """`14:32  Reboot of web-1 is Scheduled: waiting for …`; without the time once there is none to wait for."""
    event = shaped(Event, raw)
    waits = f"{event.type} of {', '.join(event.vms)} is {event.status}: waiting for {event.waiting_for}"
    if event.status != Status.SCHEDULED or event.not_before is None:
        return waits
    left_s = max(0, round((event.not_before - clock.now).total_seconds()))
    minutes, seconds = divmod(left_s, MINUTE_S)
    return f"{minutes:02}:{seconds:02}  {waits}"
