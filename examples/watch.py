#!/usr/bin/env python3
"""Watches the scheduled events of this VM: prepares, approves, recovers, and goes on watching.

Usage: watch.py [VM]     the VM's name, for where the endpoint does not tell it
"""

import logging
import sys
import time

from notbefore.client import Change, ChangeKind, EndpointError, EventView, ScheduledEvents

log = logging.getLogger("watch")


def prepare(event: EventView) -> None:
    """What the VM does about an event. Put your own here: leave the load balancer, hand over, save."""
    print(f"preparing: {event.type} of {event.id}, not before {event.not_before or 'now'}", flush=True)


def recover(event: EventView, *, impact_seen: bool) -> None:
    print(f"recovering: {event.id} is over{'' if impact_seen else ', and never started'}", flush=True)


def approve(event: EventView, service: ScheduledEvents) -> None:
    try:
        if service.approve(event.id):
            print(f"approved: {event.id}", flush=True)
    except EndpointError as trouble:  # After several tries. Without a word it starts when its time has come.
        log.warning("not approved: %s: %s", event.id, trouble)


def handle(change: Change, service: ScheduledEvents) -> None:
    event = change.event
    if change.kind is ChangeKind.APPEARED:
        prepare(event)
        if not event.is_started:
            approve(event, service)
    elif change.kind is ChangeKind.ENDED:
        recover(event, impact_seen=change.impact_seen)


def watch(service: ScheduledEvents) -> None:
    me = service.whoami()
    print(f"watching as {me}", flush=True)
    for change in service.watch():
        if change.event.is_mine(me):
            handle(change, service)


def main() -> None:
    logging.basicConfig()
    with ScheduledEvents(vm=sys.argv[1] if len(sys.argv) > 1 else None) as service:
        while True:
            try:
                watch(service)
            except EndpointError as trouble:  # Before the first answer only: at boot the endpoint may come later.
                log.warning("%s", trouble)
                time.sleep(1)


if __name__ == "__main__":
    main()
