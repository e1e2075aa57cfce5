"""explain: why events wait, and what would release them, in a paragraph each."""

from functools import partial

from notbefore.cli.control_api import Json, connect
from notbefore.cli.one_by_one import one_by_one
from notbefore.cli.options import AsJson, Events
from notbefore.cli.printable import show_lines
from notbefore.cli.tables import show_json


def explain(event: Events, *, as_json: AsJson = False) -> None:
    """Explain why events wait: for whom, until when, by which rule, and what would release them.

    Of an ended event it says how it ended and why. Each way of release that is named is enough by itself.

    Example: `notbefore explain 602D9444-D2CD-49C7-8624-8643E7171297`
    """
    api = connect()
    shown = partial(_show, as_json=as_json)
    ids = [event_id.upper() for event_id in event]
    shown(one_by_one(ids, lambda event_id: api.get("events", event_id, "explain"), shown))


def _show(explanations: list[Json], *, as_json: bool) -> None:
    if as_json:
        show_json(explanations)
        return
    for number, one in enumerate(explanations):
        show_lines([*([""] if number else []), one["explanation"]])
