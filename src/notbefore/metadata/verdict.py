"""What a request asks for, judged from its head alone (SPEC §2.1).

Rule 1: pure, and the same for every VM: a verdict depends on the bytes of the request and the settings,
never on the caller. That is what lets a memo stand before it.
Rule 2: the first broken rule answers, in the table's order: header, X-Forwarded-For, path, method, query.
Not here: HTTP syntax (protocol.py), caller (identity.py), rate and body (service.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from notbefore.metadata.answers import JSON_TYPE, HttpAnswer, error
from notbefore.wire.api_versions import API_VERSIONS, NEWEST_THREE, PATH, ApiVersion

# The real service's bytes, the odd ": . " and the inner spaces included [real].
HEADER_MISSING = HttpAnswer(400, (JSON_TYPE,), b'{ "error": "Bad request: . Required metadata header not specified" }')
FORWARDED = error(400, "Bad request. X-Forwarded-For is not allowed: ask from the VM itself")
NOT_FOUND = error(404, f"Not found. This service answers {PATH}")
WRONG_METHOD = error(
    405, "Method not allowed. Use GET to read the events, POST to approve them", (b"allow", b"GET, POST")
)


def _version_refused(note: str = "") -> HttpAnswer:
    newest = ",".join(f'"{version}"' for version in NEWEST_THREE)
    sentence = (
        f"Bad request{note}. api-version is invalid or was not specified in the request."
        " For more information refer to aka.ms/azureimds"
    )
    return HttpAnswer(400, (JSON_TYPE,), f'{{"error":"{sentence}","newest-versions":[{newest}]}}'.encode())


WRONG_VERSION = _version_refused()
LATEST_REFUSED = _version_refused(" (latest is no longer supported)")


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


@dataclass(frozen=True, slots=True)
class Approve:
    version: ApiVersion


Verdict = HttpAnswer | ReadDocument | Approve


def judge(head: RequestHead, *, headerless_post_2017: bool = False) -> Verdict:
    query = parse_qsl(head.query.decode("latin-1"), keep_blank_values=True)
    if not _has_metadata_header(head) and not (headerless_post_2017 and _is_2017_sample(head, query)):
        return HEADER_MISSING
    if head.values(b"x-forwarded-for"):
        return FORWARDED
    if not is_our_path(head.raw_path):
        return NOT_FOUND
    if head.method not in ("GET", "POST"):
        return WRONG_METHOD
    version = _version_or_refusal(query)
    if isinstance(version, HttpAnswer):
        return version
    if head.method == "POST":
        return Approve(version)
    return ReadDocument(version, _known_incarnations(head))


def _has_metadata_header(head: RequestHead) -> bool:
    values = head.values(b"metadata")
    return bool(values) and all(value.lower() == b"true" for value in values)


def _is_2017_sample(head: RequestHead, query: list[tuple[str, str]]) -> bool:
    """The seeds' C# sample posts without the header; a setting lets it."""
    is_json = any(value.lower().startswith(b"application/json") for value in head.values(b"content-type"))
    return head.method == "POST" and is_json and ("api-version", "2017-03-01") in query


def is_our_path(raw_path: bytes) -> bool:
    """In any letter case: `/metadata/scheduledEvents` is used in the wild. One trailing slash is tolerated."""
    segments = raw_path.decode("latin-1").removesuffix("/").split("/")
    # Segment by segment: an encoded slash parts nothing (RFC 3986 §2.2).
    return [unquote(one).lower() for one in segments] == PATH.split("/")


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
        return error(400, "Bad request. A query parameter is given more than once")
    if given.get("format", "json") != "json":
        return error(400, "Bad request. format must be json: scheduled events have no other format")
    return None


def _known_incarnations(head: RequestHead) -> frozenset[str]:
    """`If-None-Match: n`, also quoted, also weak, also a list, also `*`."""
    tags = b",".join(head.values(b"if-none-match")).decode("latin-1").split(",")
    return frozenset(tag.strip().removeprefix("W/").strip('"') for tag in tags if tag.strip())
