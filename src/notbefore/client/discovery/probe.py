"""Is the service there? Only a document of events says so."""

from notbefore.client.blocking import carried_out
from notbefore.client.clock import SystemClock
from notbefore.client.conversation import Conversation
from notbefore.client.endpoint import EndpointError, checked_endpoint
from notbefore.client.retries import Patience
from notbefore.client.transport import Lines

# The first answer may take two minutes wherever the service is; a connection to it never does.
PATIENCE = Patience(connect_s=3.0, attempts=2)


def reason_against(url: str, api_version: str, source_address: str | None) -> str | None:
    """Why this is not the service, or None when it is."""
    endpoint = checked_endpoint(url, source_address)
    clock = SystemClock()
    lines = Lines(endpoint, clock, PATIENCE.connect_s)
    try:
        plan = Conversation(endpoint, api_version, PATIENCE).document(clock.steady_s())
        document = carried_out(plan, lines, clock)
    except EndpointError as error:
        return error.message
    finally:
        lines.close()
    return None if document.raw.strip() else f"{url} answered with nothing, which may be anybody's answer."
