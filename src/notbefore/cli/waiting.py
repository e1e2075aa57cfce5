"""Waiting for events to end (`--wait`): by asking again, with a spinner on stderr when that is a terminal."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Pause

from notbefore.cli.control_api import ControlApi, Json
from notbefore.core.errors import Refusal
from notbefore.core.kinds import ENDED, Status

ASK_AGAIN_S = 0.5


def until_ended(api: ControlApi, events: Sequence[Json]) -> list[Json]:
    """The events as they ended, in order. What was said before is said now, also into a pipe."""
    sys.stdout.flush()
    with spinner() as tell:
        return [_until_one_ended(api, event, tell) for event in events]


def refuse_bad_ends(events: Sequence[Json]) -> None:
    bad = [event for event in events if event["status"] != Status.COMPLETED]
    if bad:
        ends = ", ".join(f"{event['type']} {event['id']} ended {event['status']}" for event in bad)
        raise Refusal(f"{ends}.", f"`notbefore history --event {bad[0]['id']}` says why.")


def _until_one_ended(api: ControlApi, event: Json, tell: Callable[[str], None]) -> Json:
    pause = Pause()
    while event["status"] not in ENDED:
        tell(f"{event['type']} of {', '.join(event['vms'])} is {event['status']}: waiting for {event['waiting_for']}")
        pause.wait(ASK_AGAIN_S)
        event = api.get("events", event["id"])
    return event


@contextmanager
def spinner() -> Iterator[Callable[[str], None]]:
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415  only terminals need it
    from rich.text import Text  # noqa: PLC0415

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(Text(text))
