"""The story of an event, for whoever wonders why a test failed: its history, what it waits for, what each VM asked.

Rule 1: times are the emulator's, counted from its opening.
Rule 2: it is bounded: the newest events, and of each the newest lines.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from notbefore.control_client import ControlClient, HistoryRecord
from notbefore.core.kinds import ENDED
from notbefore.core.model import name_key
from notbefore.testing.spans import since_start
from notbefore.testing.vm import EmulatedVm

RECORDS_MAX = 1000
EVENTS_MAX = 20
LINES_MAX = 40
REQUESTS_SHOWN = 8


class Storyteller:
    def __init__(self, control: ControlClient, opened_at: datetime, now: datetime) -> None:
        self._control = control
        self._opened_at = opened_at
        self._now = now

    def of_event(self, event_id: str, vms: Sequence[EmulatedVm]) -> str:
        """One event, with the VMs of its scope."""
        event = self._control.event(event_id)
        mates = [vm for vm in vms if name_key(vm.scope) == name_key(event.scope)]
        return "\n".join([*self._event_lines(event_id), *self._vm_lines(mates), self._clock_line()])

    def of_everything(self, vms: Sequence[EmulatedVm]) -> str:
        ids = event_ids_in(self._control.history(limit=RECORDS_MAX).history)
        lines = [line for event_id in ids[-EVENTS_MAX:] for line in self._event_lines(event_id)]
        left_out = [f"({len(ids) - EVENTS_MAX} earlier events are left out)"] if len(ids) > EVENTS_MAX else []
        nothing = [] if ids else ["No event was scheduled."]
        return "\n".join([*left_out, *nothing, *lines, *self._vm_lines(vms), self._clock_line()])

    def _event_lines(self, event_id: str) -> list[str]:
        told = self._control.explain(event_id)
        event = told.event or self._control.event(event_id)
        head = f"{event.type} of {', '.join(event.vms)}, {event.status}  ({event.scope}, {event.id})"
        lines = list(self._history_lines(event_id))
        left_out = [f"  ({len(lines) - LINES_MAX} earlier lines are left out)"] if len(lines) > LINES_MAX else []
        waits = [] if event.status in ENDED else [f"  now: {told.explanation}"]
        return [head, *left_out, *lines[-LINES_MAX:], *waits]

    def _history_lines(self, event_id: str) -> Iterable[str]:
        for record in self._control.history(event=event_id, limit=RECORDS_MAX).history:
            for change in record.changes:
                if change.event and change.event.id == event_id:
                    yield f"  {self._at(record.at):>10}  {change.what}: {change.why}"

    def _vm_lines(self, vms: Iterable[EmulatedVm]) -> list[str]:
        return [f"  {vm.name} {self._asked(vm)}" for vm in vms]

    def _asked(self, vm: EmulatedVm) -> str:
        if not vm.requests_count:
            return "never asked"
        newest = vm.requests[-REQUESTS_SHOWN:]
        times = "once" if vm.requests_count == 1 else f"{vm.requests_count} times"
        shown = ", ".join(map(str, newest))
        more = "... " if vm.requests_count > len(newest) else ""
        return f"asked {times}, last at {self._at(newest[-1].at)}: {more}{shown}"

    def _clock_line(self) -> str:
        return f"The clock stands at {self._at(self._now)}: {self._now:%Y-%m-%dT%H:%M:%SZ}."

    def _at(self, at: datetime | None) -> str:
        return since_start((at or self._opened_at) - self._opened_at.replace(microsecond=0))


def event_ids_in(records: Iterable[HistoryRecord]) -> list[str]:
    """Each once, in the order they were first spoken of."""
    changes = (change for record in records for change in record.changes)
    return list(dict.fromkeys(change.event.id for change in changes if change.event))


def indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
