"""Examples of operations and rollouts for the OpenAPI document (rules: examples.py)."""

from typing import Any

Json = dict[str, Any]

HOST_MAINTENANCE_BODY: Json = {"type": "Reboot", "description": "new firmware"}
ROLLOUT_BODIES: list[Json] = [
    {"type": "Reboot", "hosts": "rack-*", "first": ["rack-8"], "limits": {"max_hosts": 1, "recovery_s": 300}},
    {
        "type": "Freeze",
        "all": True,
        "order": "smallest",
        "limits": {
            "max_vms": 20,
            "windows": [{"days": ["Sat", "Sun"], "from": "22:00", "to": "04:00", "time_zone": "Europe/Prague"}],
            "impacts_max": 100,
            "impacts_per_s": 3600,
            "vm_rest_s": 86400,
            "failed_max": 2,
        },
        "plan": True,
    },
]

OPERATION_ID = "8819f7a4-0f81-4d43-93ca-d8fa401a6c5a"
ROLLOUT_ID = "234f97dc-c544-482a-a66d-74f7bb00e7fc"
_WAVE_ID = "79b858cb-fb88-5327-b21f-6e70aa903316"
_BEGUN, _DUE, _OVER = "2026-11-16T13:36:52Z", "2026-11-16T13:51:53Z", "2026-11-16T13:52:23Z"
_SECOND, _SECOND_DUE, _END = "2026-11-16T13:57:23Z", "2026-11-16T14:12:24Z", "2026-11-16T14:12:54Z"
_SILENCE = f"the approval of any VM in scope shop, or {_DUE}, its common NotBefore"
_FIRST_STEP = "its wave, which begins now"

_BEGUN_OPERATION: Json = {
    "id": OPERATION_ID,
    "host": "rack-7",
    "rollout": "",
    "type": "Reboot",
    "status": "Running",
    "why": "",
    "made_at": _BEGUN,
    "made_by": "operator admin",
    "ended_at": None,
    "duration_s": -1,
    "description": "new firmware",
    "waves": [],
    "waiting": [{"scope": "shop", "vm": "web-0", "why": _FIRST_STEP}],
    "left": [],
    "waits_for": _FIRST_STEP,
}
HOST_MAINTENANCE: Json = {"operation": _BEGUN_OPERATION}
OPERATION: Json = {
    **_BEGUN_OPERATION,
    "waves": [
        {
            "number": 1,
            "not_before": _DUE,
            "gate": "shut",
            "events": [
                {
                    "event": "0EA23566-82B7-54EF-9FA2-72EB3EA362EE",
                    "scope": "shop",
                    "update_domain": 0,
                    "vms": ["web-0"],
                    "stage": "announced",
                    "ended": None,
                }
            ],
        }
    ],
    "waiting": [],
    "waits_for": _SILENCE,
}
OPERATIONS: Json = {"operations": [OPERATION]}
CANCELLED_OPERATION: Json = {
    **OPERATION,
    "status": "Cancelling",
    "why": "cancelled by operator admin",
    "waits_for": "its events to be withdrawn",
}

PLAN: Json = {
    "waves": [
        {
            "number": 1,
            "target": "rack-8",
            "visible": _BEGUN,
            "not_before": _DUE,
            "ends": _OVER,
            "vms": 1,
            "events": [
                {
                    "event": "4A20D7BE-3890-5AD1-96C2-A73EFCE1BF8E",
                    "scope": "shop",
                    "update_domain": 1,
                    "vms": ["web-1"],
                }
            ],
        },
        {
            "number": 2,
            "target": "rack-7",
            "visible": _SECOND,
            "not_before": _SECOND_DUE,
            "ends": _END,
            "vms": 1,
            "events": [
                {
                    "event": "DD3B4601-3273-5782-8F28-97E982D15C1B",
                    "scope": "shop",
                    "update_domain": 0,
                    "vms": ["web-0"],
                }
            ],
        },
    ],
    "ends": _END,
    "stuck": "",
}
PLANNED: Json = {"plan": PLAN}

_UNUSED: Json = {
    "hosts": {"used": 0, "max": 1},
    "scopes": {"used": 0, "max": None},
    "vms": {"used": 0, "max": None},
    "impacts": {"used": 0, "max": None},
}
_BEGUN_ROLLOUT: Json = {
    "id": ROLLOUT_ID,
    "type": "Reboot",
    "over": "hosts",
    "status": "Running",
    "why": "",
    "made_at": _BEGUN,
    "made_by": "operator admin",
    "ended_at": None,
    "duration_s": -1,
    "description": "Host server is undergoing maintenance.",
    "limits": {
        "max_hosts": 1,
        "max_scopes": None,
        "max_vms": None,
        "recovery_s": 300,
        "windows": [],
        "impacts_max": None,
        "impacts_per_s": 3600,
        "vm_rest_s": 0,
        "failed_max": 0,
    },
    "targets": 2,
    "waiting": ["rack-8", "rack-7"],
    "in_hand": [],
    "done": [],
    "touched": 0,
    "failed": 0,
    "skipped": 0,
    "budget": _UNUSED,
    "waits_for": "its next wave, which is due now",
}
BEGUN_ROLLOUT: Json = {"rollout": _BEGUN_ROLLOUT, "plan": PLAN}
ROLLOUT: Json = {
    **_BEGUN_ROLLOUT,
    "waiting": ["rack-7"],
    "in_hand": [
        {
            "name": "rack-8",
            "wave": 1,
            "operation": _WAVE_ID,
            "vms": 1,
            "waiting": 0,
            "touched": 0,
            "failed": 0,
            "skipped": 0,
            "waits_for": _SILENCE,
        }
    ],
    "budget": {
        **_UNUSED,
        "hosts": {"used": 1, "max": 1},
        "scopes": {"used": 1, "max": None},
        "vms": {"used": 1, "max": None},
    },
    "waits_for": f"rack-8: {_SILENCE}; rack-7: the budget: max_hosts 1",
}
ROLLOUTS: Json = {"rollouts": [ROLLOUT]}
PAUSED_ROLLOUT: Json = {
    **ROLLOUT,
    "status": "Paused",
    "why": "paused by operator admin",
    "waits_for": (
        f"`notbefore rollouts resume {ROLLOUT_ID}` or `notbefore rollouts cancel {ROLLOUT_ID}`: "
        f"paused by operator admin; meanwhile rack-8: {_SILENCE}"
    ),
}
