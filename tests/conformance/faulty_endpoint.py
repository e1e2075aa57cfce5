"""A deliberately wrong server: ours, behind a man in the middle who commits named faults.

Rule 1: without a fault nothing is changed, byte for byte; so whatever a check finds is the fault's doing.
Rule 2: a fault changes what the server is asked, or what it answers, as a server that has it would look from outside.
"""

import json
import re
import socket
import socketserver
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace

HEAD_MAX = 32 * 1024
HEADER_MISSING = b'{ "error": "Bad request: . Required metadata header not specified" }'
JSON = "application/json; charset=utf-8"


@dataclass(frozen=True)
class Message:
    """A request or an answer: its first line, headers as they came, and body."""

    first: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def status(self):
        return int(self.first.split()[1])

    @property
    def method(self):
        return self.first.split()[0]

    @property
    def target(self):
        return self.first.split()[1]

    def header(self, name):
        return next((value for header, value in self.headers if header.lower() == name.lower()), None)

    def without(self, name):
        return replace(self, headers=tuple(one for one in self.headers if one[0].lower() != name.lower()))

    def having(self, name, value):
        return replace(self, headers=(*self.without(name).headers, (name, value)))

    def at(self, target):
        return replace(self, first=self.first.replace(self.target, target, 1))

    def saying(self, body):
        return replace(self, body=body).having("content-length", str(len(body)))

    def sent(self):
        lines = [self.first, *(f"{name}: {value}" for name, value in self.headers), "", ""]
        return "\r\n".join(lines).encode("latin-1") + self.body


