"""One row of the corpus: bytes, what must come back for them, and whether the connection may go on."""

from dataclasses import dataclass

from answers_read import Answers, open_line, read_answers, read_to_the_end

PATH = b"/metadata/scheduledevents"
TARGET = PATH + b"?api-version=2020-07-01"
# As long as the id of a real event, which takes its place: lengths stay true.
EVENT = b"E" * 36
APPROVAL = b'{"StartRequests":[{"EventId":"' + EVENT + b'"}]}'


def get(headers=b"Metadata: true\r\n", target=TARGET, version=b"HTTP/1.1"):
    return b"GET " + target + b" " + version + b"\r\nHost: a\r\n" + headers + b"\r\n"


def post(framing, body, headers=b"Metadata: true\r\n"):
    return b"POST " + TARGET + b" HTTP/1.1\r\nHost: a\r\n" + headers + framing + b"\r\n" + body


def length_of(body):
    return b"Content-Length: %d\r\n" % len(body)


def chunk(body):
    return b"%x\r\n%b\r\n" % (len(body), body)


GET = get()
APPROVE = post(length_of(APPROVAL), APPROVAL)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
LAST = get(b"Metadata: true\r\nConnection: close\r\n")


@dataclass(frozen=True)
class Case:
    name: str
    sent: bytes
    statuses: tuple[int, ...]
    kept: bool = False

    def __str__(self):
        return self.name


def refused(name, sent):
    """Not HTTP: one 400, and the end."""
    return Case(name, sent, (400,))


def kept(name, sent, *statuses):
    return Case(name, sent, statuses, kept=True)


def closed(name, sent, *statuses):
    return Case(name, sent, statuses)


def come_of(address, case, event_id):
    """What the bytes bring: the answers, and whether the next request on the connection is answered by itself."""
    answers = Answers()
    with open_line(address) as line:
        line.sendall(case.sent.replace(EVENT, event_id.encode()))
        if case.kept:
            read_answers(line, answers, len(case.statuses))
            line.sendall(LAST)
        read_to_the_end(line, answers)
    return answers
