"""scopes, vms, events, history: JSON for programs, aligned columns for pipes (DESIGN §4)."""

import re

import pytest
from cli_fakes import EVENT, NOON, OTHER_EVENT, change, event, record, scope, vm
from cli_runs import BOX_DRAWING

SENTENCE = "the approval of any VM of scope shop, or 2026-03-02T12:15:00Z"


@pytest.fixture
def shop(server):
    server.answers("GET", "/v1/scopes", {"scopes": [scope("shop", vm("web-1"), vm("web-2")), scope("lab")]})
    server.answers("GET", "/v1/scopes/shop", scope("shop", vm("web-1"), vm("web-2", host="h1", last_asked=NOON)))
    server.answers("GET", "/v1/events", {"events": [event(), event(id=OTHER_EVENT, vms=["web-1", "web-2"])]})
    told = change("started: notice ended", "its notice ended"), change("enabled", "web-1 asked", event=None)
    server.answers("GET", "/v1/history", {"history": [record(*told, revision=41)], "next": 41})
    return server


@pytest.mark.parametrize(
    ("command", "noun", "path"),
    [("scopes", "scopes", "/v1/scopes"), ("events", "events", "/v1/events"), ("history", "history", "/v1/history")],
)
def test_json_is_the_array_of_the_apis_objects(cli, server, command, noun, path):
    """DESIGN §4: every list takes --json."""
    things = [{"name": "a", "any": {"thing": [1, None]}}, {"name": "ü"}]
    server.answers("GET", path, {noun: things})

    ran = cli(command, "--json")

    assert ran.json == things
    assert "ü" in ran.out
    assert ran.code == 0


def test_vms_as_json_say_which_scope_each_is_in(cli, shop):
    """A VM is known by its name within its scope, so the name alone would not do."""
    ran = cli("vms", "--json")

    assert [(one["scope"], one["name"]) for one in ran.json] == [("shop", "web-1"), ("shop", "web-2")]


@pytest.mark.parametrize("command", ["scopes", "vms", "events", "history"])
def test_a_list_into_a_pipe_is_plain_aligned_columns(cli, shop, command):
    """What a program cuts into columns holds no box drawing, no colours, and one line per row."""
    ran = cli(command)

    header, *rows = ran.lines
    second_column = re.search(" {2,}", header).end()
    assert rows
    assert all(row[second_column - 1] == " " != row[second_column] for row in rows)
    assert not [character for character in ran.out if ord(character) in BOX_DRAWING or character == "\x1b"]


def test_an_event_is_listed_whole(cli, shop):
    """An id is never cut, nor is the sentence that says what it waits for."""
    ran = cli("events")

    assert ran.lines[1].split("  ")[0] == EVENT
    assert ran.lines[2].split("  ")[0] == OTHER_EVENT
    assert all(line.endswith(SENTENCE) for line in ran.lines[1:])
    assert "web-1, web-2" in ran.out


@pytest.mark.parametrize(
    ("args", "query"),
    [
        ((), {}),
        (("--scope", "shop"), {"scope": ["shop"]}),
        (("--status", "queued", "--status", "STARTED"), {"status": ["Queued", "Started"]}),
        (("--all",), {"status": ["Queued", "Scheduled", "Started", "Completed", "Cancelled", "Failed"]}),
    ],
)
def test_events_are_filtered_by_the_server(cli, shop, args, query):
    """Without a filter the server lists the live ones; a status is understood in any letter case."""
    cli("events", *args)

    assert shop.requests[-1].query == query


def test_a_status_that_does_not_exist_is_wrong_usage(cli, server):
    """DESIGN §4: exit code 2, and the words there are."""
    cli("events", "--status", "Gone").is_wrong_usage_of("--status", "'Gone'", "Scheduled", "`notbefore events --help`")

    assert server.requests == []


def test_all_and_status_exclude_each_other(cli):
    """Asked for everything and for something, it cannot know which was meant."""
    cli("events", "--all", "--status", "Started").is_wrong_usage_of("--all", "--status")


def test_vms_of_one_scope_are_asked_of_that_scope(cli, shop):
    """An unknown scope is then the server's refusal, not an empty list."""
    ran = cli("vms", "--scope", "shop")

    assert shop.requests[-1].path == "/v1/scopes/shop"
    assert ran.lines[2].split() == ["web-2", "shop", "0", "h1", "10.0.0.1", "running", NOON]


def test_history_is_asked_for_with_every_filter(cli, shop):
    """History is resumable: --after continues where the last revision ended."""
    ran = cli("history", "--scope", "shop", "--event", EVENT.lower(), "--limit", "5", "--after", "40")

    wanted = {"scope": ["shop"], "event": [EVENT], "limit": ["5"], "after": ["40"]}
    assert shop.requests[-1].query == wanted
    assert ran.lines[1].split("  ")[0] == "41"
    assert "Reboot started: notice ended" in ran.lines[1]
    assert ran.lines[1].endswith(EVENT)
    assert ran.lines[2].endswith("-")


@pytest.mark.parametrize("command", ["scopes", "vms", "events", "history"])
def test_an_empty_list_says_so(cli, server, command):
    """A person reads a sentence, not an empty table; a program reads an empty array."""
    server.answers("GET", "/v1/scopes", {"scopes": []})
    server.answers("GET", "/v1/events", {"events": []})
    server.answers("GET", "/v1/history", {"history": [], "next": 0})

    assert cli(command).out.startswith("No ")
    assert cli(command, "--json").json == []


def test_what_cannot_be_printed_does_not_reach_the_terminal(cli, server):
    """A description is someone else's text; it may not move the cursor or break the row."""
    server.answers("GET", "/v1/events", {"events": [event(waiting_for="a\x1b[2J\nb")]})

    ran = cli("events")

    assert "\x1b" not in ran.out
    assert len(ran.lines) == 2


def test_on_a_terminal_sentences_fold_and_the_rest_stays_whole(cli, shop):
    """Colours and folding are for people; an id is whole for whoever copies it."""
    ran = cli.on_terminal(150, "events")

    assert ran.code == 0
    assert "\x1b[33mScheduled\x1b[0m" in ran.out
    assert f"{EVENT}  shop   Reboot" in ran.out
    assert SENTENCE not in ran.out


def test_on_a_narrow_terminal_each_row_is_a_block(cli, shop):
    """Nothing is cut, however narrow the terminal."""
    ran = cli.on_terminal(60, "events")

    assert ran.lines[0] == f"ID           {EVENT}"
    assert f"WAITING FOR  {SENTENCE}" in ran.lines
    assert len(ran.lines) == 2 * 8 + 1
