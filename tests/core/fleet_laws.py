"""What must hold of a fleet at every single moment, whoever drives and whoever approves; judged by the events alone."""

from bisect import bisect_left

from driven_fleets import DrivenFleet
from journeys import is_planned_platform

from notbefore.core.kinds import Status


def one_domain_at_a_time(fleet: DrivenFleet) -> None:
    """S5, and §3.4: nor is another domain's event visible."""
    for scope in fleet.scopes.values():
        planned = filter(is_planned_platform, scope.events_in(Status.SCHEDULED, Status.STARTED))
        shown = [vm for event in planned for vm in event.vms]
        assert len({scope.vm(name).update_domain for name in shown if scope.vm(name)}) <= 1


def the_gate(fleet: DrivenFleet) -> None:
    """§3.4: approved, it stays Scheduled until every other event of its wave is released, has started or is over."""
    at_ms, _, change = fleet.told[-1] if fleet.told else (0, "", None)
    if change is None or change.what != "started: approved" or change.event.gate is None:
        return
    for _, other in fleet.events():
        if other.gate and (other.gate.operation, other.gate.wave) == (
            change.event.gate.operation,
            change.event.gate.wave,
        ):
            assert other.status is Status.STARTED or other.release is not None
    assert at_ms <= change.event.not_before_ms


def one_not_before(fleet: DrivenFleet) -> None:
    """§3.4: the events of a wave have one common NotBefore, and each its scope's whole notice."""
    common: dict = {}
    for key, event in fleet.events():
        if event.status is Status.SCHEDULED and event.gate:
            wave = (event.gate.operation, event.gate.wave)
            assert common.setdefault(wave, event.not_before_ms) == event.not_before_ms
            notice_ms = fleet.scopes[key].settings.notice_for(event.type) * 1000
            assert event.not_before_ms - event.visible_since_ms >= notice_ms


LAWS = (one_domain_at_a_time, the_gate, one_not_before)


def watched(fleet: DrivenFleet, *more) -> DrivenFleet:
    fleet.watchers += [*LAWS, *more]
    return fleet


def within_budget(limits):
    """Issue: at most so many hosts, scopes and VMs at once; announced counts, since anybody may approve."""

    def watch(fleet: DrivenFleet) -> None:
        shown = fleet.events()
        vms = [(key, vm) for key, event in shown for vm in event.vms]
        hosts = {fleet.scopes[key].vm(vm).host for key, vm in vms if fleet.scopes[key].vm(vm)}
        assert limits.max_vms is None or len(vms) <= limits.max_vms
        assert limits.max_scopes is None or len({key for key, _ in shown}) <= limits.max_scopes
        assert limits.max_hosts is None or len(hosts) <= limits.max_hosts

    return watch


def within_rate(fleet: DrivenFleet, limits) -> None:
    """Issue: at most x impacts per y minutes, over any y minutes."""
    if limits.impacts_max is None:
        return
    starts = sorted(at for at, _, event in fleet.starts() for _ in event.vms)
    for n, at_ms in enumerate(starts):
        assert bisect_left(starts, at_ms + limits.impacts_per_s * 1000) - n <= limits.impacts_max


def recovered(fleet: DrivenFleet, recovery_s: int) -> None:
    """Issue: `recovery_s` between domains of a scope."""
    over: dict[str, tuple[int, int]] = {}
    for at_ms, key, change in fleet.told:
        event = change.event
        if event and event.id in fleet.ended and change.what.startswith(("completed", "failed")):
            over[key] = (event.update_domain, at_ms)
        if (
            event
            and change.what.startswith(("scheduled", "started"))
            and event.visible_since_ms == at_ms
            and key in over
        ):
            domain, ended_ms = over[key]
            assert domain == event.update_domain or at_ms - ended_ms >= recovery_s * 1000
