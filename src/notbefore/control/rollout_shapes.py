"""How the control API shows operations, rollouts and plans (rules: shapes.py)."""

from collections.abc import Mapping

from notbefore.control.shapes import Json, time_or_null
from notbefore.core.explain.operation import operation_waits_for, why_waiting
from notbefore.core.explain.rollout import rollout_waits_for, target_waits_for
from notbefore.core.fleet_seen import Fleet
from notbefore.core.model import Scope
from notbefore.core.operation import Member, Operation, ScopedVm
from notbefore.core.rollout import Limits, Rollout, Target
from notbefore.core.rollout_fit import at_once
from notbefore.core.rollout_plan import Plan, PlannedWave
from notbefore.core.times import Moment, iso
from notbefore.core.windows import Window


def shown_operation(operation: Operation, scopes: Mapping[str, Scope], now: Moment) -> Json:
    return {
        "id": operation.id,
        "host": operation.host,
        "rollout": operation.rollout,
        "type": operation.type,
        "status": operation.status,
        "why": operation.why,
        "made_at": iso(operation.made_at_ms),
        "made_by": str(operation.made_by),
        "ended_at": time_or_null(operation.ended_at_ms),
        "duration_s": operation.duration_s,
        "description": operation.description,
        "waves": shown_waves(operation),
        "waiting": [{**shown_of(one.of), "why": why_waiting(one, operation, scopes, now)} for one in operation.waiting],
        "left": [{**shown_of(one.of), "why": one.why} for one in operation.left],
        "waits_for": operation_waits_for(operation, scopes, now),
    }


def shown_of(of: ScopedVm) -> Json:
    return {"scope": of.scope, "vm": of.vm}


def shown_waves(operation: Operation) -> list[Json]:
    """Of those that are over only what became of them; the current one with its time and its gate."""
    waves: dict[int, Json] = {}
    current = operation.wave
    for member in operation.members():
        wave = waves.setdefault(member.wave, {"number": member.wave, "not_before": None, "gate": None, "events": []})
        wave["events"].append(shown_member(member))
    if current and current.number in waves:
        gate = "open" if current.gate_open else "shut"
        waves[current.number].update(not_before=iso(current.not_before_ms), gate=gate)
    return list(waves.values())


def shown_member(member: Member) -> Json:
    return {
        "event": member.event_id,
        "scope": member.scope,
        "update_domain": member.update_domain,
        "vms": list(member.vms),
        "stage": member.stage,
        "ended": member.ended,
    }


def shown_plan(plan: Plan) -> Json:
    return {
        "waves": [shown_planned(wave) for wave in plan.waves],
        "ends": time_or_null(plan.ends_ms),
        "stuck": plan.stuck,
    }


def shown_planned(wave: PlannedWave) -> Json:
    return {
        "number": wave.number,
        "target": wave.target,
        "visible": iso(wave.visible_ms),
        "not_before": iso(wave.not_before_ms),
        "ends": iso(wave.ends_ms),
        "vms": wave.vms,
        "events": [
            {
                "event": part.event_id,
                "scope": part.scope,
                "update_domain": part.update_domain,
                "vms": list(part.vms),
            }
            for part in wave.parts
        ],
    }


def shown_rollout(rollout: Rollout, fleet: Fleet, now: Moment) -> Json:
    return {
        "id": rollout.id,
        "type": rollout.type,
        "over": rollout.over,
        "status": rollout.status,
        "why": rollout.why,
        "made_at": iso(rollout.made_at_ms),
        "made_by": str(rollout.made_by),
        "ended_at": time_or_null(rollout.ended_at_ms),
        "duration_s": rollout.duration_s,
        "description": rollout.description,
        "limits": shown_limits(rollout.limits),
        "targets": rollout.targets,
        "waiting": list(rollout.waiting),
        "in_hand": [shown_target(rollout, target, fleet, now) for target in rollout.in_hand],
        "done": [
            {
                "name": one.name,
                "at": iso(one.at_ms),
                "touched": one.touched,
                "failed": one.failed,
                "skipped": one.skipped,
            }
            for one in rollout.done
        ],
        "touched": rollout.touched,
        "failed": rollout.failed,
        "skipped": rollout.skipped,
        "budget": shown_budget(rollout, fleet),
        "waits_for": rollout_waits_for(rollout, fleet, now),
    }


def shown_target(rollout: Rollout, target: Target, fleet: Fleet, now: Moment) -> Json:
    return {
        "name": target.name,
        "wave": target.wave.number if target.wave else None,
        "operation": target.wave.operation if target.wave else None,
        "vms": len(target.wave.vms) if target.wave else 0,
        "waiting": len(target.waiting),
        "touched": target.touched,
        "failed": target.failed,
        "skipped": target.skipped,
        "waits_for": target_waits_for(rollout, target, fleet, now),
    }


def shown_budget(rollout: Rollout, fleet: Fleet) -> Json:
    """What is used of what may be at once; impacts are those that count against the rate."""
    under_way, limits = at_once(rollout, fleet.scopes), rollout.limits
    return {
        "hosts": {"used": len(under_way.hosts), "max": limits.max_hosts},
        "scopes": {"used": len(under_way.scopes), "max": limits.max_scopes},
        "vms": {"used": under_way.vms, "max": limits.max_vms},
        "impacts": {"used": under_way.hits, "max": limits.impacts_max},
    }


def shown_limits(limits: Limits) -> Json:
    return {
        "max_hosts": limits.max_hosts,
        "max_scopes": limits.max_scopes,
        "max_vms": limits.max_vms,
        "recovery_s": limits.recovery_s,
        "windows": [shown_window(window) for window in limits.windows],
        "impacts_max": limits.impacts_max,
        "impacts_per_s": limits.impacts_per_s,
        "vm_rest_s": limits.vm_rest_s,
        "failed_max": limits.failed_max,
    }


def shown_window(window: Window) -> Json:
    return {
        "days": list(window.days),
        "from": time_of_day(window.from_min),
        "to": time_of_day(window.to_min),
        "time_zone": window.time_zone,
    }


def time_of_day(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"
