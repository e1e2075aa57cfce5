"""One real refusal of each code, for the OpenAPI document: what a program that handles it will see.

Rule 1: as examples.py: a test asks for those that can be asked for, and finds these, but for ids and times.
"""

from collections.abc import Mapping
from typing import Any

from notbefore.control.examples import EVENT_ID

_DOCS = "GET /docs shows what each request takes."

# Code to message, hint and facts.
REFUSALS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "invalid": ("Unknown field 'kinds'.", _DOCS, {"field": "kinds"}),
    "unauthorized": (
        "The control API needs a valid token.",
        "Send `Authorization: Bearer …`; the admin token is in admin.token of the server's state directory.",
        {},
    ),
    "forbidden": (
        "This needs a token with role admin; 'ci' is a token for operators.",
        "Ask an admin for one: `notbefore token create NAME --role admin`.",
        {"needed": "admin", "role": "operator"},
    ),
    "too_many_attempts": (
        "Too many wrong tokens were sent from this address or to this server.",
        "Wait a few seconds, then send the right one.",
        {"retry_after_s": 2},
    ),
    "unknown_scope": (
        "There is no scope 'nope'.",
        "`notbefore scopes` lists those there are.",
        {"scope": "nope"},
    ),
    "unknown_vm": (
        "Scope 'shop' has no VM 'nope'.",
        "`notbefore vms --scope shop` lists those it has.",
        {"scope": "shop", "vm": "nope"},
    ),
    "unknown_event": (
        "No current event has the id 'nope'.",
        "`notbefore events` lists the current ones, `notbefore history` the rest.",
        {"event": "nope"},
    ),
    "unknown_host": (
        "There is no host 'nope': it is not declared, and no VM is on it.",
        "`notbefore hosts` lists those there are.",
        {"host": "nope"},
    ),
    "unknown_operation": (
        "There is no operation 'nope'.",
        "`notbefore operations` lists those there are.",
        {"operation": "nope"},
    ),
    "unknown_rollout": (
        "There is no rollout 'nope'.",
        "`notbefore rollouts` lists those there are.",
        {"rollout": "nope"},
    ),
    "unknown_token": ("There is no token 'nope'.", "`notbefore token list` lists those there are.", {"token": "nope"}),
    "unknown_fault": ("There is no fault 'nope'.", "`notbefore fault list` lists those there are.", {"fault": "nope"}),
    "not_allowed": (
        "There is a token 'ci' already.",
        "Revoke it first, or choose another name.",
        {"token": "ci"},
    ),
    "wrong_status": (
        f"Event {EVENT_ID} is Started, so it cannot be cancelled.",
        "`notbefore events` shows where each event stands.",
        {"event": EVENT_ID, "status": "Started"},
    ),
    "already_scheduled": (
        f"web-0 already has a Reboot Scheduled: event {EVENT_ID}.",
        f"`notbefore approve {EVENT_ID}` lets it start; `notbefore cancel {EVENT_ID}` withdraws it.",
        {"scope": "shop", "vm": "web-0", "event": EVENT_ID},
    ),
    "limit_reached": (
        "Scope 'shop' has 10 user operations scheduled, and at most 10 may be.",
        "Approve or cancel one, wait for one to start, or set user_operations_max.",
        {"scope": "shop", "limit": 10, "scheduled": 10},
    ),
    "too_early": (
        "A Reboot in scope 'shop' may not start before 2026-11-16T11:48:04Z: it gets 900 s of notice.",
        "Ask for that time or a later one, or for none.",
        {"earliest": "2026-11-16T11:48:04Z", "asked": "2020-01-01T00:00:00Z"},
    ),
    "live_event": (
        f"Scope 'shop' cannot be removed: it has a live event: {EVENT_ID} (Reboot, Scheduled).",
        f"`notbefore cancel {EVENT_ID}`, or wait for its end; or force it.",
        {"scope": "shop", "event": EVENT_ID},
    ),
    "vm_deallocated": (
        "web-1 is deallocated: there is nothing left to act on.",
        "Declare it with state = running once it is back.",
        {"scope": "shop", "vm": "web-1"},
    ),
    "not_spot": (
        "web-0 is not a spot VM, and only those are evicted.",
        (
            "Declare it with spot = true in scope 'shop' (`notbefore apply`, or PUT /v1/scopes/SCOPE), "
            "or `notbefore terminate` it."
        ),
        {"scope": "shop", "vm": "web-0"},
    ),
    "host_in_use": (
        "Host 'rack-7' cannot be removed: 1 VM is on it: shop/web-0.",
        "Declare them on another host first, or remove them.",
        {"host": "rack-7", "vms": ["shop/web-0"]},
    ),
    "address_taken": (
        "Address 10.0.0.4 of a belongs to a VM of scope 'shop' already.",
        "Give each VM its own address.",
        {"address": "10.0.0.4", "vm": "a", "scope": "shop", "owner": "web-0"},
    ),
    "scope_too_large": (
        "Scope 'shop' would take 601218 bytes, and at most 524288 may be stored.",
        "Split it into smaller scopes, or shorten its tags and descriptions.",
        {"scope": "shop", "bytes": 601218, "limit": 524288},
    ),
    "body_too_large": ("The body may have at most 1048576 bytes.", "", {}),
    "internal": ("Something went wrong inside notbefore; the log says what.", "", {}),
    "store_unavailable": (
        "The disk of /var/lib/notbefore/notbefore.db is full.",
        "Free some space; the next request tries again.",
        {"path": "/var/lib/notbefore/notbefore.db"},
    ),
    "too_many_streams": (
        "64 streams are open, and no more may be.",
        "Close one, or ask /v1/history?after= now and then.",
        {"limit": 64},
    ),
}
