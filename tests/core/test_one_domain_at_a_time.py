"""One update domain at a time (SPEC §3.4, S5), on random maintenance: 300 journeys, 10,000 with NOTBEFORE_PROOF=1."""

from journeys import MAINTENANCE, is_planned_platform, is_shown, on_random_journeys

from notbefore.core.kinds import Status
from notbefore.core.requests import ClaimEffect, NoteAsked

MAINTAINED = {"words": MAINTENANCE, "shortest": 10, "longest": 20}
every_maintenance = on_random_journeys(examples=100, in_proof=4_000, **MAINTAINED)


class Rest:
    """The recovery that the scope owes after an update domain was really touched."""

    def __init__(self) -> None:
        self.domain, self.owed = None, []

    def note(self, turn) -> None:
        if turn.after.removed:
            self.__init__()
        for change in turn.changes:
            event = change.event
            over = event and event.ended_at_ms is not None and event.started_at_ms is not None
            owed_ms = max(turn.after.settings.recovery_s, event.recovery_s if event else 0) * 1000
            # A rest that is owed is not forgiven when the setting is lowered afterwards, or another event asks for less.
            if over and is_planned_platform(event) and owed_ms:
                self.owed = self.owed if self.domain == event.update_domain else []
                self.domain, self.owed = event.update_domain, [*self.owed, (turn.now, owed_ms)]

    def is_over(self, now) -> bool:
        """The newest by both hands; those before it by what has really elapsed, wherever the wall was set to."""
        really = all(now.boot_id != since.boot_id or now.boot_ms - since.boot_ms >= ms for since, ms in self.owed)
        return really and all(now.wall_ms - since.wall_ms >= ms for since, ms in self.owed[-1:])

    def is_surely_over(self, now) -> bool:
        """Each by both hands."""
        return self.is_over(now) and all(now.wall_ms - since.wall_ms >= ms for since, ms in self.owed)


def planned(events) -> list:
    return [event for event in events.values() if is_planned_platform(event) and is_shown(event)]


def domains_of(scope, events) -> set[int]:
    """By the VMs themselves, not by what the events say of them."""
    return {scope.vm(name).update_domain for event in events for name in event.vms if scope.vm(name)}


@on_random_journeys(examples=300, in_proof=10_000, **MAINTAINED)
def test_s5_at_most_one_update_domain_is_under_planned_platform_impact(journey):
    """S5: in one scope at most one UD is under planned platform impact; §3.4: nor is another's event visible."""
    for turn in journey.taken:
        assert len(domains_of(turn.after, planned(turn.events_after))) <= 1


@every_maintenance
def test_the_next_domain_comes_after_the_former_has_ended_and_recovered(journey):
    """§3.4: the next UD's event becomes visible only when the former has ended, plus recovery_s."""
    rest = Rest()
    for turn in journey.taken:
        rest.note(turn)
        having_their_turn = {event.update_domain for event in planned(turn.events_before)} | {rest.domain}
        for event in planned(turn.events_after):
            if event.update_domain not in having_their_turn:
                assert rest.is_over(turn.now)


@every_maintenance
def test_who_queues_is_not_overtaken(journey):
    """§3.4: while events queue, the domain that becomes visible is that of the first in the queue."""
    for turn in journey.taken:
        shown_before = {event.id for event in planned(turn.events_before)}
        fresh = [event for event in planned(turn.events_after) if event.id not in shown_before]
        queue = [e for e in turn.events_before.values() if e.status is Status.QUEUED and e.id in turn.events_after]
        if fresh and queue:
            assert {event.update_domain for event in fresh} == {queue[0].update_domain}


@every_maintenance
def test_the_queue_moves_as_soon_as_it_may(journey):
    """§3.4: nothing queues for ever: only a domain that has its turn, or its recovery, holds the queue."""
    rest = Rest()
    for turn in journey.taken:
        rest.note(turn)
        if turn.decision.answer.again or isinstance(turn.request, NoteAsked | ClaimEffect):
            continue
        queue = [event for event in turn.events_after.values() if event.status is Status.QUEUED]
        shown = planned(turn.events_after)
        if queue and not shown:
            assert not rest.is_surely_over(turn.now)
            assert queue[0].update_domain != rest.domain
        if queue and shown:
            assert queue[0].update_domain not in {event.update_domain for event in shown}


@every_maintenance
def test_one_event_holds_vms_of_one_update_domain_and_one_host(journey):
    """§3.4: one event holds VMs of one UD [seed] and, when hosts are known, of one host, when it is made."""
    for turn in journey.taken:
        for event_id in turn.events_after.keys() - turn.events_before.keys():
            vms = [turn.after.vm(name) for name in turn.events_after[event_id].vms]
            assert len({(vm.update_domain, vm.host.lower()) for vm in vms}) == 1
