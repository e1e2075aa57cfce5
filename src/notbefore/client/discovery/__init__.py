"""Where is the service? `discover_endpoint()` (REFERENCE §7).

Rule 1: the usual address first; then what the machine's DHCP client was told in option 245; at last a DHCP request.
Rule 2: a candidate counts only when it answers with a document of events: JSON with `Events`.
Rule 3: every try is logged with what came of it; nothing on the machine is changed.
"""

import os
from collections.abc import Iterable, Iterator

from notbefore.client.discovery.source import Source
from notbefore.client.endpoint import HTTP_PORT, LINK_LOCAL, EndpointError, log
from notbefore.wire.api_versions import NEWEST

# Two of the first samples disagree about the port behind option 245 [real].
PORTS = (HTTP_PORT, 8080)
CANDIDATES_MAX = 32


def discover_endpoint(
    api_version: str = NEWEST,
    *,
    source_address: str | None = None,
    active: bool = True,
    root: str | os.PathLike[str] = "/",
    sources: Iterable[Source] | None = None,
) -> str:
    """The URL of the endpoint; an EndpointError when none is found.

    `active`: whether a DHCP request may be sent at last. `root`: where the machine's files are.
    """
    from notbefore.client.discovery.probe import reason_against  # noqa: PLC0415  most programs never discover

    if sources is None:
        from notbefore.client.discovery.sources import usual_sources  # noqa: PLC0415  likewise

        sources = usual_sources(root, active=active)
    tried = 0
    for name, url in _candidates(sources):
        reason = reason_against(url, api_version, source_address)
        if reason is None:
            log.info("%s: %s is the endpoint", name, url)
            return url
        log.info("%s: %s is not: %s", name, url, reason)
        tried += 1
        if tried == CANDIDATES_MAX:
            break
    raise EndpointError(
        f"No endpoint was found among the {tried} tried.",
        "`notbefore ask --discover -v` shows each. Is this a VM, and is its service running?",
    )


def _candidates(sources: Iterable[Source]) -> Iterator[tuple[str, str]]:
    known: set[str] = set()
    for source in sources:
        found = 0
        for address in source.addresses():
            found += 1
            if address not in known:
                known.add(address)
                yield from ((source.name, url) for url in _urls(address))
        if not found:
            log.info("%s: no address", source.name)


def _urls(address: str) -> list[str]:
    if address == LINK_LOCAL:
        return [f"http://{address}"]
    return [f"http://{address}" if port == HTTP_PORT else f"http://{address}:{port}" for port in PORTS]
