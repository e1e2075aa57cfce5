"""`notbefore record` as people run it, against a real server: what it writes, how it ends, what it leaves alone."""

import json
import os
import signal
import socket
import subprocess

import pytest
from flow_runs import PROGRAM, ask, ran, recording

from lab import lab_settings, open_lab


def body_of(line):
    return json.loads(line["body"])


def test_every_change_is_a_line_and_the_answers_are_kept_byte_for_byte(demo):
    """A header, then one line for each change of what is shown, with the text of the body itself."""
    url = demo.server.metadata_urls[0]
    with recording(url) as record:
        header = record.json_line()
        first = record.json_line()
        empty = ask(url)
        made = demo.made("demo", "FrontEnd_IN_0", "restart")
        scheduled = record.json_line()
        announced = ask(url)
        demo.approve(made["id"], source="127.0.0.2")
        started = record.json_line()
        demo.advance(60)
        over = record.json_line()
        code, out, err = record.told(signal.SIGINT)

    assert header.pop("began").endswith("Z")
    assert header == {
        "flow": 1,
        "path": "/metadata/scheduledevents",
        "api_version": "2020-07-01",
        "vm": "FrontEnd_IN_0",
    }
    assert first == {
        "t": 0.0,
        "status": 200,
        "etag": empty.headers["etag"],
        "content_type": "application/json; charset=utf-8",
        "body": empty.body.decode(),
    }
    assert scheduled["body"] == announced.body.decode()
    assert [body_of(line)["Events"][0]["EventStatus"] for line in (scheduled, started)] == ["Scheduled", "Started"]
    assert body_of(over)["Events"] == []
    assert 0 <= scheduled["t"] <= started["t"] <= over["t"]
    assert [json.loads(line).keys() for line in out.splitlines()] == [{"t", "end"}]
    assert code == 0
    assert "Recorded 4 changes in " in err.splitlines()[-1]


def test_it_approves_nothing(demo):
    """It only asks: the event is as it was, and nobody's word is on it."""
    made = demo.made("demo", "FrontEnd_IN_0", "restart")
    with recording(demo.server.metadata_urls[0]) as record:
        record.line()
        record.until("Scheduled")
        record.told()

    after = demo.event(made["id"])
    assert (after["status"], after["approvals"]) == ("Scheduled", [])


def test_nothing_about_the_vm_is_kept_but_its_name(lab):
    """Tags, addresses, subscriptions and the headers of requests stay where they are."""
    tags = {"notbefore.subscriptionId": "top-secret", "owner": "someone"}
    lab.declare("shop", {"name": "web-1", "addresses": ["127.0.0.1"], "tags": tags}, listening="always")

    with recording(lab.server.metadata_urls[0]) as record:
        lines = [record.line(), record.line()]
        _, out, _ = record.told()

    text = "".join([*lines, out])
    assert '"vm":"web-1"' in text
    assert not any(word in text for word in ("top-secret", "someone", "127.0.0.1", "Metadata", "User-Agent"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_with_the_end_written(demo, number):
    """Exit code 0, the end as the last line, a summary on stderr; while a question is held, too."""
    with recording(demo.server.metadata_urls[0]) as record:
        record.line()
        record.line()
        code, out, err = record.told(number)

    assert code == 0
    assert json.loads(out)["end"] is True
    assert err.splitlines()[-1].startswith("Recorded 1 change in ")


def test_it_ends_by_itself_after_the_time_it_was_given(demo, tmp_path):
    """--for, and -o for a file instead of stdout."""
    file = tmp_path / "flow.jsonl"

    code, out, _ = ran("record", demo.server.metadata_urls[0], "--for", "1s", "-o", str(file))

    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (code, out) == (0, "")
    assert [set(line) & {"flow", "status", "end"} for line in lines] == [{"flow"}, {"status"}, {"end"}]


def test_a_recording_is_not_written_over(demo, tmp_path):
    file = tmp_path / "flow.jsonl"
    file.write_text("days of work")

    code, _, err = ran("record", demo.server.metadata_urls[0], "--for", "1s", "-o", str(file))

    assert (code, file.read_text()) == (1, "days of work")
    assert "is there already" in err


def test_a_reader_that_goes_away_ends_it_quietly(demo):
    """`| head`: noticed with the next question at the latest, and no error."""
    reading, writing = os.pipe()
    url = demo.server.metadata_urls[0]
    with subprocess.Popen([PROGRAM, "record", url], stdout=writing, stderr=subprocess.PIPE, text=True) as process:
        os.close(writing)
        with os.fdopen(reading) as lines:
            lines.readline()
        demo.made("demo", "FrontEnd_IN_0", "restart")
        _, err = process.communicate(timeout=60)

    assert process.returncode == 0
    assert len(err.splitlines()) == 1


def test_a_full_disk_is_said_in_a_sentence(demo):
    with open("/dev/full", "wb") as full:  # noqa: PTH123  a device
        command = [PROGRAM, "record", demo.server.metadata_urls[0]]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)

    assert done.returncode == 1
    assert "The recording cannot be written: No space left on device." in done.stderr


def test_nobody_there_is_an_error_and_no_recording(tmp_path):
    """Exit code 1, and no empty file is left behind."""
    file = tmp_path / "flow.jsonl"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"

        code, out, err = ran("record", url, "-o", str(file))

    assert (code, out, file.exists()) == (1, "", False)
    assert f"Nothing answers at {url}" in err


def test_a_refusal_of_the_first_question_is_an_error(tmp_path):
    """Who is not known there would record refusals for ever."""
    with open_lab(lab_settings(tmp_path / "state")) as nobody_known:
        code, out, err = ran("record", nobody_known.server.metadata_urls[0])

    assert (code, out) == (1, "")
    assert "answered 403" in err


def test_it_asks_as_the_vm_it_is_told_to_be_in_the_version_it_is_told(demo):
    """--from and --api-version; the URL may have the path of the events behind it."""
    url = demo.server.metadata_urls[0] + "/metadata/scheduledEvents/"
    with recording(url, "--from", "127.0.0.3", "--api-version", "2017-03-01") as record:
        header = record.json_line()

    assert (header["vm"], header["api_version"]) == ("BackEnd_IN_0", "2017-03-01")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--every", "0"), 2),
        (("--for", "soon"), 2),
        (("--api-version", "latest"), 2),
        (("-o", "/nonexistent/flow.jsonl"), 1),
    ],
)
def test_wrong_words_are_refused_before_anything_is_asked(words, code):
    assert ran("record", "http://127.0.0.1:1", *words)[0] == code


@pytest.mark.parametrize(("url", "code"), [("ftp://127.0.0.1", 1), ("http://127.0.0.1:1/?api-version=2020-07-01", 2)])
def test_a_url_that_is_none_is_refused(url, code):
    assert ran("record", url)[0] == code
