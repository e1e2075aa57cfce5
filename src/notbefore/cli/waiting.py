"""Waiting for events, operations and rollouts to end (`--wait`), by asking again.

Rule 1: on a terminal one line per event counts its notice down, by the server's clock, and says what it waits for.
Rule 2: elsewhere, and not with --json, a line is printed whenever the event waits for something else.
Rule 3: whoever waits only looks: when it is stopped, what it waited for goes on.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Pause

from notbefore.cli.control_api import ControlApi, Json
from notbefore.cli.event_lines import lines_of
from notbefore.cli.listing import each_second
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


def until_over(
    fetch: Callable[[], Json], is_over: Callable[[Json], bool], lines: Callable[[Json], list[str]], *, as_json: bool
) -> Json:
    """The thing as it ended; meanwhile what there is to say of it. A server that goes away is waited for."""
    sys.stdout.flush()
    with _lines_teller(as_json=as_json) as tell:
        for thing in each_second(fetch):
            if is_over(thing):
                return thing
            tell(lines(thing))
    raise AssertionError("asking again has no end")


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


@contextmanager
def _lines_teller(*, as_json: bool) -> Iterator[Callable[[Sequence[str]], None]]:
    if sys.stderr.isatty():
        with _live_text() as show:
            yield show
    elif as_json:
        yield lambda _: None
    else:
        yield _NewLines()


class _NewLines:
    """The lines that were not said a moment ago."""

    def __init__(self) -> None:
        self._said: Sequence[str] = ()

    def __call__(self, lines: Sequence[str]) -> None:
        show_lines(line for line in lines if line not in self._said)
        sys.stdout.flush()
        self._said = lines


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
    with _live_text() as show:

        def tell(api: ControlApi, events: Sequence[Json]) -> None:
            clock = shaped(Clock, api.get("clock"))
            show([counted_down(event, clock) for event in events])

        yield tell


@contextmanager
def _live_text() -> Iterator[Callable[[Sequence[str]], None]]:
    """Lines on the terminal behind stderr, where the next ones take their place."""
    from rich.console import Console  # noqa: PLC0415  only terminals need it
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:

        def show(lines: Sequence[str]) -> None:
            told = "\n".join(for_reader(printable(line), sys.stderr) for line in lines)
            live.update(Text(told), refresh=True)

        yield show


def counted_down(raw: Json, clock: Clock) -> str:
    """`14:32  Reboot of web-1 is Scheduled: waiting for …`; without the time once there is none to wait for."""
    event = shaped(Event, raw)
    waits = f"{event.type} of {', '.join(event.vms)} is {event.status}: waiting for {event.waiting_for}"
    if event.status != Status.SCHEDULED or event.not_before is None:
        return waits
    left_s = max(0, round((event.not_before - clock.now).total_seconds()))
    minutes, seconds = divmod(left_s, MINUTE_S)
    return f"{minutes:02}:{seconds:02}  {waits}"
