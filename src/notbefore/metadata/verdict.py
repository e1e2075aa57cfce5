"""What a request asks for, judged from its head alone (SPEC §2.1).

Rule 1: pure, and the same for every VM: a verdict depends on the bytes of the request and the settings,
never on the caller. That is what lets a memo stand before it.
Rule 2: the first broken rule answers, in the table's order: header, X-Forwarded-For, path, method, query.
Not here: HTTP syntax (protocol.py), caller (identity.py), rate and body (service.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, unquote

from notbefore.metadata.answers import JSON_TYPE, HttpAnswer, error
from notbefore.metadata.preferences import wait_preferred_s
from notbefore.wire.api_versions import API_VERSIONS, NEWEST_THREE, PATH, ApiVersion
from notbefore.wire.instance_versions import INSTANCE_NEWEST_THREE, INSTANCE_PATH, INSTANCE_VERSIONS, VERSIONS_PATH

# What of a head a verdict depends on, and how long that may be to be kept.
JUDGED_HEADERS = frozenset((b"metadata", b"x-forwarded-for", b"if-none-match", b"prefer", b"content-type"))
KEPT_MAX_BYTES = 1024
# "", "metadata" and what is asked for.
ROUTE_SEGMENTS = 3

# The real service's bytes, the odd ": . " and the inner spaces included [real].
HEADER_MISSING = HttpAnswer(400, (JSON_TYPE,), b'{ "error": "Bad request: . Required metadata header not specified" }')
FORWARDED = error(400, "Bad request. X-Forwarded-For is not allowed: ask from the VM itself")
NOT_FOUND = error(404, f"Not found. This service answers {PATH}, {INSTANCE_PATH} and {VERSIONS_PATH}")
WRONG_METHOD = error(
    405, "Method not allowed. Use GET to read the events, POST to approve them", (b"allow", b"GET, POST")
)
READ_ONLY = error(405, "Method not allowed. Use GET: this can only be read", (b"allow", b"GET"))
REPEATED = error(400, "Bad request. A query parameter is given more than once")


def _version_refused(note: str = "", newest_three: Sequence[str] = NEWEST_THREE) -> HttpAnswer:
    newest = ",".join(f'"{version}"' for version in newest_three)
    sentence = (
        f"Bad request{note}. api-version is invalid or was not specified in the request."
        " For more information refer to aka.ms/azureimds"
    )
    return HttpAnswer(400, (JSON_TYPE,), f'{{"error":"{sentence}","newest-versions":[{newest}]}}'.encode())


WRONG_VERSION = _version_refused()
LATEST_REFUSED = _version_refused(" (latest is no longer supported)")
WRONG_INSTANCE_VERSION = _version_refused(newest_three=INSTANCE_NEWEST_THREE)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request without its body. Header names are in lower case; the path is as sent."""

    method: str
    raw_path: bytes
    query: bytes
    headers: Sequence[tuple[bytes, bytes]]

    def values(self, name: bytes) -> list[bytes]:
        return [value for header, value in self.headers if header == name]


@dataclass(frozen=True, slots=True)
class ReadDocument:
    version: ApiVersion
    known_incarnations: frozenset[str]
    wait_s: int | None = None
    """How long the answer may be held while it would be 304 (SPEC §2.6); None: it is not held."""


@dataclass(frozen=True, slots=True)
class Approve:
    version: ApiVersion


@dataclass(frozen=True, slots=True)
class ReadInstance:
    version: str
    route: tuple[str, ...]
    """What of it, in lower case; all of it when empty."""
    text: bool


@dataclass(frozen=True, slots=True)
class ReadVersions:
    """The versions of the instance metadata."""


Verdict = HttpAnswer | ReadDocument | Approve | ReadInstance | ReadVersions


def judge(head: RequestHead, *, headerless_post_2017: bool = False) -> Verdict:
    """Kept for requests that differ only in what is not judged, such as an id of their own."""
    judged = tuple(pair for pair in head.headers if pair[0] in JUDGED_HEADERS)
    short = len(head.raw_path) + len(head.query) + sum(len(value) for _, value in judged) <= KEPT_MAX_BYTES
    given = (head.method, head.raw_path, head.query, judged, headerless_post_2017)
    return _judged(*given) if short else _judged.__wrapped__(*given)


