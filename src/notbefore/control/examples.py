"""Examples for the OpenAPI document: bodies people send, and what a real server answered to them.

Rule 1: nothing is made up. A test tells the same story to a server and finds these answers, but for ids and times.
The story: a shop of two VMs is declared, one is restarted and approved, its rack is declared, the other's rack fails.
"""

import json
from typing import Any

Json = dict[str, Any]

EVENT_ID = "903635DB-80AE-5F90-AD02-AAEB27A9E070"
_NOTICED, _DUE, _OVER = "2026-11-16T11:33:04Z", "2026-11-16T11:48:04Z", "2026-11-16T11:33:34Z"

SCOPE_BODY: Json = {
    "kind": "availability-set",
    "settings": {"listening": "always", "approval": {"default": "any", "Terminate": "all"}},
    "vms": [
        {"name": "web-0", "host": "rack-7", "addresses": ["10.0.0.4"], "tags": {"tier": "front"}},
        {"name": "web-1", "update_domain": 1, "host": "rack-8", "spot": True},
    ],
}
OPERATION_BODY: Json = {"description": "kernel update"}
MAINTENANCE_BODY: Json = {"type": "Freeze", "update_domains": [0, 1], "duration_s": 10}
HOST_BODY: Json = {"executor": "simulate"}
CLOCK_BODIES: list[Json] = [{"to_next": True}, {"advance_s": 900}, {"rate": 60}, {"paused": True}]
TOKEN_BODY: Json = {"name": "ci", "role": "operator", "scopes": ["shop"], "expires_in_s": 86400}

_WEB_0: Json = {
    "name": "web-0",
    "update_domain": 0,
    "fault_domain": None,
    "host": "rack-7",
    "addresses": ["10.0.0.4"],
    "tags": {"tier": "front"},
    "spot": False,
    "state": "running",
    "last_asked": None,
}
_WEB_1: Json = {
    **_WEB_0,
    "name": "web-1",
    "update_domain": 1,
    "host": "rack-8",
    "addresses": [],
    "tags": {},
    "spot": True,
}
SCOPE: Json = {
    "name": "shop",
    "kind": "availability-set",
    "incarnation": 1,
    "listens": True,
    "last_asked": None,
    "settings": {
        "listening": "always",
        "approval": {"default": "any", "Terminate": "all"},
        "auto_approve": [],
        "notice_s": {"Freeze": 900, "Reboot": 900, "Redeploy": 600, "Preempt": 30, "Terminate": 300},
        "user_events": True,
        "user_operations_max": 10,
        "recovery_s": 0,
        "legacy_underscore": False,
        "eviction": "deallocate",
    },
    "vms": [_WEB_0, _WEB_1],
}
SCOPES: Json = {"scopes": [SCOPE]}

EVENT: Json = {
    "id": EVENT_ID,
    "scope": "shop",
    "type": "Reboot",
    "status": "Scheduled",
    "source": "User",
    "vms": ["web-0"],
    "update_domain": 0,
    "not_before": _DUE,
    "visible_since": _NOTICED,
    "started_at": None,
    "ended_at": None,
    "description": "kernel update",
    "duration_s": -1,
    "approvals": [],
    "outcomes": [],
    "made_by": "operator admin",
    "waiting_for": f"the approval of any VM of scope shop, or {_DUE}",
    "incarnation": 2,
    "operation": None,
    "released_at": None,
}
EVENTS: Json = {"events": [EVENT]}
EXPLANATION: Json = {
    "event": EVENT,
    "explanation": (
        f"Reboot {EVENT_ID} of web-0 in scope shop is Scheduled. It waits for the approval of any VM of scope shop, "
        f"or {_DUE}. Under policy any the word of any VM of the scope releases it for all of its VMs. "
        "No VM of the scope has asked for its events within 24 hours. Silence stops nothing: its deadline starts it. "
        f"What would release it: in any VM of scope shop: `notbefore ask --approve {EVENT_ID}`; "
        f"or `notbefore approve {EVENT_ID}`, an operator's word; or the clock: at {_DUE} it starts by itself."
    ),
    "waiting_for": f"the approval of any VM of scope shop, or {_DUE}",
    "rule": "policy any",
    "waits_on": ["web-0", "web-1"],
    "until": _DUE,
    "released_by": [
        f"in any VM of scope shop: `notbefore ask --approve {EVENT_ID}`",
        f"`notbefore approve {EVENT_ID}`, an operator's word",
        f"the clock: at {_DUE} it starts by itself",
    ],
}
APPROVED: Json = {
    **EVENT,
    "status": "Started",
    "started_at": _NOTICED,
    "approvals": [{"vm": None, "by": "operator admin", "at": _NOTICED}],
    "waiting_for": "the impact on web-0 to be over",
    "incarnation": 3,
}
_DONE: Json = {
    **APPROVED,
    "outcomes": [{"vm": "web-0", "at": _OVER, "done": True, "evidence": "simulated Reboot took 30 s"}],
    "waiting_for": "",
    "incarnation": 4,
}
RECORD: Json = {
    "revision": 4,
    "at": _OVER,
    "scope": "shop",
    "incarnation": 4,
    "request_id": "704964d6-134a-4eb1-b3d6-0e1bedf9039b",
    "changes": [
        {
            "what": "impact done",
            "why": "web-0: simulated Reboot took 30 s",
            "by": "executor simulate",
            "event": _DONE,
        },
        {
            "what": "completed",
            "why": "the impact is over on every VM",
            "by": "executor simulate",
            "event": {**_DONE, "status": "Completed", "ended_at": _OVER},
        },
    ],
}
CLOCK: Json = {"kind": "manual", "now": _NOTICED, "rate": 1, "paused": True, "next_due": _DUE}
TURNED_CLOCK: Json = {**CLOCK, "now": _OVER, "next_due": None, "happened": [RECORD]}
HISTORY: Json = {"history": [RECORD], "next": 4, "more": True, "retired_through": 0}

