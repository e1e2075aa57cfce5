"""Log lines: text for people, JSON for programs, the same facts in both."""

import io
import json
import logging

import pytest

from notbefore.logs import JsonFormatter, QuietHandler, TextFormatter

IDS = {"scope": "web", "event_id": "E-1", "vms": 2}


class FullDisk(io.StringIO):
    """A stream whose disk is full."""

    def write(self, text):
        raise OSError(28, "No space left on device")


@pytest.fixture
def logger():
    """`logger(formatter)`: a logger of its own, and what it has written."""

    def made(formatter, stream):
        log = logging.Logger("notbefore.turn")  # noqa: LOG001  one that no other test shares
        handler = QuietHandler(stream)
        handler.setFormatter(formatter)
        log.addHandler(handler)
        return log

    return made


def test_text_appends_the_ids_to_the_sentence(logger):
    """STYLE: a log line is a decision, once, with ids as fields: `event started: approved by vm-b  event_id=… vms=2`."""
    out = io.StringIO()

    logger(TextFormatter(), out).info("event started: approved by %s", "vm-b", extra=IDS)

    assert out.getvalue().endswith(" INFO    event started: approved by vm-b  scope=web event_id=E-1 vms=2\n")


def test_json_is_one_object_per_line_with_the_ids_as_keys(logger):
    """Time in ISO UTC to the millisecond, level, logger, message, and the ids."""
    out = io.StringIO()

    logger(JsonFormatter(), out).info("event started: approved by %s", "vm-b", extra=IDS)

    line = json.loads(out.getvalue())
    assert out.getvalue().count("\n") == 1
    assert line.pop("time").endswith("Z")
    assert line == {"level": "info", "logger": "notbefore.turn", "message": "event started: approved by vm-b", **IDS}


def test_a_field_cannot_take_the_place_of_time_level_or_message(logger):
    """Whatever an id is called, a line keeps its shape."""
    out = io.StringIO()

    logger(JsonFormatter(), out).error("so", extra={"time": "never", "level": "none", "path": object})

    assert json.loads(out.getvalue())["level"] == "error"
    assert json.loads(out.getvalue())["time"] != "never"


def test_names_with_spaces_or_line_breaks_stay_on_one_line_and_in_one_field(logger):
    """Nobody writes a second log line through the name of a VM."""
    out = io.StringIO()

    logger(TextFormatter(), out).info("declared by %s", "a\nb", extra={"scope": "my scope\n2026 INFO fake=1"})

    assert out.getvalue().count("\n") == 1
    assert 'declared by a b  scope="my scope\\n2026 INFO fake=1"' in out.getvalue()


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_a_breakdown_carries_its_traceback(logger, formatter):
    """In JSON as a field of the same line."""
    out = io.StringIO()
    try:
        {}["gone"]
    except KeyError:
        logger(formatter, out).exception("executor broke down", extra={"attempt_id": "A-1"})

    assert "KeyError: 'gone'" in out.getvalue()
    assert "A-1" in out.getvalue().splitlines()[0]


def test_a_log_that_cannot_be_written_disturbs_nobody(logger, capsys):
    """A full disk under the log stops no server and prints no traceback."""
    logger(TextFormatter(), FullDisk()).info("event started")

    assert capsys.readouterr().err == ""


def test_a_server_logs_json_when_told(served):
    """`[log] format = "json"`: every line of the process is an object with the ids of its decision."""
    server = served("--demo", NOTBEFORE_LOG_FORMAT="json", NOTBEFORE_LOG_LEVEL="debug")
    event = server.control("POST", "/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {})[1]
    server.stop()

    lines = [json.loads(line) for line in server.log.read_text().splitlines()]

    (scheduled,) = [line for line in lines if line["message"].startswith("event scheduled: ")]
    assert scheduled["event_id"] == event["id"]
    assert (scheduled["scope"], scheduled["type"], scheduled["vms"]) == ("demo", "Reboot", 1)
    assert server.token not in server.log.read_text()