@lru_cache(maxsize=1024)
def _judged(
    method: str,
    raw_path: bytes,
    raw_query: bytes,
    headers: tuple[tuple[bytes, bytes], ...],
    headerless_post_2017: bool,  # noqa: FBT001  part of a key
) -> Verdict:
    head = RequestHead(method, raw_path, raw_query, headers)
    query = parse_qsl(head.query.decode("latin-1"), keep_blank_values=True)
    if not _has_metadata_header(head) and not (headerless_post_2017 and _is_2017_sample(head, query)):
        return HEADER_MISSING
    if head.values(b"x-forwarded-for"):
        return FORWARDED
    route, *below = segments_of(head.raw_path)
    if route == PATH and not below:
        return _judge_events(head, query)
    if route == INSTANCE_PATH:
        return _judge_instance(head, query, tuple(below))
    if route == VERSIONS_PATH and not below:
        return _judge_versions(head, query)
    return NOT_FOUND


def _judge_events(head: RequestHead, query: list[tuple[str, str]]) -> Verdict:
    if head.method not in ("GET", "POST"):
        return WRONG_METHOD
    version = _version_or_refusal(query)
    if isinstance(version, HttpAnswer):
        return version
    if head.method == "POST":
        return Approve(version)
    known = _known_incarnations(head)
    # Who knows no number, or any, has nothing to wait for.
    waits = known and "*" not in known
    return ReadDocument(version, known, wait_preferred_s(head.values(b"prefer")) if waits else None)


def _judge_instance(head: RequestHead, query: list[tuple[str, str]], route: tuple[str, ...]) -> Verdict:
    if head.method != "GET":
        return READ_ONLY
    versions = [value for name, value in query if name == "api-version"]
    if len(versions) != 1 or versions[0] not in INSTANCE_VERSIONS:
        return WRONG_INSTANCE_VERSION
    given = dict(query)
    if len(given) != len(query):
        return REPEATED
    wanted = given.get("format", "json").lower()
    if wanted not in ("json", "text"):
        return error(400, "Bad request. format must be json or text")
    return ReadInstance(versions[0], route, text=wanted == "text")


def _judge_versions(head: RequestHead, query: list[tuple[str, str]]) -> Verdict:
    """Whoever asks which versions there are need not know one [real]."""
    if head.method != "GET":
        return READ_ONLY
    return _other_parameters_refusal(query) or ReadVersions()


def _has_metadata_header(head: RequestHead) -> bool:
    values = head.values(b"metadata")
    return bool(values) and all(value.lower() == b"true" for value in values)


def _is_2017_sample(head: RequestHead, query: list[tuple[str, str]]) -> bool:
    """The seeds' C# sample posts without the header; a setting lets it."""
    is_json = any(value.lower().startswith(b"application/json") for value in head.values(b"content-type"))
    return head.method == "POST" and is_json and ("api-version", "2017-03-01") in query


def segments_of(raw_path: bytes) -> list[str]:
    """The route, `/metadata/…`, and what is asked of it, in lower case: `/metadata/scheduledEvents` is used in the
    wild. One trailing slash is tolerated.
    """
    segments = raw_path.decode("latin-1").removesuffix("/").split("/")
    # Segment by segment: an encoded slash parts nothing (RFC 3986 §2.2).
    names = [unquote(one).lower() for one in segments]
    if any("/" in name for name in names):
        return [""]
    return ["/".join(names[:ROUTE_SEGMENTS]), *names[ROUTE_SEGMENTS:]]


@lru_cache(maxsize=256)
def route_of(raw_path: bytes) -> str | None:
    """Which of the three routes a request went to."""
    route, *below = segments_of(raw_path)
    return route if route == INSTANCE_PATH or (route in (PATH, VERSIONS_PATH) and not below) else None


def _version_or_refusal(query: list[tuple[str, str]]) -> ApiVersion | HttpAnswer:
    versions = [value for name, value in query if name == "api-version"]
    if len(versions) != 1:
        return WRONG_VERSION
    if versions[0].lower() in ("latest", "{latest}"):
        return LATEST_REFUSED
    version = API_VERSIONS.get(versions[0])
    if version is None:
        return WRONG_VERSION
    return _other_parameters_refusal(query) or version


def _other_parameters_refusal(query: list[tuple[str, str]]) -> HttpAnswer | None:
    given: Mapping[str, str] = dict(query)
    if len(given) != len(query):
        return REPEATED
    if given.get("format", "json") != "json":
        return error(400, "Bad request. format must be json: there is no other format of this")
    return None


def _known_incarnations(head: RequestHead) -> frozenset[str]:
    """`If-None-Match: n`, also quoted, also weak, also a list, also `*`."""
    tags = b",".join(head.values(b"if-none-match")).decode("latin-1").split(",")
    return frozenset(tag.strip().removeprefix("W/").strip('"') for tag in tags if tag.strip())
