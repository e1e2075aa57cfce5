"""For each reason to wait: explain names it, and doing what it says releases the event; typed as people type it.

A real server, the real commands; `notbefore ask` is asked from the address of the VM that is named.
"""

import re
from datetime import datetime
from itertools import count

import pytest
from cli_runs import Cli

from lab import lab_settings, open_lab


class Place:
    """A server with hands for each situation: a fresh scope every time, so that one way of release is tried on each."""

    def __init__(self, lab):
        self.lab = lab
        self.cli = Cli(
            {
                "NOTBEFORE_URL": lab.server.control_url,
                "NOTBEFORE_TOKEN": lab.server.token,
                "NOTBEFORE_ENDPOINT": lab.server.metadata_urls[0],
                "NOTBEFORE_STATE": "/nonexistent",
            }
        )
        self.sources = {}
        self._numbers = count(1)

    def scope(self, *vms, **settings):
        """VMs as `name`, `name@domain`; each with an address of its own."""
        n = next(self._numbers)
        declared = []
        for m, vm in enumerate(vms, 1):
            name, _, domain = vm.rstrip("*").partition("@")
            name = f"{name}-{n}"
            self.sources[name] = f"127.0.{n}.{m}"
            declared.append(
                {"name": name, "update_domain": int(domain or 0), "addresses": [self.sources[name]], "spot": "*" in vm}
            )
        scope = f"s{n}"
        self.lab.declare(scope, *declared, **{"listening": "always", **settings})
        return scope, [vm["name"] for vm in declared]

    def maintain(self, scope, event_type="Freeze", **wanted):
        made = self.lab.maintain(scope, event_type, **wanted)
        return [event["id"] for event in (*made["events"], *made["queued"])]

    def approve(self, event_id, vm=None):
        if vm is None:
            assert self.cli("approve", event_id).code == 0
        else:
            assert self.lab.approve(event_id, source=self.sources[vm]).status == 200

    def explained(self, event_id):
        (told,) = self.cli("explain", event_id, "--json").json
        assert told["waiting_for"] == self.lab.event(event_id)["waiting_for"]
        assert told["waiting_for"] in self.cli("events").out
        for sentence in (told["waiting_for"], *told["released_by"]):
            assert sentence in told["explanation"]
        return told

    def do(self, entry, scope):
        """Exactly what the entry says."""
        for where, command in re.findall(r"(?:in ([^`]*): )?`(notbefore [^`]*)`", entry):
            _, *words = command.split()
            for source in self.where(where, scope) if words[0] == "ask" else (None,):
                ran = self.cli(*words, *(("--from", source) if source else ()))
                assert ran.code == 0, ran
        for seconds in re.findall(r"a rest of (\d+) s", entry):
            self.advance("1m")  # the end of whatever was let go before it
            self.advance(f"{seconds}s")
        for iso in re.findall(r"(?:until|the clock: at) (\S+Z)", entry):
            self.advance_to(iso)
        if re.search(r"executor|the end of|ha(s|ve) ended", entry):
            self.advance("1h")

    def where(self, where, scope):
        if where == f"any VM of scope {scope}":
            return [list(self.sources.values())[-1]]
        return [self.sources[name] for name in re.split(r", | and ", where.removeprefix("each of "))]

    def advance(self, span):
        assert self.cli("clock", "advance", span).code == 0

    def advance_to(self, iso):
        now = self.cli("clock", "show", "--json").json["now"]
        ahead = datetime.fromisoformat(iso) - datetime.fromisoformat(now)
        self.advance(f"{max(0, round(ahead.total_seconds()))}s")


# -- situations: each gives the scope and the event that waits


def policy(word):
    def waits(place):
        scope, _ = place.scope("a", "b", approval=word)
        return scope, place.maintain(scope)[0]

    return waits


def policy_all_half_spoken(place):
    scope, (a, _) = place.scope("a", "b", approval="all")
    event = place.maintain(scope)[0]
    place.approve(event, a)
    return scope, event