def answer(status, body=b"", **headers):
    head = {
        "content-type": JSON,
        "content-length": str(len(body)),
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    return Message(f"HTTP/1.1 {status} Wrong", tuple(head.items()), body)


# -- faults in what is asked: the request that a right server would have been asked, or an answer of their own


def asks_no_header(asked):
    return asked.having("Metadata", "true")


def wants_the_header_in_small_letters(asked):
    return asked if asked.header("metadata") in (None, "true") else asked.without("Metadata")


def takes_forwarded_requests(asked):
    return asked.without("X-Forwarded-For")


def knows_one_spelling_of_the_path(asked):
    return asked if asked.target.startswith("/metadata/scheduledevents") else answer(404, b'{"error":"Not found"}')


def minds_a_trailing_slash(asked):
    return answer(404, b'{"error":"Not found"}') if "/?" in asked.target else asked


def takes_put_for_post(asked):
    return replace(asked, first=asked.first.replace("PUT", "POST", 1))


def guesses_the_version(asked):
    return (
        asked if "api-version" in asked.target else asked.at(f"{asked.target.partition('?')[0]}?api-version=2020-07-01")
    )


def takes_latest(asked):
    return asked.at(re.sub(r"api-version=(latest|%7Blatest%7D)", "api-version=2020-07-01", asked.target))


def takes_the_first_of_two_parameters(asked):
    path, _, query = asked.target.partition("?")
    first = {}
    for part in query.split("&"):
        first.setdefault(part.partition("=")[0], part)
    return asked.at(f"{path}?{'&'.join(first.values())}")


def has_other_formats(asked):
    return asked.at(re.sub(r"&format=\w*", "", asked.target))


def knows_only_bare_tags(asked):
    return asked.without("If-None-Match") if re.search(r'[",]', asked.header("If-None-Match") or "") else asked


def knows_no_tags(asked):
    return asked.without("If-None-Match")


def wants_json_said(asked):
    kind = asked.header("Content-Type")
    if asked.method == "POST" and kind and kind != "application/json":
        return answer(415, b'{"error":"Unsupported media type"}')
    return asked


def takes_any_id(asked):
    return answer(200) if asked.method == "POST" and b"EventId" in asked.body and asked.header("Metadata") else asked


def minds_the_incarnation(asked):
    if b'"DocumentIncarnation": "5"' in asked.body:
        return answer(409, b'{"error":"Conflict"}')
    return asked


def minds_small_letters_in_ids(asked):
    if re.search(rb'"EventId": "[^"]*[a-f]', asked.body):
        return answer(400, b'{"error":"Unknown"}')
    return asked


def takes_long_bodies(asked):
    return asked.saying(asked.body.strip() or b"{}") if asked.method == "POST" and asked.header("Metadata") else asked


def holds_what_knows_nothing(asked):
    """A wait that nobody had asked for in this way: it is answered as if it had run out."""
    return answer(304) if asked.header("Prefer") and not asked.header("If-None-Match") else asked


def tells_strangers_who_they_are(asked):
    return asked.having("Metadata", "true") if "/metadata/instance" in asked.target else asked


def takes_any_instance_version(asked):
    path, _, _ = asked.target.partition("?api-version=1999")
    return asked.at(f"{path}?api-version=2021-02-01") if path != asked.target else asked


def serves_events_alone(asked):
    """No fault: neighbours and held questions are more than a mock need have."""
    if "/metadata/instance" in asked.target or "/metadata/versions" in asked.target:
        return answer(404, b'{"error":"Not found"}')
    return asked.without("Prefer")


def takes_conflicting_lengths(asked):
    lengths = [value for name, value in asked.headers if name.lower() == "content-length"]
    return asked.saying(b"") if len(lengths) > 1 else asked


# -- faults in what is answered


def quotes_its_tag(told):
    tag = told.header("etag")
    return told.having("etag", f'"{tag}"') if tag else told


def says_text(told):
    return told.having("content-type", "text/json") if told.status == 200 else told


def tells_errors_as_pages(told):
    return told.having("content-type", "text/html").saying(b"<h1>no</h1>") if told.status in (404, 405) else told


def tidies_up_the_header_error(told):
    return (
        told.saying(b'{"error":"Bad request. Required metadata header not specified"}')
        if told.body == HEADER_MISSING
        else told
    )


def tells_no_allowed_methods(told):
    return told.without("allow")


def names_no_newest_versions(told):
    return told.saying(re.sub(rb',"newest-versions":\[[^]]*\]', b"", told.body))


def hides_that_it_closes(told):
    return told.without("connection")


def forgets_to_say_how_long_it_held(told):
    return told.having("preference-applied", "wait=60") if told.header("preference-applied") else told


def says_held_of_every_answer(told):
    return told.having("preference-applied", "wait=1")


def has_numbers_in_the_instance(told):
    return told.saying(told.body.replace(b'"platformUpdateDomain":"0"', b'"platformUpdateDomain":0'))


def quotes_a_leaf(told):
    plain = (told.header("content-type") or "").startswith("text/plain")
    return told.saying(b'"' + told.body + b'"') if plain else told


def has_its_versions_newest_first(told):
    if b'"apiVersions"' not in told.body:
        return told
    return told.saying(json.dumps({"apiVersions": json.loads(told.body)["apiVersions"][::-1]}).encode())


def does_not_know_the_name(told):
    return told.saying(told.body.replace(b'"name":"web-0"', b'"name":""'))


def _rewritten(told, change):
    try:
        document = json.loads(told.body)
    except ValueError:
        return told
    if "Events" not in document:
        return told
    return told.saying(json.dumps(change(document), separators=(",", ":"), ensure_ascii=False).encode())


def _each_event(told, change):
    return _rewritten(told, lambda one: {**one, "Events": [change(event) for event in one["Events"]]})


def has_ids_in_small_letters(told):
    return _each_event(told, lambda event: {**event, "EventId": event["EventId"].lower()})


def shows_every_field_in_every_version(told):
    return _each_event(
        told, lambda event: {"Description": "", "EventSource": "Platform", "DurationInSeconds": -1, **event}
    )


def keeps_not_before_when_started(told):
    late = "Mon, 19 Sep 2016 18:29:47 GMT"
    return _each_event(told, lambda event: {**event, "NotBefore": event["NotBefore"] or late})


def dates_by_iso_in_every_version(told):
    return _each_event(told, lambda event: {**event, "NotBefore": event["NotBefore"] and "2016-09-19T18:29:47Z"})


def has_the_incarnation_as_text(told):
    return _rewritten(told, lambda one: {**one, "DocumentIncarnation": str(one["DocumentIncarnation"])})


def names_one_resource_as_text(told):
    return _each_event(told, lambda event: {**event, "Resources": event["Resources"][0]})


def has_its_keys_the_other_way_round(told):
    return _rewritten(told, lambda one: dict(reversed(one.items())))


def shows_completed_events(told):
    return _each_event(told, lambda event: {**event, "EventStatus": "Completed"})


def spaces_its_json_out(told):
    return (
        told.saying(told.body.replace(b'":', b'": ').replace(b',"', b', "'))
        if told.status == 200 and told.body
        else told
    )


def answers_an_approval_with_words(told):
    return told.saying(b'{"ok":true}') if told.status == 200 and not told.body else told


def answers_garbage(told):
    return told.saying(b"\xff\x00 what? [1") if told.status == 200 else told


def answers_a_list(told):
    return told.saying(b'[{"Events": 5}]') if told.status == 200 else told


# Each fault with the check that should find it; none for what is no fault.
ASKED = {
    asks_no_header: "get-without-header",
    wants_the_header_in_small_letters: "header-in-any-letter-case",
    takes_forwarded_requests: "forwarded-request",
    knows_one_spelling_of_the_path: "path-in-any-letter-case",
    minds_a_trailing_slash: "path-with-a-trailing-slash",
    takes_put_for_post: "other-methods",
    guesses_the_version: "version-missing",
    takes_latest: "version-latest",
    takes_the_first_of_two_parameters: "repeated-parameter",
    has_other_formats: "format-other",
    knows_only_bare_tags: "quoted-number-is-not-modified",
    knows_no_tags: "same-number-is-not-modified",
    wants_json_said: "content-type-is-ignored",
    takes_any_id: "unknown-id",
    minds_the_incarnation: "approval-is-taken",
    minds_small_letters_in_ids: "approval-is-taken",
    takes_long_bodies: "long-body",
    takes_conflicting_lengths: "conflicting-lengths-are-refused",
    serves_events_alone: None,
    holds_what_knows_nothing: "nothing-known-is-answered-at-once",
    tells_strangers_who_they_are: "neighbours-need-the-header",
    takes_any_instance_version: "instance-needs-a-version",
}
TOLD = {
    quotes_its_tag: "etag-is-the-number",
    forgets_to_say_how_long_it_held: "held-question-says-so",
    says_held_of_every_answer: "plain-question-is-not-held",
    has_numbers_in_the_instance: "instance-values-are-strings",
    quotes_a_leaf: "leaf-is-told-as-text",
    has_its_versions_newest_first: "versions-are-listed",
    does_not_know_the_name: "instance-tells-the-name",
    says_text: "content-type",
    tells_errors_as_pages: "unknown-path",
    tidies_up_the_header_error: "get-without-header",
    tells_no_allowed_methods: "other-methods",
    names_no_newest_versions: "version-unknown",
    hides_that_it_closes: "close-is-echoed",
    has_ids_in_small_letters: "event-id-is-an-upper-case-guid",
    shows_every_field_in_every_version: "2017-03-01-fields",
    keeps_not_before_when_started: "started-has-an-empty-not-before",
    dates_by_iso_in_every_version: "2020-07-01-dates",
    has_the_incarnation_as_text: "incarnation-is-an-integer",
    names_one_resource_as_text: "resources",
    has_its_keys_the_other_way_round: "document-keys",
    shows_completed_events: "event-status",
    spaces_its_json_out: "compact-json",
    answers_an_approval_with_words: "approval-is-taken",
    answers_garbage: "compact-json",
    answers_a_list: "document-keys",
}


class Middle(socketserver.StreamRequestHandler):
    """One connection: each request is asked anew of the right server, and its answer passed back."""

    def handle(self):
        while head := self.read_head():
            if b"\r\n\r\n" not in head:
                self.wfile.write(self.asked_raw(head))
                return
            asked = message_of(head, b"")
            asked = replace(asked, body=self.rfile.read(longest_of(asked)))
            told = self.told(asked)
            self.wfile.write(told.sent())
            if "close" in (asked.header("Connection") or "") or "close" in (told.header("Connection") or ""):
                return

    def read_head(self):
        head = b""
        while not head.endswith((b"\r\n\r\n", b"\n\n")) and len(head) < HEAD_MAX:
            line = self.rfile.readline(HEAD_MAX)
            if not line:
                break
            head += line
        return head

    def told(self, asked):
        fault = self.server.fault
        wanted = fault(asked) if fault in ASKED else asked
        told = wanted if wanted.first.startswith("HTTP/") else self.answer_to(wanted)
        return fault(told) if fault in TOLD else told

    def answer_to(self, asked):
        raw = self.asked_raw(asked.sent(), asked.method)
        head, _, body = raw.partition(b"\r\n\r\n")
        return message_of(head + b"\r\n\r\n", body)

    def asked_raw(self, sent, method="GET"):
        with socket.create_connection(self.server.right, timeout=15) as line:
            line.sendall(sent)
            received = b""
            while not is_whole(received, method) and (part := line.recv(65536)):
                received += part
            return received


def longest_of(asked):
    lengths = [int(value) for name, value in asked.headers if name.lower() == "content-length" and value.isdecimal()]
    return max(lengths, default=0)


def is_whole(received, method):
    head, end, body = received.partition(b"\r\n\r\n")
    if not end:
        return False
    told = message_of(head + end, body)
    return told.status == 304 or method == "HEAD" or len(body) >= int(told.header("content-length") or 0)


def message_of(head, body):
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    return Message(
        first, tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines)), body
    )


class WrongServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@contextmanager
def wrong_server(right, fault=None):
    """The url of a server with this fault; of ours as it is, without one."""
    with WrongServer(("127.0.0.1", 0), Middle) as server:
        server.right, server.fault = right, fault
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
