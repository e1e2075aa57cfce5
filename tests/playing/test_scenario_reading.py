"""Scenario files: what is wrong in one is said with file, line and what was expected there; nothing is played."""

import pytest
from small_plays import FLEET, played

from notbefore.core.errors import Invalid
from notbefore.scenarios.library import names, scenario_of, text_of
from notbefore.scenarios.reading import FILE_MAX_BYTES, LINES_MAX, VMS_MAX, read_scenario
from notbefore.scenarios.spans import seconds_in, shown_span
from notbefore.scenarios.steps import Operate, Wanted

LAST = FLEET.count("\n")


def refusal_of(text):
    with pytest.raises(Invalid) as refused:
        read_scenario("mine.txt", text)
    assert refused.value.hint
    return refused.value


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "operater restarts web-0",
            "expected `operator`, `host`, `history of`, `at`, `after` or a VM of this scenario",
        ),
        ("operator reboots web-0", "expected restarts or redeploys or freezes or evicts or terminates or maintains or"),
        ("operator restarts", "expected a VM of this scenario, not the end of the line"),
        ("operator restarts web-9", "expected a VM of this scenario, not 'web-9' (perhaps web-"),
        ("operator restarts web-0 now", "expected the end of the line, not now"),
        (
            "operator restarts web-0, soon",
            'expected `not before TIME`, `duration SECONDS`, "a description", `as NAME` or',
        ),
        ("operator restarts web-0, not before noon", "expected a time such as 0s, 14m59s, 2h or 7d, not noon"),
        ("operator restarts web-0, not before 400d", "expected a time such as"),
        ("operator restarts web-0, duration long", "expected seconds, or -1, not long"),
        ("operator restarts web-0, as", "expected a name for the event, not the end of the line"),
        ("operator maintains Nap of scope shop", "expected Freeze or Reboot or Redeploy, not Nap"),
        ("operator maintains Preempt of scope shop", "expected Freeze or Reboot or Redeploy, not Preempt"),
        ("operator maintains Freeze scope shop", "expected `of`, not scope"),
        (
            "operator maintains Freeze of scope shp",
            "expected a scope of this scenario, not 'shp' (perhaps shop is meant)",
        ),
        ("operator maintains Freeze of host rack-c", "expected a host of this scenario, not 'rack-c'"),
        ("operator maintains Freeze of update domain one of scope shop", "expected the number of an update domain"),
        ("operator maintains Freeze of update domain 1", "expected `of scope`, not the end of the line"),
        ("operator maintains Freeze of scope shop, as it", '"a description" or `refused`, not as'),
        ("operator cancels it", "expected an event that an earlier line names with `as`, not 'it'"),
        ("host rack-a burns", "expected `fails`, not burns"),
        ("history of it says", "expected an event that an earlier line names with `as`"),
        ("history of scope shop tells scheduled", "expected `says`, not tells"),
        ("history of scope shop says scheduled", "expected a quoted text, not scheduled"),
        ("web-0 dances", "expected `asks`, `approves`, `sees`, `no longer sees` or `is`, not dances"),
        ("web-0 asks nicely", "expected the end of the line, not nicely"),
        ("web-0 sees Nap", "expected Freeze, Reboot, Redeploy, Preempt, Terminate, `only`, `nothing` or `incarnation`"),
        ("web-0 sees Freeze Queued of web-0", "expected Scheduled or Started, not Queued"),
        ("web-0 sees Freeze Scheduled", "expected `of`, not the end of the line"),
        ("web-0 sees Freeze Scheduled of web-0 and", "expected a VM of this scenario, not the end of the line"),
        ("web-0 sees Freeze Scheduled of web-0, source Cloud", "expected Platform or User, not Cloud"),
        (
            "web-0 sees Freeze Scheduled of web-0, soon",
            '`source Platform`, `duration SECONDS`, "a description" or `as NAME`',
        ),
        (
            "web-0 sees Freeze Started of web-0, not before 15m",
            "expected no `not before` of a Started event: it shows none",
        ),
        ('web-0 sees Freeze Scheduled of web-0, "Host', 'expected a closing `"`, not "Host'),
        ("web-0 sees incarnation 3", "expected changed or unchanged, not 3"),
        ("web-0 is happy", "expected running or deallocated or gone, not happy"),
        ("web-0 is running on rack-c", "expected a host of this scenario, not 'rack-c'"),
        ("at noon", "expected a time such as 0s, 14m59s, 2h or 7d, not noon"),
        ("at 1s", "expected a time that is not before 1m, not 1s"),
        ("after 366d", "expected times up to 366d after the start, not 366d1m"),
        ("web-0\x07 asks", "expected a line of up to 1000 characters that can be printed"),
    ],
)
def test_a_line_that_is_none_is_said_with_what_was_expected(line, expected):
    """Errors name file, line and what was expected there."""
    refusal = refusal_of(f"{FLEET}at 1m\n  web-0 asks\n  {line}\n")

    assert refusal.message.startswith(f"mine.txt, line {LAST + 3}: "), refusal.message
    assert expected in refusal.message
    assert refusal.facts == {"file": "mine.txt", "line": LAST + 3}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("vm web-0", "expected a VM with a name of its own, not 'web-0', which is there already"),
        ("vm WEB-0", "expected a VM with a name of its own, not 'WEB-0', which is there already"),
        ("vm operator", "expected a name for the VM, not 'operator', which begins other lines"),
        ("vm web-5, update domain one", "expected the number of an update domain, not one"),
        ("vm web-5, big", "expected `update domain N`, `fault domain N`, `host NAME` or `spot`, not big"),
        ("vm web-5, host rack-z", "expected a host of this scenario, not 'rack-z'"),
        ("host rack-a", "expected a host with a name of its own"),
        ("host a/b", "expected the name of a host, not 'a/b'"),
        ("scope shop", "expected a scope with a name of its own"),
        ("scope pool, set", "expected cloud-service or availability-set or scale-set or standalone, not set"),
        ("setting notice_s", "expected `setting NAME = VALUE` after its `scope`, not notice_s"),
        ("setting notice_s = {", "expected a value as in fleet.toml"),
        ("Freeze lasts 5s", "expected `takes`, not lasts"),
        ("Freeze takes long", "expected a time such as"),
        ("Freeze takes 5s, then 5m", "expected `of checks`, not the end of the line"),
        ("title: Another", "expected one `title: TEXT`, not a second one"),
        (
            "Nap takes 5s",
            "expected `title:`, `about:`, `host`, `scope`, `setting`, `vm`, a type such as Freeze, or `at`",
        ),
        ("after 5m", "a type such as Freeze, or `at`, not after"),
    ],
)
def test_a_fleet_that_is_none_is_said_with_what_was_expected(line, expected):
    refusal = refusal_of(f"{FLEET}{line}\nat 0s  web-0 asks\n")

    assert refusal.message.startswith(f"mine.txt, line {LAST + 1}: "), refusal.message
    assert expected in refusal.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1: expected `title: TEXT` somewhere before the first `at`"),
        ("title: x\n", "line 1: expected `about: TEXT`"),
        ("title: x\nabout: y\n", "line 2: expected a `scope` with at least one `vm`"),
        ("vm web-0\n", "line 1: expected a `scope` before its first `vm`"),
        ("setting recovery_s = 5\n", "line 1: expected `setting NAME = VALUE` after its `scope`"),
        (FLEET, f"line {LAST}: expected `at TIME`, and something that happens then"),
        (f"{FLEET}at 5m\n", f"line {LAST + 1}: expected `at TIME`, and something that happens then"),
        ("\n" * (LINES_MAX + 1), f"line {LINES_MAX + 1}: a scenario has at most {LINES_MAX} lines"),
        ("scope s\n" + "\n".join(f"vm v{n}" for n in range(VMS_MAX + 1)), f"expected at most {VMS_MAX} VMs"),
    ],
)
def test_a_file_that_lacks_something_is_said_with_what(text, expected):
    assert expected in refusal_of(text).message


