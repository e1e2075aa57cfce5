"""Times: UTC for programs, the reader's own zone on a terminal, UTC there too on request."""

import pytest
from cli_fakes import EVENT, NOON, change, clock, event, record

PARIS = {"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}
NOT_BEFORE, LOCAL = "2026-03-02T12:15:00Z", "2026-03-02T13:15:00+01:00"


@pytest.fixture
def one_event(server):
    server.answers("GET", "/v1/events", {"events": [event()]})
    server.answers("GET", "/v1/clock", clock())
    return server


def test_on_a_terminal_times_are_local_and_say_their_zone(cli, one_event):
    """In every column and sentence; ISO 8601 with its offset, so that it can be pasted back."""
    ran = cli.on_terminal(250, "events", **PARIS)

    assert ran.out.count(LOCAL) == 2
    assert "Z" not in ran.out.replace("\x1b", "").partition(EVENT)[2]


@pytest.mark.parametrize(
    ("args", "env"),
    [(("events", "--utc"), {}), (("--utc", "events"), {}), (("events",), {"NOTBEFORE_UTC": "1"})],
)
def test_utc_is_one_word_or_one_variable(cli, one_event, args, env):
    """--utc before or behind the command, or NOTBEFORE_UTC=1."""
    ran = cli.on_terminal(250, *args, **PARIS, **env)

    assert ran.out.count(NOT_BEFORE) == 2
    assert LOCAL not in ran.out


@pytest.mark.parametrize("args", [("events",), ("events", "--json")])
def test_into_a_pipe_times_are_utc_wherever_the_reader_is(cli, one_event, args):
    """DESIGN §5: times ISO 8601 UTC."""
    ran = cli(*args, **PARIS)

    assert NOT_BEFORE in ran.out
    assert "+01:00" not in ran.out


def test_in_the_zone_of_utc_local_time_is_utc(cli, one_event):
    assert cli.on_terminal(250, "events", TZ="UTC").out.count(NOT_BEFORE) == 2


def test_a_local_time_is_taken_back(cli, server):
    """What the terminal shows, --not-before takes."""
    server.answers("POST", "/v1/scopes/shop/vms/web-1/restart", event(), status=202)

    cli("restart", "shop/web-1", "--not-before", LOCAL)

    assert server.requests[-1].body == {"not_before": LOCAL}


def test_the_clock_and_what_it_did_are_told_in_one_zone(cli, server):
    """A time of day without its zone would be the wrong one for somebody."""
    happened = [record(change("started: notice ended", "its notice ended"))]
    server.answers("POST", "/v1/clock", {**clock(), "happened": happened})

    local = cli.on_terminal(200, "clock", "advance", "15m", **PARIS)
    utc = cli("clock", "advance", "15m", **PARIS)

    assert local.lines[0].startswith("2026-03-02T13:00:00+01:00  Reboot started")
    assert local.lines[1] == "now 2026-03-02T13:00:00+01:00"
    assert utc.lines[0].startswith("12:00:00  Reboot started")
    assert utc.lines[1] == f"now {NOON}"


def test_an_error_on_a_terminal_is_local_too(cli, server):
    server.refuses("GET", "/v1/events", "too_early", f"It may not start before {NOT_BEFORE}.")

    assert f"before {LOCAL}." in cli.on_terminal(200, "events", **PARIS).out
