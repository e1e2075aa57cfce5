"""What the control API logs of its requests: who, what, how it ended; and never a secret."""

import logging

import pytest

LOGGER = "notbefore.control.requests"


@pytest.fixture
def told(caplog):
    """`told()`: the request lines so far, without those of health checks."""
    caplog.set_level(logging.DEBUG, "notbefore")
    return lambda: [one for one in caplog.records if one.name == LOGGER]


def test_a_change_is_told_at_info_with_who_what_and_how_long(lab, told):
    """STYLE: a log line is a decision, once, with ids as fields."""
    lab.declare("web", "web-0")

    (line,) = told()
    assert line.levelno == logging.INFO
    assert (line.by, line.method, line.route, line.status) == ("admin", "PUT", "/v1/scopes/{scope}", 201)
    assert line.duration_ms >= 0
    assert line.getMessage() == "control request answered"


def test_reading_is_told_at_debug(lab, told):
    """`[log] level = "debug"` shows them; who only watches does not fill the log."""
    lab.control("GET", "/v1/scopes")

    assert [line.levelno for line in told()] == [logging.DEBUG]


def test_a_refused_command_is_told_at_info_with_its_code(lab, told):
    lab.declare("web", "web-0")
    lab.operate("web", "nobody", "restart")

    line = told()[-1]
    assert (line.levelno, line.status, line.code) == (logging.INFO, 404, "unknown_vm")
    assert line.getMessage() == "control request refused"


def test_who_tries_wrong_tokens_cannot_fill_the_log(lab, told):
    """And is nobody."""
    lab.control("GET", "/v1/scopes", token="wrong-SECRET")

    (line,) = told()
    assert (line.levelno, line.by, line.status, line.code) == (logging.DEBUG, "nobody", 401, "unauthorized")


def test_neither_tokens_nor_names_in_paths_and_queries_are_told(lab, told, caplog):
    """Issue: no token ever appears in logs. The route is the template, and the query is left out."""
    lab.control("GET", "/v1/events/SECRET-in-path?scope=SECRET-in-query&token=SECRET")
    lab.control("GET", "/SECRET-page", token="SECRET-token")

    assert len(told()) == 2
    for line in caplog.records:
        assert "SECRET" not in f"{line.getMessage()} {vars(line)}"
        assert lab.server.token not in f"{line.getMessage()} {vars(line)}"


@pytest.mark.one_process("the log of this process is looked at")
def test_a_vms_refused_approval_is_told_at_debug_with_its_code(lab, caplog):
    """A VM may not fill the log either."""
    caplog.set_level(logging.DEBUG, "notbefore")
    lab.declare("web", {"name": "web-0", "addresses": ["127.0.0.1"]})
    lab.approve("11111111-2222-3333-4444-555555555555")

    (line,) = [one for one in caplog.records if one.name == "notbefore.metadata"]
    assert (line.levelno, line.scope, line.vm, line.code) == (logging.DEBUG, "web", "web-0", "unknown_event")


def test_each_decision_is_told_once_with_its_ids(lab, caplog):
    """STYLE: `event started: approved by vm-b  event_id=… vms=2`; the request's own line does not say it again."""
    caplog.set_level(logging.DEBUG, "notbefore")
    lab.declare("web", {"name": "web-0", "addresses": ["127.0.0.1"]})
    lab.document()
    event = lab.made("web", "web-0", "restart")
    lab.approve(event["id"])
    lab.advance(60)

    decisions = [one for one in caplog.records if one.name == "notbefore.turn" and getattr(one, "event_id", "")]
    recorded = [change for record in lab.history() for change in record["changes"] if change["event"]]
    assert len(decisions) == len(recorded)
    assert {line.event_id for line in decisions} == {event["id"]}
    assert all((line.scope, line.type, line.vms) == ("web", "Reboot", 1) for line in decisions)
