"""The scope that docs/reference/metadata-api.md describes, so that its examples are what the program really sends.

Also here: a document laid out for a page, the same bytes once its white space is gone.
"""

import json

from notbefore.core.kinds import EventType, Kind, Source, Status
from notbefore.core.model import Actor, ActorKind, Event, Scope, Span, Vm
from notbefore.core.times import Moment
from notbefore.core.vm_operations import MAINTENANCE_DESCRIPTION, VM_OPERATIONS
from notbefore.wire.api_versions import API_VERSIONS
from notbefore.wire.document import render_document

# 2016-09-19T18:29:47Z
NOT_BEFORE_MS = 1_474_309_787_000
BY = Actor(ActorKind.OPERATOR, "admin")
VMS = (Vm("FrontEnd_IN_0"), Vm("BackEnd_IN_0"), Vm("Batch_IN_0", 1, spot=True), Vm("Batch_IN_1", 1))


def scheduled(event_id, event_type, source, vms, not_before_ms, **facts):
    visible = Moment(NOT_BEFORE_MS - 900_000, 0, "boot")
    return Event(
        id=event_id,
        type=event_type,
        source=source,
        vms=vms,
        made_at_ms=visible.wall_ms,
        made_by=BY,
        status=Status.SCHEDULED,
        notice=Span(visible, not_before_ms),
        visible_since_ms=visible.wall_ms,
        **facts,
    )


REBOOT = scheduled(
    "602D9444-D2CD-49C7-8624-8643E7171297",
    EventType.REBOOT,
    Source.PLATFORM,
    ("FrontEnd_IN_0", "BackEnd_IN_0"),
    NOT_BEFORE_MS,
    description=MAINTENANCE_DESCRIPTION,
)
PREEMPT = scheduled(
    "F020BA2E-3BC0-4C40-A10B-86575A9EABD5",
    EventType.PREEMPT,
    Source.PLATFORM,
    ("Batch_IN_0",),
    NOT_BEFORE_MS - 870_000,
)
TERMINATE = scheduled(
    "0B7E6C54-1D8A-4C0F-9E55-6D2A7B3C4E5F",
    EventType.TERMINATE,
    Source.USER,
    ("Batch_IN_1",),
    NOT_BEFORE_MS - 600_000,
    description=VM_OPERATIONS["terminate"].description,
)
FREEZE = Event(
    id="3474C1DD-0917-49F4-85F7-84B9E366719B",
    type=EventType.FREEZE,
    source=Source.PLATFORM,
    vms=("FrontEnd_IN_0",),
    made_at_ms=NOT_BEFORE_MS,
    made_by=BY,
    status=Status.STARTED,
    description=MAINTENANCE_DESCRIPTION,
    duration_s=9,
)


def scope_with(incarnation, *events):
    return Scope("demo", kind=Kind.CLOUD_SERVICE, vms=VMS, events=events, incarnation=incarnation)


SCOPES = {
    "nothing": scope_with(6),
    "three events": scope_with(7, REBOOT, PREEMPT, TERMINATE),
    "started": scope_with(9, FREEZE),
}


def rendered(name, version):
    """The exact bytes a VM gets."""
    return render_document(SCOPES[name], API_VERSIONS[version])


def laid_out(document):
    """For a page: a few keys to a line."""
    parsed = json.loads(document)
    events = ",\n".join("    {" + ",\n     ".join(lines_of(event)) + "}" for event in parsed["Events"])
    listed = f"[\n{events}\n  ]" if events else "[]"
    return f'{{\n  "DocumentIncarnation": {parsed["DocumentIncarnation"]},\n  "Events": {listed}\n}}'


def lines_of(event):
    pairs = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in event.items()]
    widths = (2, 2, 2, 1, 2)
    lines = []
    for width in widths:
        if pairs[:width]:
            lines.append(", ".join(pairs[:width]))
        pairs = pairs[width:]
    return lines
