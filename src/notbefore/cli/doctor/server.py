"""The server: whether it answers, is ready, is of this version, takes the token, and knows what time it is."""

import json
from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from notbefore import __version__
from notbefore.cli.doctor.finding import Finding, fail, ok, warn
from notbefore.cli.doctor.machine import control_port_owner
from notbefore.control_client import ControlApi, ControlClient, Json, NoServer
from notbefore.control_client.control_api import DEFAULT_URL
from notbefore.core.errors import Refusal
from notbefore.core.times import SECOND_MS

APART_WARN_S = 5
APART_FAIL_S = 60
READY = 200
# A question to a path that needs no token is asked without one that means anything.
NOBODY = "none"


def reach_findings(url: str) -> list[Finding]:
    """What can be asked without a token."""
    if is_link_local(url):
        says = (
            f"NOTBEFORE_URL is {url}, a link-local address, where VMs ask; the control API is never there. Not asked."
        )
        return [fail("server", says, f"Set NOTBEFORE_URL, such as {DEFAULT_URL}.")]
    try:
        with ControlApi(url, NOBODY) as api:
            if _json(api, "/healthz").get("status") == "ok":
                return [ok("server", f"It answers at {url}."), version_finding(api), readiness_finding(api)]
    except NoServer as away:
        return [fail("server", f"{away.message}{control_port_owner(url)}", away.hint or "Start the server.")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    says = f"What answers at {url} is not the control API of notbefore.{control_port_owner(url)}"
    return [fail("server", says, "Set NOTBEFORE_URL to the control address that `notbefore serve` prints.")]


def is_link_local(url: str) -> bool:
    try:
        return ip_address(str(urlsplit(url).hostname)).is_link_local
    except ValueError:
        return False


def _json(api: ControlApi, path: str) -> Json:
    return dict(json.loads(api.exchange("GET", path).body))


def version_finding(api: ControlApi) -> Finding:
    theirs = str(_json(api, "/openapi.json")["info"]["version"])
    if theirs == __version__:
        return ok("version", f"Server and command line are both {theirs}.")
    return warn("version", f"The server is {theirs}, this command line {__version__}.", "Install the same on both.")


def readiness_finding(api: ControlApi) -> Finding:
    answer = api.exchange("GET", "/readyz")
    status = str(json.loads(answer.body).get("status"))
    if answer.status == READY:
        return ok("ready", "Every listener is bound and what is stored is loaded.")
    if status == "store away":
        says = "The store cannot be read or written: documents are served from memory, and nothing can be promised."
        return fail("ready", says, "The server's log says why; `notbefore store check` looks at the file.")
    return fail("ready", f"The server is not ready: {status}.", "Wait a moment; else its log says what it waits for.")


def token_findings(client: ControlClient) -> Iterator[Finding]:
    """Whether the token is taken, and for what. Only asking tells: a refusal names the role that was not enough."""
    try:
        client.raw.get("tokens")
        yield ok("token", "It is valid, with role admin.")
    except Refusal as refusal:
        role = refusal.facts.get("role")
        scopes = refusal.facts.get("scopes")
        if refusal.code == "forbidden" and role:
            yield ok("token", f"It is valid, with role {role}.")
        elif refusal.code == "forbidden" and isinstance(scopes, list):
            yield ok("token", f"It is valid, with role admin, limited to {', '.join(map(str, scopes))}.")
        else:
            yield fail("token", refusal.message, refusal.hint or "Set NOTBEFORE_TOKEN.")


def clock_finding(client: ControlClient, local_ms: int) -> Finding:
    clock = client.clock()
    if clock.kind != "real":
        return ok("clock", "The server's clock is turned by hand.")
    apart_s = round(abs(clock.now.timestamp() - local_ms / SECOND_MS))
    if apart_s <= APART_WARN_S:
        return ok("clock", "The server's clock and this machine's agree.")
    says = f"The server's clock and this machine's are {apart_s} seconds apart."
    do = "Let both follow a time server; notice is counted by the server's."
    return fail("clock", says, do) if apart_s > APART_FAIL_S else warn("clock", says, do)
