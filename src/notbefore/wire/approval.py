"""The body of an approval: `{"StartRequests":[{"EventId":"…"}, …]}` (SPEC §2.4).

Rule 1: parsed as JSON whatever the Content-Type says; a DocumentIncarnation beside it is accepted and ignored.
Rule 2: what is wrong is said in one sentence, as a ValueError.
"""

import json
from collections.abc import Iterable

START_REQUESTS_MAX = 100


def parse_start_requests(body: bytes) -> tuple[str, ...]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError('The body is not JSON; expected {"StartRequests":[{"EventId":"..."}]}') from None
    if not isinstance(document, dict) or "StartRequests" not in document:
        raise ValueError('StartRequests is missing; expected {"StartRequests":[{"EventId":"..."}]}')
    requests = document["StartRequests"]
    if not isinstance(requests, list) or not requests:
        raise ValueError("StartRequests must be a list with at least one EventId")
    if len(requests) > START_REQUESTS_MAX:
        raise ValueError(f"StartRequests has {len(requests)} entries; at most {START_REQUESTS_MAX} are allowed")
    return tuple(_event_id(request) for request in requests)


def render_start_requests(event_ids: Iterable[str]) -> bytes:
    return json.dumps({"StartRequests": [{"EventId": event_id} for event_id in event_ids]}).encode()


def _event_id(request: object) -> str:
    if isinstance(request, dict) and isinstance(event_id := request.get("EventId"), str):
        return event_id
    raise ValueError('Each entry of StartRequests must be an object with a string "EventId"')
