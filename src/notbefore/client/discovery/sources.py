"""The places that may know the endpoint's address, in the order in which they are asked."""

import os
from pathlib import Path

from notbefore.client.clock import SystemClock
from notbefore.client.discovery import dhcp_request, isc_leases, network_manager, networkd, windows_registry
from notbefore.client.discovery.source import Source
from notbefore.client.endpoint import LINK_LOCAL


def usual_sources(where: str | os.PathLike[str], *, active: bool) -> list[Source]:
    root = Path(where)
    now_s = SystemClock().wall_s()
    sources = [
        Source("the usual address", lambda: [LINK_LOCAL]),
        Source("dhclient's leases", lambda: isc_leases.addresses(root, now_s)),
        Source("systemd-networkd's leases", lambda: networkd.addresses(root)),
        Source("NetworkManager", lambda: network_manager.addresses(root, now_s)),
        Source("the Windows registry", lambda: windows_registry.addresses(now_s)),
    ]
    if active:
        sources.append(Source("a DHCP request", dhcp_request.addresses))
    return sources
