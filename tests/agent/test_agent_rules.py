"""Which rule decides about an event: the first that matches (issue 9)."""

import pytest
from agent_story import a_rule, event_of

from notbefore.agent.rules import first_match, matches, mismatches


@pytest.mark.parametrize(
    ("rule", "event", "expected"),
    [
        ({}, {}, True),
        ({"types": ("freeze", "reboot")}, {"kind": "REBOOT"}, True),
        ({"types": ("freeze",)}, {"kind": "Reboot"}, False),
        ({"sources": ("user",)}, {"EventSource": "User"}, True),
        ({"sources": ("user",)}, {"EventSource": ""}, False),
        ({"statuses": ("scheduled",)}, {"status": "Started"}, False),
        ({"max_duration_s": 9}, {"DurationInSeconds": 9}, True),
        ({"max_duration_s": 9}, {"DurationInSeconds": 10}, False),
        ({"max_duration_s": 9}, {"DurationInSeconds": -1}, False),
        ({"min_duration_s": 5}, {"DurationInSeconds": 5}, True),
        ({"min_duration_s": -1}, {"DurationInSeconds": -1}, False),
        ({"description": "*LIVE MIGRATION*"}, {"Description": "a memory-preserving Live Migration operation."}, True),
        ({"description": "*migration*"}, {"Description": ""}, False),
        ({"vm": "WEB-*"}, {"vms": ("db-1", "web-1")}, True),
        ({"vm": "app-*"}, {"vms": ("db-1", "web-1")}, False),
        ({"of": "mine"}, {"vms": ("db-1", "web-1")}, True),
        ({"of": "mine"}, {"vms": ("db-1",)}, False),
        ({"of": "mine"}, {"vms": ()}, False),
        ({"of": "peer"}, {"vms": ("db-1",)}, True),
        ({"of": "peer"}, {"vms": ("db-1", "WEB-1")}, False),
        ({"of": "any"}, {"vms": ("db-1",)}, True),
    ],
)
def test_a_rule_matches_when_nothing_it_says_speaks_against_it(rule, event, expected):
    """Over type, source, status, duration, description, VM name globs, mine or a peer's; in any letter case."""
    assert matches(a_rule(**rule), event_of(**event), "web-1") is expected


def test_the_first_that_matches_wins():
    rules = [a_rule("freezes", types=("freeze",)), a_rule("first"), a_rule("second")]

    assert first_match(rules, event_of(), "web-1").name == "first"
    assert first_match(rules[:1], event_of(), "web-1") is None


def test_why_a_rule_does_not_match_can_be_said():
    rule = a_rule(types=("freeze",), of="peer")

    assert list(mismatches(rule, event_of(), "web-1")) == ["its type is Reboot", "it is this VM's own"]


def test_the_hostname_of_a_scale_set_instance_is_its_name_too():
    """REFERENCE §4.3: never miss one's own name."""
    assert matches(a_rule(), event_of(vms=("web_10",)), "web00000a")