_FREEZE: Json = {
    **EVENT,
    "id": "86943406-6361-5F53-AD19-FD55F2300728",
    "type": "Freeze",
    "source": "Platform",
    "description": "Host server is undergoing maintenance.",
    "duration_s": 10,
    "incarnation": 5,
}
MAINTAINED: Json = {
    "events": [_FREEZE],
    "queued": [
        {
            **_FREEZE,
            "id": "D65586C6-DD8D-5B27-B44B-D856FBFC2AF4",
            "status": "Queued",
            "vms": ["web-1"],
            "update_domain": 1,
            "not_before": None,
            "visible_since": None,
            "waiting_for": f"its turn: update domain 0 is having its own ({_FREEZE['id']})",
        }
    ],
}
HOST: Json = {"name": "rack-7", "executor": "simulate", "declared": True, "vms": {"shop": 1}}
HOSTS: Json = {"hosts": [HOST, {"name": "rack-8", "executor": "simulate", "declared": False, "vms": {"shop": 1}}]}
HOST_FAILURE: Json = {
    "events": [
        {
            **EVENT,
            "id": "BDD9133A-AC6A-560D-B715-D204FA0FF1B3",
            "status": "Started",
            "source": "Platform",
            "vms": ["web-1"],
            "update_domain": 1,
            "not_before": None,
            "started_at": _NOTICED,
            "description": "Virtual machine has encountered a failure.",
            "waiting_for": "the impact on web-1 to be over",
            "incarnation": 6,
        }
    ],
    "not_done": [],
}
TOKEN: Json = {
    "name": "ci",
    "role": "operator",
    "scopes": ["shop"],
    "created_at": "2026-11-16T11:33:03Z",
    "created_by": "admin",
    "expires_at": "2026-11-17T11:33:03Z",
    "expired": False,
}
NEW_TOKEN: Json = {**TOKEN, "secret": "nbt_SHOWN-ONCE-AND-NEVER-AGAIN-8KY_CQGcn5M86Em"}
TOKENS: Json = {"tokens": [TOKEN]}

FAULT_BODY: Json = {"kind": "500", "vms": ["web-0"], "times": 3, "on": "post"}
FAULT: Json = {
    "id": "f1",
    "kind": "500",
    "vms": ["shop/web-0"],
    "times": 3,
    "probability": 1.0,
    "seed": None,
    "on": "post",
    "delay_s": None,
    "after_s": None,
    "notice_s": None,
    "duration_s": None,
    "struck": 0,
    "spent": False,
}
FAULTS: Json = {"faults": [FAULT]}
CLEARED_FAULTS: Json = {"cleared": 1}

STREAM = f"retry: 1000\nid: 4\n\nid: 5\nevent: history\ndata: {json.dumps(RECORD, separators=(',', ':'))}\n\n"
METRICS = '# TYPE notbefore_events gauge\nnotbefore_events{status="Scheduled",type="Reboot"} 1.0\n'
