"""The control API as it is spoken (DESIGN §5): requests, answers as JSON, refusals as the classes they were.

Rule 1: one connection, kept open between requests and made anew when the server has closed it. Nothing is sent twice:
after a failure the caller decides.
Rule 2: the token is sent, never shown.
Rule 3: proxies are ignored and redirects not followed.
Not here: types of what comes back (shapes.py), where the server is (found.py). For one thread at a time.
"""

import http.client
import json
import select
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from notbefore.core.errors import REFUSALS, Refusal

DEFAULT_URL = "http://127.0.0.1:8255"
CONNECT_MAX_S = 5.0
ANSWER_MAX_S = 60.0
ANSWER_MAX_BYTES = 256 * 1024 * 1024
LINE_MAX_BYTES = 16 * 1024 * 1024

Json = dict[str, Any]
Query = Mapping[str, object]


class NoServer(Refusal):
    """Nobody answers, or somebody who is not a notbefore server."""

    code = "no_server"


class NoToken(Refusal):
    code = "no_token"


class StrangeAnswer(Refusal):
    """A notbefore server answered with something that this client does not understand."""

    code = "strange_answer"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whatever it means."""

    status: int
    body: bytes


class ControlApi:
    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self._server = _checked_url(url)
        self._token = checked_token(token, "The token given")
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Whoever drops it without closing leaves no open socket behind.
        if hasattr(self, "_connection"):
            self.close()

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def get(self, *path: str, query: Query | None = None, timeout_s: float = ANSWER_MAX_S) -> Json:
        return self._understood(self.exchange("GET", v1(*path), query, timeout_s=timeout_s))

    def post(self, *path: str, body: Json | None = None, timeout_s: float = ANSWER_MAX_S) -> Json:
        return self._understood(self.exchange("POST", v1(*path), body=body or {}, timeout_s=timeout_s))

    def put(self, *path: str, body: Json, query: Query | None = None) -> Json:
        return self._understood(self.exchange("PUT", v1(*path), query, body))

    def delete(self, *path: str, query: Query | None = None) -> Json:
        return self._understood(self.exchange("DELETE", v1(*path), query))

    def exchange(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: Json | None = None,
        timeout_s: float = ANSWER_MAX_S,
    ) -> Answer:
        """One request to any path of the server, and its answer as it is."""
        try:
            return self._exchanged(
                method, self._target(path, query), None if body is None else json.dumps(body).encode(), timeout_s
            )
        except (OSError, UnicodeError) as error:
            self.close()
            raise self._nobody_there(error) from None
        except http.client.HTTPException as error:
            self.close()
            # It went away in mid-answer, which is an OSError to some and an HTTPException to others.
            raise self._somebody_else() from error

    def lines(
        self, path: str, query: Query | None, headers: Mapping[str, str], silence_max_s: float
    ) -> Iterator[bytes]:
        """An answer that goes on, line by line as it comes, on a connection of its own, until the server ends it.

        A server that is gone, or silent for too long, is NoServer, in the midst of it too.
        """
        connection = self._made()
        try:
            connection.connect()
            connection.sock.settimeout(silence_max_s)
            connection.request("GET", self._target(path, query), None, {**self._who(), **headers})
            response = connection.getresponse()
            if response.status != http.client.OK:
                self._understood(Answer(response.status, response.read(ANSWER_MAX_BYTES)))
            while line := response.readline(LINE_MAX_BYTES):
                yield line
        except (OSError, UnicodeError) as error:
            raise self._nobody_there(error) from None
        except http.client.HTTPException as error:
            raise self._somebody_else() from error
        finally:
            connection.close()

    def _target(self, path: str, query: Query | None) -> str:
        target = self._server.path.rstrip("/") + path
        if query:
            target += "?" + urlencode({name: value for name, value in query.items() if value is not None}, doseq=True)
        return target

    def _who(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}

    def _made(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._server.scheme == "https" else http.client.HTTPConnection
        return kind(str(self._server.hostname), self._server.port, timeout=CONNECT_MAX_S)

    def _exchanged(self, method: str, target: str, body: bytes | None, timeout_s: float) -> Answer:
        headers = {**self._who(), "Content-Type": "application/json"}
        connection = self._open()
        connection.sock.settimeout(timeout_s)
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.read(ANSWER_MAX_BYTES))
        if response.will_close or not response.isclosed():
            self.close()
        return answer

    def _open(self) -> http.client.HTTPConnection:
        known = self._connection
        if known and known.sock and not select.select([known.sock], [], [], 0)[0]:
            return known
        # Between two requests only an end can have come.
        self.close()
        self._connection = self._made()
        self._connection.connect()
        return self._connection

    def _understood(self, answer: Answer) -> Json:
        if answer.status == http.client.NO_CONTENT:
            return {}
        try:
            document = json.loads(answer.body)
            if http.client.OK <= answer.status < http.client.MULTIPLE_CHOICES:
                return dict(document)
            refusal = _refusal(document["error"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._somebody_else() from None
        raise refusal

    def _nobody_there(self, error: Exception) -> NoServer:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        return NoServer(
            f"No notbefore server answers at {self.url} ({reason}). "
            "Start one with `notbefore serve --demo`, or set NOTBEFORE_URL."
        )

    def _somebody_else(self) -> NoServer:
        return NoServer(
            f"What answers at {self.url} is not the control API of notbefore.",
            "Set NOTBEFORE_URL to the control address that `notbefore serve` prints.",
        )


def v1(*path: str) -> str:
    """A path under /v1; names are percent-encoded."""
    return "".join(f"/{quote(part, safe='')}" for part in ("v1", *path))


def checked_token(text: str, where: str) -> str:
    """Checked here because http.client would show a wrong header, and with it the token, in its error."""
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable():
        raise NoToken(f"{where} does not hold one line with a token.", "`notbefore serve` says where its token is.")
    return token


def _checked_url(url: str) -> SplitResult:
    try:
        server = urlsplit(url)
        usable = server.scheme in ("http", "https") and server.hostname and server.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise NoServer(f"NOTBEFORE_URL is {url!r}, which is no address of a server.", f"Write it as {DEFAULT_URL}.")
    return server


def _refusal(error: Mapping[str, Any]) -> Refusal:
    """The server's refusal again. Classes with a message of their own are made without writing it anew."""
    kind = REFUSALS.get(str(error["code"]), Refusal)
    refusal = kind.__new__(kind)
    Refusal.__init__(refusal, str(error["message"]), str(error.get("hint") or ""), error.get("facts"))
    return refusal
