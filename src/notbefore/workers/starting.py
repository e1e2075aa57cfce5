"""From settings to workers that start, and to those who watch them. Called by: wiring.py."""

import logging
import os
from collections.abc import Sequence

from notbefore.clock import ManualClock
from notbefore.control.metrics.page import Metrics
from notbefore.metadata.counts import Counts
from notbefore.runtime.node import Node
from notbefore.settings import Settings
from notbefore.settings.options import metadata_options
from notbefore.settings.reload import Reloading
from notbefore.tasks import AsyncioTasks
from notbefore.workers.crew import Crew
from notbefore.workers.frames import Taken
from notbefore.workers.places import Place

log = logging.getLogger("notbefore.workers")


def started_crew(
    settings: Settings,
    node: Node,
    clock: ManualClock | None,
    places: list[Place],
    tasks: AsyncioTasks,
    program: Sequence[str],
) -> Crew | None:
    if not settings.has_workers:
        if settings.workers > 1:
            log.warning("no workers are started: faults are orders to one data plane")
        return None
    store = os.path.realpath(settings.store_path)
    crew = Crew(settings.workers, places, store, taken_by_workers(settings), node, clock, program)
    crew.start(tasks)
    return crew


def watch_crew(crew: Crew, own: Counts, metrics: Metrics, reloading: Reloading) -> None:
    crew.tallies.count_own(own)
    metrics.watch_data_plane(crew.tallies)
    metrics.watch_workers(crew)
    reloading.on_change_elsewhere(lambda changed: crew.reconfigure(taken_by_workers(changed)))


def taken_by_workers(settings: Settings) -> Taken:
    return Taken(metadata_options(settings), settings.log.format, settings.log.level)