def coupling(place):
    scope, (a, b, _) = place.scope("a", "b", "c")
    first, _ = (place.lab.made(scope, vm, "terminate")["id"] for vm in (a, b))
    place.approve(first, a)
    return scope, first


def coupling_with_two(place):
    scope, vms = place.scope("a", "b", "c", approval="all")
    first, *_ = (place.lab.made(scope, vm, "terminate")["id"] for vm in vms)
    place.approve(first)
    return scope, first


def coupling_ahead(place):
    scope, vms = place.scope("a", "b")
    first, _ = (place.lab.made(scope, vm, "terminate")["id"] for vm in vms)
    return scope, first


def queue_behind_scheduled(place):
    scope, _ = place.scope("a@0", "b@1")
    return scope, place.maintain(scope)[1]


def queue_behind_started(place):
    scope, _ = place.scope("a@0", "b@1", recovery_s=90)
    first, second = place.maintain(scope)
    place.approve(first)
    return scope, second


def queue_behind_a_queue(place):
    scope, (a, b, c) = place.scope("a@0", "b@1", "c@0")
    place.maintain(scope, vms=[a, b])
    return scope, place.maintain(scope, vms=[c])[0]


def queue_behind_everything(place):
    scope, _ = place.scope("a@0", "b@1", "c@2", "d@3")
    first, _, _, last = place.maintain(scope)
    place.approve(first)
    return scope, last


def recovery(place):
    scope, _ = place.scope("a@0", "b@1", recovery_s=600)
    first, second = place.maintain(scope)
    place.approve(first)
    place.advance("10s")
    return scope, second


def deadline(place):
    """Policy all, and one of those who have to speak has been evicted meanwhile."""
    scope, (a, b) = place.scope("a", "b*", approval={"default": "any", "Reboot": "all"})
    event = place.maintain(scope, "Reboot")[0]
    place.approve(place.lab.made(scope, b, "evict")["id"])
    place.approve(event, a)
    place.advance("30s")
    return scope, event


def impact(place):
    scope, _ = place.scope("a", "b")
    event = place.maintain(scope)[0]
    place.approve(event)
    return scope, event


def impact_behind_another(place):
    scope, (a,) = place.scope("a")
    first, second = (place.lab.made(scope, a, operation)["id"] for operation in ("restart", "redeploy"))
    place.approve(first)
    place.approve(second)
    return scope, second


def retry(place):
    scope, _ = place.scope("a")
    event = place.maintain(scope, "Redeploy")[0]
    place.approve(event)
    place.advance("60s")
    return scope, event


SITUATIONS = [
    ("policy any", policy("any")),
    ("policy all", policy("all")),
    ("policy all", policy_all_half_spoken),
    ("policy leader", policy("leader")),
    ("policy any", coupling_ahead),
    ("coupling", coupling),
    ("coupling", coupling_with_two),
    ("queue", queue_behind_scheduled),
    ("queue", queue_behind_started),
    ("queue", queue_behind_a_queue),
    ("queue", queue_behind_everything),
    ("recovery", recovery),
    ("deadline", deadline),
    ("impact", impact),
    ("impact", impact_behind_another),
    ("retry", retry),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    executor = {"simulate": {"failure_rate": {"Redeploy": 1.0}}}
    with open_lab(lab_settings(tmp_path_factory.mktemp("releases") / "state", executor=executor)) as lab:
        yield Place(lab)


@pytest.mark.parametrize(("rule", "situation"), SITUATIONS, ids=[f"{rule}, {one.__name__}" for rule, one in SITUATIONS])
def test_explain_names_the_reason_and_doing_what_it_says_releases_the_event(place, rule, situation):
    """Issue: for each reason to wait explain names it correctly, and doing what it says releases the event."""
    ways, tried = 1, 0
    while tried < ways:
        scope, event = situation(place)
        status = place.lab.event(event)["status"]
        told = place.explained(event)
        assert told["rule"] == rule
        assert told["waits_on"]
        ways = len(told["released_by"])

        place.do(told["released_by"][tried], scope)

        assert place.lab.event(event)["status"] != status, told["released_by"][tried]
        tried += 1
    assert ways
