"""The recorder's plan by itself: what it asks, and what of the outcomes it notes."""

import json

import pytest

from notbefore.client import EndpointError, Patience
from notbefore.client.endpoint import checked_endpoint
from notbefore.client.steps import Answer, Ask, Loss, Lost, Wait
from notbefore.recording.flow import Change, Shown, as_line
from notbefore.recording.listening import Began, Noted, listening

ENDPOINT = checked_endpoint("http://127.0.0.1:8254")


def document(incarnation):
    return json.dumps({"DocumentIncarnation": incarnation, "Events": []}).encode()


def heard(*outcomes, name=b'{"compute":{"name":"web-1"}}'):
    """What is noted, and what was asked, when this comes of the questions; each comes a second after it was asked."""
    plan = listening(ENDPOINT, "2020-07-01", 1.0, Patience(), 100.0)
    left, steps, now_s, step = list(outcomes), [], 100.0, next(plan)
    while True:
        steps.append(step)
        sent = None
        if isinstance(step, Wait):
            now_s += step.seconds(now_s, 0.5)
        elif isinstance(step, Ask):
            if "instance" not in step.target and not left:
                return steps
            is_name = "instance" in step.target
            kind, *given = (Answer, 200, {}, name) if is_name else left.pop(0)
            sent = kind(*given, now_s, now_s + 1)
            now_s += 1
        step = plan.send(sent)


def noted(steps):
    return [step.shown for step in steps if isinstance(step, Noted)]


def test_an_answer_that_says_the_same_again_is_not_noted():
    """One line for each change, whether it was told in full or by 304."""
    same = (Answer, 200, {"etag": "1"}, document(1))

    steps = heard(same, same, (Answer, 304, {"etag": "1"}, b""), (Answer, 200, {"etag": "2"}, document(2)))

    assert [one.body for one in noted(steps)] == [document(1), document(2)]


def test_trouble_is_noted_once_and_what_comes_after_it_again():
    """410, 410, then the same document as before: a replay shows the trouble and its end."""
    fine, gone = (Answer, 200, {"etag": "1"}, document(1)), (Answer, 410, {"retry-after": "5"}, b"updating")

    assert noted(heard(fine, gone, gone, fine)) == [
        Shown(200, body=document(1), etag="1"),
        Shown(410, body=b"updating", retry_after="5"),
        Shown(200, body=document(1), etag="1"),
    ]


@pytest.mark.parametrize(
    ("loss", "error"),
    [(Loss.TIMED_OUT, "timeout"), (Loss.BROKEN, "broken"), (Loss.UNREACHABLE, "unreachable")],
)
def test_no_answer_is_noted_by_its_reason(loss, error):
    fine = (Answer, 200, {}, document(1))

    assert noted(heard(fine, (Lost, loss, "why")))[-1] == Shown(error=error)


def test_silence_is_noted_from_its_question_on():
    """By the time a question is given up, the silence is as old as the question."""
    fine = (Answer, 200, {}, document(1))

    steps = heard(fine, (Lost, Loss.TIMED_OUT, "why"), fine)

    began = next(step for step in steps if isinstance(step, Began))
    assert [step.at_s - began.at_s for step in steps if isinstance(step, Noted)] == [0, 1, 3]


def test_in_trouble_it_asks_at_the_same_pace():
    """How long trouble lasts is what is to be recorded; nothing is waited out longer and longer."""
    fine, broken = (Answer, 200, {}, document(1)), (Answer, 500, {}, b"")

    steps = heard(fine, *[broken] * 5)

    assert {(step.low_s, step.high_s) for step in steps if isinstance(step, Wait)} == {(1.0, 1.0)}


def test_after_trouble_the_whole_document_is_asked_for():
    """A service that began anew may use a number again for something else."""
    steps = heard((Answer, 200, {"etag": "1"}, document(1)), (Answer, 503, {}, b""), (Answer, 200, {}, document(1)))

    asked = [step.headers for step in steps if isinstance(step, Ask) and "instance" not in step.target]
    assert ["If-None-Match" in headers for headers in asked] == [False, True, False, False]


def test_what_is_no_document_is_kept_shortened():
    body = b"<html>" + b"x" * 100_000

    kept = noted(heard((Answer, 200, {}, document(1)), (Answer, 200, {}, body)))[-1]

    assert (kept.body, kept.is_shortened) == (body[:4096], True)


def test_an_empty_200_is_kept_as_what_it_is():
    """An empty body is a document without events [real]."""
    assert noted(heard((Answer, 200, {}, b""))) == [Shown(200)]


def test_a_header_that_could_not_be_said_again_is_left_out():
    """A folded header would break the head of the replay's answer."""
    odd = {"etag": "1\r\n x", "content-type": "text/plain; charset=\u00fc", "retry-after": "9" * 300}

    assert noted(heard((Answer, 200, odd, document(1)))) == [Shown(200, body=document(1))]


@pytest.mark.parametrize("body", [b"", b"garbage", b'{"compute":{"name":3}}', b'{"compute":{"name":"a\\u001bb"}}'])
def test_a_name_that_is_none_is_left_out(body):
    began = next(step for step in heard((Answer, 200, {}, document(1)), name=body) if isinstance(step, Began))

    assert began.vm == ""


@pytest.mark.parametrize("outcome", [(Lost, Loss.UNREACHABLE, "why"), (Answer, 403, {}, b""), (Answer, 302, {}, b"")])
def test_an_endpoint_that_is_not_there_or_refuses_at_first_is_no_recording(outcome):
    with pytest.raises(EndpointError):
        heard(outcome)


@pytest.mark.parametrize("outcome", [(Lost, Loss.TIMED_OUT, "why"), (Answer, 410, {}, b""), (Answer, 500, {}, b"")])
def test_trouble_that_passes_may_be_where_a_recording_begins(outcome):
    assert len(noted(heard(outcome))) == 1


def test_bytes_that_are_no_text_are_kept_as_base64():
    line = json.loads(as_line(Change(0.0, Shown(200, body=b"\xff\xfe"))))

    assert (line["body_base64"], "body" in line) == ("//4=", False)


def test_a_line_is_never_longer_than_can_be_read():
    """A document beyond that is kept shortened: better a gap that says so than a recording that cannot be read."""
    line = as_line(Change(0.0, Shown(200, body=b"\x01" * 1_000_000)))

    assert len(line) <= 1024 * 1024
    assert json.loads(line)["shortened"] is True
