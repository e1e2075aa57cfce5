"""One way to one receiver over HTTP: straight there, or by the proxy that the environment names when that is asked for.

Rule 1: redirects are not followed; of an answer only its head counts.
Rule 2: no sentence quotes the address or a header: both may hold secrets.
"""

import http.client
import socket
import ssl
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from notbefore.agent.steps.attempt import Trouble
from notbefore.agent.steps.trust import tls_context

ANSWER_READ_MAX_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    retry_after: str


class HttpLine:
    """For one question. `break_off` ends it from another thread."""

    def __init__(self, url: str, timeout_s: float, ca_file: Path | None, proxy: str = "") -> None:
        parts = urlsplit(url)
        self._headers: dict[str, str] = {}
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        is_tls = parts.scheme == "https"
        self._http = connection(urlsplit(proxy) if proxy else parts, timeout_s, ca_file if is_tls else None, tls=is_tls)
        if proxy and is_tls:
            self._http.set_tunnel(parts.hostname or "", parts.port, proxy_headers(proxy))
        elif proxy:
            self._target = url
            self._headers = proxy_headers(proxy)

    def posted(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        try:
            self._http.request("POST", self._target, body, {**headers, **self._headers})
            response = self._http.getresponse()
            response.read(ANSWER_READ_MAX_BYTES)
            return Answer(response.status, response.getheader("Retry-After", ""))
        finally:
            self._http.close()

    def break_off(self) -> None:
        held = self._http.sock
        if held is not None:
            with suppress(OSError):
                # Past TLS, whose own way of closing is not for two threads at once.
                socket.socket.shutdown(held, socket.SHUT_RDWR)


def connection(to: SplitResult, timeout_s: float, ca_file: Path | None, *, tls: bool) -> http.client.HTTPConnection:
    """`tls` is with whom it is in the end, perhaps through a tunnel."""
    host, port = to.hostname or "", to.port or (443 if to.scheme == "https" else 80)
    if not tls:
        return http.client.HTTPConnection(host, port, timeout=timeout_s)
    return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=tls_context(ca_file))


def proxy_for(url: str) -> str:
    """What the environment says, `no_proxy` included; "" when it says nothing."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415  a large module, and few have a proxy

    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return ""
    named = getproxies().get(parts.scheme, "")
    if "://" in named and not named.lower().startswith("http://"):
        raise Trouble("the proxy that the environment names is no http proxy")
    return named if not named or "://" in named else f"http://{named}"


def proxy_headers(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    who = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(who.encode()).decode()}"}


def is_lasting(error: Exception) -> bool:
    """Another try would not help."""
    return isinstance(error, ssl.SSLCertVerificationError)


def reason_of(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not good: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
