"""The control API as the CLI speaks it (DESIGN §5): where the server is, the token, requests and refusals.

Rule 1: NOTBEFORE_URL and NOTBEFORE_TOKEN say where and who; else the local server and its state directory.
Rule 2: the token is sent, never shown.
Rule 3: an error of the server comes back as the refusal it raised, the same class.
Rule 4: proxies are ignored and redirects not followed.
"""

import http.client
import json
import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from notbefore.core.errors import REFUSALS, Refusal
from notbefore.state_dir import TOKEN_FILE, default_state_dir

DEFAULT_URL = "http://127.0.0.1:8255"
CONNECT_MAX_S = 5.0
ANSWER_MAX_S = 60.0
ANSWER_MAX_BYTES = 256 * 1024 * 1024

Json = dict[str, Any]
Query = Mapping[str, object]


class NoServer(Refusal):
    """Nobody answers, or somebody who is not a notbefore server."""

    code = "no_server"


class NoToken(Refusal):
    code = "no_token"


class ControlApi:
    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._server = _checked_url(url)
        self._token = token

    def get(self, *path: str, query: Query | None = None) -> Json:
        return self._answer("GET", path, query)

    def post(self, *path: str, body: Json | None = None, timeout_s: float = ANSWER_MAX_S) -> Json:
        return self._answer("POST", path, body=body or {}, timeout_s=timeout_s)

    def put(self, *path: str, body: Json, query: Query | None = None) -> Json:
        return self._answer("PUT", path, query, body)

    def _answer(
        self,
        method: str,
        path: tuple[str, ...],
        query: Query | None = None,
        body: Json | None = None,
        timeout_s: float = ANSWER_MAX_S,
    ) -> Json:
        target = self._server.path.rstrip("/") + "".join(f"/{quote(part, safe='')}" for part in ("v1", *path))
        if query:
            target += "?" + urlencode({name: value for name, value in query.items() if value is not None}, doseq=True)
        try:
            status, answer = self._exchange(method, target, None if body is None else json.dumps(body), timeout_s)
        except (OSError, UnicodeError) as error:
            raise self._nobody_there(error) from None
        except http.client.HTTPException:
            raise self._somebody_else() from None
        return self._understood(status, answer)

    def _exchange(self, method: str, target: str, body: str | None, timeout_s: float) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._server.scheme == "https" else http.client.HTTPConnection
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        with closing(kind(str(self._server.hostname), self._server.port, timeout=CONNECT_MAX_S)) as connection:
            connection.connect()
            connection.sock.settimeout(timeout_s)
            connection.request(method, target, body and body.encode(), headers)
            response = connection.getresponse()
            return response.status, response.read(ANSWER_MAX_BYTES)

    def _understood(self, status: int, answer: bytes) -> Json:
        try:
            document = json.loads(answer)
            if http.client.OK <= status < http.client.MULTIPLE_CHOICES:
                return dict(document)
            refusal = _refusal(document["error"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._somebody_else() from None
        raise refusal

    def _nobody_there(self, error: Exception) -> NoServer:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        return NoServer(
            f"No notbefore server answers at {self._url} ({reason}). "
            "Start one with `notbefore serve --demo`, or set NOTBEFORE_URL."
        )

    def _somebody_else(self) -> NoServer:
        return NoServer(
            f"What answers at {self._url} is not the control API of notbefore.",
            "Set NOTBEFORE_URL to the control address that `notbefore serve` prints.",
        )


def connect(env: Mapping[str, str] = os.environ) -> ControlApi:
    """The server that the environment names."""
    given = env.get("NOTBEFORE_TOKEN")
    token = _checked_token(given, "NOTBEFORE_TOKEN") if given else _token_in(state_dir(env))
    return ControlApi(env.get("NOTBEFORE_URL") or DEFAULT_URL, token)


def state_dir(env: Mapping[str, str]) -> Path:
    if state := env.get("NOTBEFORE_STATE"):
        return Path(state).expanduser()
    return default_state_dir(env)


def _token_in(state: Path) -> str:
    file = state / TOKEN_FILE
    try:
        return _checked_token(file.read_text(errors="replace"), str(file))
    except FileNotFoundError:
        raise NoToken(
            f"There is no token at {file}.",
            "`notbefore serve` makes it at its first start. For a server elsewhere set NOTBEFORE_TOKEN, "
            "or NOTBEFORE_STATE to its state directory.",
        ) from None
    except OSError as error:
        raise NoToken(f"Cannot read the token in {file}: {error.strerror}.", "Set NOTBEFORE_TOKEN instead.") from None


def _checked_token(text: str, where: str) -> str:
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
