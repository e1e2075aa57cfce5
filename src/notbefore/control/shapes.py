"""How the control API shows things: core values to JSON (DESIGN §5). Times are ISO 8601 UTC, to the second."""

import json
from typing import Any

from notbefore.core.explain import Explanation, waiting_for
from notbefore.core.history import Change, HistoryRecord
from notbefore.core.hosts import CountedHost, KnownHost
from notbefore.core.kinds import EventType
from notbefore.core.listening import listens
from notbefore.core.model import ActorKind, Event, Scope, Vm, name_key
from notbefore.core.scope_settings import DEFAULT_POLICY, ScopeSettings
from notbefore.core.times import Moment, iso
from notbefore.ports import StoredRecord
from notbefore.runtime.asked import Asked

Json = dict[str, Any]


def time_or_null(at_ms: int | None) -> str | None:
    return None if at_ms is None else iso(at_ms)


def shown_event(event: Event, scope_name: str, incarnation: int, waits_for: str) -> Json:
    return {
        "id": event.id,
        "scope": scope_name,
        "type": event.type,
        "status": event.status,
        "source": event.source,
        "vms": list(event.vms),
        "update_domain": event.update_domain,
        "not_before": time_or_null(event.not_before_ms),
        "visible_since": time_or_null(event.visible_since_ms),
        "started_at": time_or_null(event.started_at_ms),
        "ended_at": time_or_null(event.ended_at_ms),
        "description": event.description,
        "duration_s": event.duration_s,
        "approvals": [
            {"vm": a.by.name if a.by.kind is ActorKind.VM else None, "by": str(a.by), "at": iso(a.at_ms)}
            for a in event.approvals
        ],
        "outcomes": [{"vm": o.vm, "at": iso(o.at_ms), "done": o.done, "evidence": o.evidence} for o in event.outcomes],
        "made_by": str(event.made_by),
        "waiting_for": waits_for,
        "incarnation": incarnation,
        "operation": event.gate.operation if event.gate else None,
        "released_at": time_or_null(event.release.at_ms if event.release else None),
    }


def live_event(scope: Scope, event: Event, now: Moment) -> Json:
    return shown_event(event, scope.name, scope.incarnation, waiting_for(scope, event, now))


def shown_explanation(explanation: Explanation, event: Json) -> Json:
    return {
        "event": event,
        "explanation": explanation.paragraph,
        "waiting_for": explanation.waiting_for,
        "rule": explanation.rule,
        "waits_on": list(explanation.waits_on),
        "until": time_or_null(explanation.until_ms),
        "released_by": list(explanation.released_by),
    }


def shown_host(known: KnownHost) -> Json:
    return counted_host(CountedHost(known.host, known.declared, {scope: len(vms) for scope, vms in known.vms.items()}))


def counted_host(counted: CountedHost) -> Json:
    return {
        "name": counted.host.name,
        "executor": counted.host.executor,
        "declared": counted.declared,
        "vms": dict(counted.vms),
    }


def recorded_event(record: HistoryRecord, event: Event) -> Json:
    """An event as a record of history has it; it may have moved on since."""
    return shown_event(event, record.scope, record.incarnation, "")


def json_line(value: Json) -> str:
    """Compact, on one line, for streams and files of lines; in ASCII: nobody takes a character for a line end."""
    return json.dumps(value, separators=(",", ":"))


def shown_record(stored: StoredRecord) -> Json:
    record = stored.record
    return {
        "revision": stored.revision,
        "at": iso(record.at_ms),
        "scope": record.scope,
        "incarnation": record.incarnation,
        "request_id": record.request_id,
        "changes": [_change(record, change) for change in record.changes],
    }


def _change(record: HistoryRecord, change: Change) -> Json:
    shown: Json = {
        "what": change.what,
        "why": change.why,
        "by": str(change.by),
        "event": recorded_event(record, change.event) if change.event else None,
    }
    if change.declaration:
        declared = change.declaration
        shown["declaration"] = {
            "kind": declared.kind,
            "settings": shown_settings(declared.settings),
            "vms": [shown_vm(vm) for vm in declared.vms],
            "removed": declared.removed,
        }
    if change.vm:
        shown["vm"] = shown_vm(change.vm)
    for name, of in (("operation", change.operation), ("rollout", change.rollout)):
        if of:
            shown[name] = of
    return shown


def shown_scope(scope: Scope, now: Moment, asked: Asked) -> Json:
    asked_ms = {**scope.asked_ms, **asked.unsaved(scope.key)}
    return {
        "name": scope.name,
        "kind": scope.kind,
        "incarnation": scope.incarnation,
        "listens": listens(scope, now),
        "last_asked": time_or_null(max(asked_ms.values(), default=None)),
        "settings": shown_settings(scope.settings),
        "vms": [{**shown_vm(vm), "last_asked": time_or_null(asked_ms.get(name_key(vm.name)))} for vm in scope.vms],
    }


def shown_vm(vm: Vm) -> Json:
    return {
        "name": vm.name,
        "update_domain": vm.update_domain,
        "fault_domain": vm.fault_domain,
        "host": vm.host,
        "addresses": list(vm.addresses),
        "tags": dict(vm.tags),
        "spot": vm.spot,
        "state": vm.state,
    }


def shown_settings(settings: ScopeSettings) -> Json:
    """The values in force, defaults filled in."""
    only_default = set(settings.approval) <= {DEFAULT_POLICY}
    return {
        "listening": settings.listening,
        "approval": settings.approval.get(DEFAULT_POLICY, "any") if only_default else dict(settings.approval),
        "auto_approve": list(settings.auto_approve),
        "notice_s": {event_type: settings.notice_for(event_type) for event_type in EventType},
        "user_events": settings.user_events,
        "user_operations_max": settings.user_operations_max,
        "recovery_s": settings.recovery_s,
        "legacy_underscore": settings.legacy_underscore,
        "eviction": settings.eviction,
    }
