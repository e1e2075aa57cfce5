"""`notbefore conformance`: our own server passes, and a wrong one is found out, fault by fault."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from faulty_endpoint import ASKED, TOLD, serves_events_alone, wrong_server

from notbefore.conformance.check import Verdict
from notbefore.conformance.checks.versions import FIELDS
from notbefore.conformance.exchange import Endpoint
from notbefore.conformance.subject import Subject
from notbefore.conformance.suite import CHECKS, run

PROGRAM = str(Path(sys.executable).parent / "notbefore")
FAULTS = {fault: check for fault, check in {**ASKED, **TOLD}.items() if check}
CHANGING = [check.name for check in CHECKS if check.approves]


@pytest.fixture
def busy(lab):
    """Our server, with an event of each type, one of them Started."""
    vms = [
        {"name": name, "addresses": ["127.0.0.1"] if name == "web-0" else [], "spot": True}
        for name in ("web-0", "web-1")
    ]
    lab.declare("shop", *vms, listening="always", notice_s={"Freeze": 60})
    for operation in ("restart", "redeploy", "evict", "terminate"):
        lab.made("shop", "web-0", operation)
    lab.made("shop", "web-1", "restart")
    started = lab.made("shop", "web-1", "redeploy")
    lab.approve(started["id"])
    return lab


def url_of(lab):
    return "http://{}:{}".format(*lab.metadata)


def verdicts(url, version="2020-07-01", *, approve=True):
    findings = run(Subject(Endpoint(url), version), approve=approve)
    return {one.check.name: (one.verdict, one.says) for one in findings}


@pytest.mark.parametrize("version", FIELDS)
def test_our_own_server_passes_every_check_in_each_version(busy, version):
    """Issue: conformance passes fully against ourselves on each of the seven versions."""
    found = verdicts(url_of(busy), version)

    assert {name: why for name, why in found.items() if why[0] is not Verdict.PASS} == {}


def test_by_default_nothing_is_changed(busy):
    """Read-only checks by default: the document and the history stay as they were."""
    before = busy.document(), len(busy.history("limit=1000"))

    found = verdicts(url_of(busy), approve=False)

    assert (busy.document(), len(busy.history("limit=1000"))) == before
    assert [name for name, (verdict, _) in found.items() if verdict is not Verdict.PASS] == CHANGING


def test_without_events_what_looks_at_events_does_not_apply(demo):
    """Not applicable is neither pass nor fail."""
    found = verdicts(url_of(demo))

    kept = {verdict for verdict, _ in found.values()}
    assert kept == {Verdict.PASS, Verdict.NOT_APPLICABLE}
    assert found["event-type"] == (Verdict.NOT_APPLICABLE, "there is no event to look at")


def test_an_endpoint_that_serves_events_alone_is_not_blamed_for_it(busy):
    """Neighbours and held questions do not apply where there are none."""
    with wrong_server(busy.metadata, serves_events_alone) as url:
        found = verdicts(url, approve=False)

    assert Verdict.FAIL not in {verdict for verdict, _ in found.values()}
    assert found["instance-tells-the-name"] == (Verdict.NOT_APPLICABLE, "there is no /metadata/instance")
    assert found["held-question-says-so"] == (Verdict.NOT_APPLICABLE, "the endpoint does not hold questions")


def test_the_man_in_the_middle_changes_nothing_by_himself(busy):
    """So whatever is found with a fault is the fault's doing."""
    with wrong_server(busy.metadata) as url:
        found = verdicts(url)

    assert {name: why for name, why in found.items() if why[0] is not Verdict.PASS} == {}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.replace("_", " "))
def test_a_fault_is_found_by_the_check_that_should_find_it(busy, fault):
    """Issue: finds at least ten faults in a deliberately wrong server kept in the tests."""
    with wrong_server(busy.metadata, fault) as url:
        verdict, says = verdicts(url)[FAULTS[fault]]

    assert verdict is Verdict.FAIL
    assert says


def test_a_rate_limit_is_waited_for_and_not_held_against_the_endpoint(tmp_path):
    """SPEC §2.1: 429 with Retry-After; an endpoint that is right stays right when it slows us down."""
    from lab import lab_settings, open_lab

    with open_lab(lab_settings(tmp_path / "state", demo=True, rate_limit_per_s=40)) as slow:
        assert Verdict.FAIL not in {verdict for verdict, _ in verdicts(url_of(slow)).values()}


def conformance(*words):
    return subprocess.run([PROGRAM, "conformance", *words], capture_output=True, text=True, timeout=60, check=False)


def test_the_command_prints_a_table_and_ends_with_0(demo):
    """A table of pass, fail, not applicable with the sentence of SPEC §2 that each checks."""
    ran = conformance(url_of(demo))

    assert ran.returncode == 0
    assert ran.stdout.splitlines()[0].split() == ["VERDICT", "SPEC", "CHECK", "SENTENCE", "WHY"]
    assert f"{len(CHECKS)} checks: " in ran.stdout
    assert " 0 fail," in ran.stdout


def test_a_failing_check_makes_the_command_end_with_1(busy):
    """Exit 1 when any fails; --json for programs."""
    fault = next(fault for fault in TOLD if fault.__name__ == "quotes_its_tag")
    with wrong_server(busy.metadata, fault) as url:
        ran = conformance(url, "--json", "--api-version", "2019-08-01")

    failed = [one for one in json.loads(ran.stdout) if one["verdict"] == "fail"]
    assert ran.returncode == 1
    assert [(one["check"], one["section"], one["law"]) for one in failed] == [
        ("etag-is-the-number", "2.3", "`ETag` is that number unquoted")
    ]
    assert "ETag is '\"" in failed[0]["says"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("http://127.0.0.1:1",), 1, "Nobody answers at 127.0.0.1:1"),
        (("https://127.0.0.1",), 1, "is no endpoint"),
        (("http://127.0.0.1:99999",), 1, "is no endpoint"),
        (("http://127.0.0.1", "--api-version", "2018"), 2, "--api-version"),
        ((), 2, "URL"),
    ],
)
def test_what_cannot_be_checked_is_said_in_a_sentence(words, code, says):
    ran = conformance(*words)

    assert (ran.returncode, says in ran.stderr) == (code, True), ran.stderr


def test_an_endpoint_that_does_not_know_us_is_told_apart_from_a_wrong_one(lab):
    """A 403 to everything is no verdict on the endpoint."""
    ran = conformance(url_of(lab))

    assert ran.returncode == 1
    assert "does not answer a plain question: 403" in ran.stderr
    assert "where a VM would ask" in ran.stderr