def test_what_the_server_has_against_the_fleet_names_the_line_of_its_scope():
    """Nothing is played then."""
    with pytest.raises(Invalid, match=r"few\.txt, line 5, scope shop: .*notice") as refused:
        played("at 0s  web-0 asks", fleet=FLEET.replace("  vm web-0", "  setting notice = 5\n  vm web-0"))

    assert refused.value.hint is not None


def test_comments_white_space_quotes_and_letter_case_are_for_people():
    scenario = read_scenario(
        "mine.txt",
        '# A comment\nTitle: A # comment\nabout: y\nscope s, Scale-Set # set\n\n\tvm "a vm, with #1", SPOT\n'
        'AT 1H30M Operator Restarts "A VM, with #1", "It says \\"now\\" # here", AS it # done\n',
    )

    assert (scenario.title, scenario.scopes[0].kind) == ("A", "scale-set")
    [line] = scenario.lines
    assert line.at_s == 5400
    assert line.says == Operate(
        "restart", "a vm, with #1", Wanted(None, None, 'It says "now" # here'), "it", refused=False
    )


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0), ("14m59s", 899), ("1h30m", 5400), ("7d", 604800), ("366d", 31622400)]
)
def test_times_are_read_and_shown_as_people_write_them(text, seconds):
    assert seconds_in(text) == seconds
    assert shown_span(seconds) == text


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "5m1h", "367d", "1.5h"])
def test_what_is_no_time_is_none(text):
    assert seconds_in(text) is None


def test_a_time_before_the_start_is_shown_as_such():
    assert shown_span(-90) == "-1m30s"


def test_lines_at_one_time_are_one_moment_and_after_counts_on():
    scenario = read_scenario("mine.txt", f"{FLEET}at 1m web-0 asks\nweb-1 asks\nafter 30s\nweb-0 asks\n")

    assert [(at_s, len(lines)) for at_s, lines in scenario.moments()] == [(60, 2), (90, 1)]


def test_a_file_is_played_as_a_built_in_one_is(tmp_path):
    """`play --show` is a start for one's own."""
    file = tmp_path / "mine.txt"
    file.write_text(text_of("live-migration"))

    assert scenario_of(str(file)).lines == scenario_of("live-migration").lines


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "Cannot read"),
        (b"title: \xff\n", "line 1: expected text in UTF-8"),
        (b"#" * (FILE_MAX_BYTES + 1), "more than"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, expected):
    file = tmp_path / "mine.txt"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(Invalid, match=expected) as refused:
        scenario_of(str(file))
    assert str(file) in refused.value.message


def test_a_name_that_nobody_has_is_said_with_one_that_is_alike():
    with pytest.raises(Invalid, match="Perhaps host-failure is meant"):
        scenario_of("host-failur")
    with pytest.raises(Invalid, match="neither a scenario nor a file 'zzz'"):
        scenario_of("zzz")
    assert "host-failure" in names()
