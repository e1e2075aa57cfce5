"""clock: showing the time that events go by, and turning an emulator's (SPEC §4)."""

import pytest
from cli_fakes import EVENT, NOON, change, clock, event, record


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("15m", 900),
        ("2h", 7200),
        ("1d", 86400),
        ("1h30m", 5400),
        ("1d2h3m4s", 93784),
        ("0", 0),
    ],
)
def test_the_clock_is_advanced_by_a_duration(cli, server, typed, seconds):
    """Durations are 90, 90s, 15m, 2h, 1d, 1h30m."""
    server.answers("POST", "/v1/clock", clock(happened=[]))

    assert cli("clock", "advance", typed).code == 0
    assert server.requests[-1].body == {"advance_s": seconds}


@pytest.mark.parametrize("typed", ["", "m", "15x", "1h30", "30m1h", "-5m", "1.5h", "fifteen", "9" * 5000])
def test_what_is_no_duration_is_wrong_usage(cli, server, typed):
    """Said with the forms there are, before anything is turned."""
    assert cli("clock", "advance", "--", typed).is_wrong_usage_of("DURATION", "15m")
    assert server.requests == []


def test_turning_the_clock_tells_what_happened_one_line_per_change(cli, server):
    """SPEC §4: advance answers with what happened."""
    started = change("started: notice ended", "its notice ended", event=event(vms=["web-1", "web-2"]))
    told = [
        record(started, at="2026-03-02T12:15:00Z"),
        record(change("enabled", "the scope listens", event=None), at="2026-03-02T12:15:30Z"),
    ]
    server.answers("POST", "/v1/clock", clock(now="2026-03-02T12:16:00Z", happened=told))

    ran = cli("clock", "to-next")

    assert server.requests[-1].body == {"to_next": True}
    assert ran.lines == [
        f"12:15:00  Reboot started: its notice ended  web-1, web-2  {EVENT}",
        "12:15:30  enabled: the scope listens  scope shop",
        "now 2026-03-02T12:16:00Z",
    ]


def test_what_happened_on_another_day_is_told_with_its_date(cli, server):
    """A clock turned by days would otherwise tell times that look out of order."""
    told = [record(change("completed", "over"), at="2026-03-01T23:59:00Z")]
    server.answers("POST", "/v1/clock", clock(happened=told))

    assert cli("clock", "advance", "1d").lines[0].startswith("2026-03-01T23:59:00Z  Reboot completed: over")


@pytest.mark.parametrize("args", [("clock",), ("clock", "show")])
def test_the_clock_is_shown_with_what_is_due_next(cli, server, args):
    """DESIGN §4: `clock` alone shows it."""
    server.answers("GET", "/v1/clock", clock(next_due="2026-03-02T12:15:00Z"))

    assert cli(*args).lines == [f"now {NOON}  (manual clock, paused)", "next due 2026-03-02T12:15:00Z"]


def test_a_clock_that_runs_is_shown_with_its_rate(cli, server):
    server.answers("GET", "/v1/clock", clock("rate", rate=60.0, paused=False))

    assert cli("clock").lines == [f"now {NOON}  (rate clock, running at rate 60)", "next due -"]


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (("rate", "60"), {"rate": 60}),
        (("rate", "0.5"), {"rate": 0.5}),
        (("pause",), {"paused": True}),
        (("resume",), {"paused": False}),
    ],
)
def test_the_clock_is_let_run_and_stopped(cli, server, words, body):
    """DESIGN §4: `clock rate 60`, `pause`, `resume`."""
    server.answers("POST", "/v1/clock", clock(rate=60.0, paused=words[0] == "pause", happened=[]))

    ran = cli("clock", *words)

    pace = "paused" if words[0] == "pause" else "running at rate 60"
    assert ran.lines == [f"now {NOON}  (manual clock, {pace})"]
    assert server.requests[-1].body == body


@pytest.mark.parametrize("typed", ["0", "-1", "86401", "fast", "nan"])
def test_what_is_no_rate_is_wrong_usage(cli, server, typed):
    """Above 0, up to a day in a second."""
    assert cli("clock", "rate", "--", typed).is_wrong_usage_of("N")
    assert server.requests == []


@pytest.mark.parametrize("args", [("show",), ("advance", "5m"), ("to-next",), ("rate", "60"), ("pause",), ("resume",)])
def test_clock_answers_are_printed_as_json_when_asked(cli, server, args):
    """Every command takes --json and prints the API's answer."""
    answer = clock("real", happened=[])
    server.answers("GET", "/v1/clock", answer)
    server.answers("POST", "/v1/clock", answer)

    assert cli("clock", *args, "--json").json == answer


def test_a_real_clock_cannot_be_turned(cli, server):
    """SPEC §4: only the emulator's clock is manual; the server's refusal comes through with its hint."""
    server.refuses("POST", "/v1/clock", "not_allowed", "This server runs on the real clock.", "Start an emulator.")

    cli("clock", "advance", "5m").is_refused_with("This server runs on the real clock.", "hint: Start an emulator.")
