"""--watch and --wait: what becomes of a list, and of the events somebody made, while somebody looks (DESIGN §4)."""

import json
import signal

import pytest
from cli_fakes import EVENT, OTHER_EVENT, clock, event, scope, vm
from cli_runs import PROGRAM, ended

SCHEDULED = event()
STARTED = event(status="Started", not_before=None, waiting_for="the impact to be over on web-1")
ENDED = event(status="Completed", waiting_for="")


def told(process):
    """One line of its output, without the line's end."""
    return process.stdout.readline().rstrip("\n")


def interrupted(process):
    process.send_signal(signal.SIGINT)
    return ended(process)


def test_a_watched_list_in_a_pipe_is_a_line_per_change(cli, server):
    """`+` appeared, `~` changed, `-` gone; what stays as it is is not said again."""
    other = event(id=OTHER_EVENT)
    rounds = ([SCHEDULED], [SCHEDULED, other], [SCHEDULED, other], [STARTED])
    server.answers("GET", "/v1/events", *({"events": one} for one in rounds))

    with cli.process(PROGRAM, "events", "--watch") as process:
        lines = [told(process) for _ in range(5)]
        interrupted(process)

    assert lines[0].split()[:2] == ["ID", "SCOPE"]
    assert [(line[:1], line.split()[1]) for line in lines[1:]] == [
        ("+", EVENT),
        ("+", OTHER_EVENT),
        ("-", OTHER_EVENT),
        ("~", EVENT),
    ]
    assert lines[4].endswith("the impact to be over on web-1")


def test_a_watched_list_as_json_is_a_json_line_per_change(cli, server):
    """The API's objects, each with what became of it."""
    server.answers("GET", "/v1/events", {"events": [SCHEDULED]}, {"events": [STARTED]}, {"events": []})

    with cli.process(PROGRAM, "events", "--watch", "--json") as process:
        lines = [json.loads(told(process)) for _ in range(3)]
        interrupted(process)

    assert lines == [
        {"change": "appeared", "item": SCHEDULED},
        {"change": "changed", "item": STARTED},
        {"change": "gone", "item": STARTED},
    ]


@pytest.mark.parametrize(("command", "width"), [("scopes", 100), ("vms", 120)])
def test_who_asked_when_is_no_change_worth_a_line(cli, server, command, width):
    """A VM asks every second; a pipe is not to be flooded with it."""
    asked = scope("shop", vm("web-1", last_asked="2026-03-02T12:00:01Z"), last_asked="2026-03-02T12:00:01Z")
    changed = scope("shop", vm("web-1", update_domain=4), incarnation=8)
    server.answers("GET", "/v1/scopes", *({"scopes": [one]} for one in (scope("shop", vm("web-1")), asked, changed)))

    with cli.process(PROGRAM, command, "--watch") as process:
        lines = [told(process) for _ in range(3)]
        interrupted(process)

    assert [line[0] for line in lines[1:]] == ["+", "~"]


def test_a_server_that_goes_away_is_said_once_and_waited_for(cli, server):
    """Whoever watches wants to see it come back."""
    server.answers("GET", "/v1/events", {"events": [SCHEDULED]}, b"<html>", b"<html>", {"events": []})

    with cli.process(PROGRAM, "events", "--watch") as process:
        lines = [told(process) for _ in range(3)]
        ran = interrupted(process)

    assert lines[2].startswith(f"- {EVENT}")
    assert ran.err.count("is not the control API") == 1


def test_a_watched_list_on_a_terminal_is_one_table_drawn_anew(cli, server):
    """A live table: the new picture takes the place of the old one."""
    server.answers("GET", "/v1/events", {"events": [SCHEDULED]}, {"events": [STARTED]}, {"events": []})

    with cli.at_terminal(200, "events", "--watch") as (_, screen):
        seen = screen.until("No events.")

    assert "Scheduled" in seen
    assert "Started" in seen
    assert "\x1b[1A" in seen or "\x1b[2K" in seen


@pytest.mark.parametrize(
    "words",
    [("scopes",), ("vms",), ("events",), ("hosts",), ("history",), ("token", "list"), ("operations",), ("rollouts",)],
    ids=" ".join,
)
def test_every_list_can_be_watched(cli, words):
    """DESIGN §4: every list takes --json and --watch."""
    told = cli(*words, "--help", COLUMNS="200").out

    assert "--watch" in told
    assert "--json" in told


def test_ctrl_c_ends_a_watched_list_quietly(cli, server):
    server.answers("GET", "/v1/events", {"events": [SCHEDULED]})

    with cli.process(PROGRAM, "events", "--watch") as process:
        told(process)
        ran = interrupted(process)

    assert (ran.code, ran.err) == (130, "")


# -- --wait


@pytest.fixture
def waited_for(server):
    """An event that is Scheduled, then Started, then Completed, while a minute of its notice passes."""
    server.answers("POST", "/v1/scopes/shop/vms/web-1/restart", SCHEDULED, status=202)
    server.answers("GET", f"/v1/events/{EVENT}", SCHEDULED, STARTED, STARTED, ENDED)
    server.answers("GET", "/v1/clock", clock(), clock(now="2026-03-02T12:00:28Z"))
    return server


def test_waiting_on_a_terminal_counts_the_notice_down(cli, waited_for):
    """Issue: --wait counts the notice down; then it says what it waits for."""
    ran = cli.on_terminal(200, "restart", "shop/web-1", "--wait", TZ="UTC")

    assert ran.code == 0
    assert "15:00  Reboot of web-1 is Scheduled: waiting for the approval of any VM" in ran.out
    assert "14:32  Reboot of web-1 is Scheduled" in ran.out
    assert "Reboot of web-1 is Started: waiting for the impact to be over on web-1" in ran.out
    assert f"Reboot completed: web-1  {EVENT}" in ran.out


def test_waiting_in_a_pipe_is_a_line_per_change(cli, waited_for):
    """What was said is not said again."""
    ran = cli("restart", "shop/web-1", "--wait")

    assert ran.lines == [
        f"Reboot scheduled: web-1, not before 2026-03-02T12:15:00Z  {EVENT}",
        f"  waiting for {SCHEDULED['waiting_for']}",
        f"Reboot started: web-1  {EVENT}",
        "  waiting for the impact to be over on web-1",
        f"Reboot completed: web-1  {EVENT}",
    ]
    assert not [request for request in waited_for.requests if request.path == "/v1/clock"]


def test_waiting_for_json_prints_the_end_alone(cli, waited_for):
    assert [one["status"] for one in cli("restart", "shop/web-1", "--wait", "--json").json] == ["Completed"]
