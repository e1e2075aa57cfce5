"""Where the service is, checked; and the one error of the client, with a sentence.

Rule 1: the service is plain HTTP on an address of the VM's own link: no other scheme, no credentials.
"""

import logging
from dataclasses import dataclass

from notbefore.core.errors import Refusal

LINK_LOCAL = "169.254.169.254"
DEFAULT_ENDPOINT = f"http://{LINK_LOCAL}"
HTTP_PORT = 80

log = logging.getLogger("notbefore.client")
log.addHandler(logging.NullHandler())


class EndpointError(Refusal):
    """The endpoint could not be asked, or refused; the message says which and why."""

    code = "endpoint"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`http://host:port/prefix`, taken apart. `source`: which of the VM's addresses to ask from."""

    url: str
    host: str
    port: int
    prefix: str
    source: str | None = None

    def target(self, path: str, api_version: str) -> str:
        """What a request for this path in this version says behind its method."""
        from urllib.parse import urlencode  # noqa: PLC0415  it comes with HTTP, when there is somebody to ask

        return f"{self.prefix}{path}?{urlencode({'api-version': api_version})}"


def checked_endpoint(url: str, source: str | None = None) -> Endpoint:
    from urllib.parse import urlsplit  # noqa: PLC0415  it comes with HTTP, when there is somebody to ask

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, 0
    if not host or port == 0 or parts.scheme != "http":
        raise EndpointError(f"{url!r} is not an endpoint.", f"Write http://ADDRESS:PORT, or {DEFAULT_ENDPOINT}.")
    if "@" in parts.netloc:
        # Not said back: what is said is logged.
        raise EndpointError(f"The endpoint at {host} is given with a user or a password.", "The service asks for none.")
    return Endpoint(url, host, port or HTTP_PORT, parts.path.rstrip("/"), source)
