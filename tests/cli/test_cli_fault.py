"""fault: ordering, listing and clearing faults of an emulator."""

import pytest
from cli_runs import Cli

from lab import lab_settings, open_lab
from notbefore.faults.fault import KINDS


@pytest.fixture
def lab(tmp_path):
    """One that takes faults, for `real`."""
    with open_lab(lab_settings(tmp_path / "state", demo=True, allow_faults=True)) as opened:
        yield opened


def fault(**known):
    made = {"id": "f1", "kind": "500", "vms": [], "times": None, "probability": 1.0, "seed": None, "on": "any"}
    return {**made, "delay_s": None, "after_s": None, "notice_s": None, "duration_s": None, "struck": 0, "spent": False, **known}  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        (("500",), {"kind": "500"}),
        (("500", "--vm", "a", "--vm", "shop/b"), {"kind": "500", "vms": ["a", "shop/b"]}),
        (("500", "--times", "3", "--on", "POST"), {"kind": "500", "times": 3, "on": "post"}),
        (("503", "--probability", "0.2", "--seed", "0"), {"kind": "503", "probability": 0.2, "seed": 0}),
        (("slow", "--delay", "5s"), {"kind": "slow", "delay_s": 5}),
        (("cancel", "--after", "8m"), {"kind": "cancel", "after_s": 480}),
        (("short-notice", "--notice", "5m"), {"kind": "short-notice", "notice_s": 300}),
        (("second-impact", "--after", "0", "--duration", "2s"), {"kind": "second-impact", "after_s": 0, "duration_s": 2}),
    ],
)  # fmt: skip
def test_what_is_typed_is_what_is_ordered(cli, server, typed, sent):
    """What is left out is left to the server."""
    server.answers("POST", "/v1/faults", fault(), status=201)

    assert cli("fault", "add", *typed).code == 0
    assert server.requests[-1].body == sent


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (fault(), "Fault f1 is set: 500 for all VMs, until cleared."),
        (fault(times=1, vms=["shop/a"]), "Fault f1 is set: 500 for shop/a, once."),
        (fault(times=3, probability=0.5, seed=7), "Fault f1 is set: 500 for all VMs, 3 times with probability 0.5 (seed 7)."),
    ],
)  # fmt: skip
def test_what_was_set_is_said_in_a_sentence(cli, server, made, said):
    """With the seed that was drawn, so that it can be had again."""
    server.answers("POST", "/v1/faults", made, status=201)

    assert cli("fault", "add", "500").lines == [said]
    assert cli("fault", "add", "500", "--json").json == made


def test_the_list_tells_who_is_struck_how_and_how_often(cli, server):
    listed = [
        fault(times=3, struck=3, spent=True, on="post"),
        fault(id="f2", kind="slow", vms=["shop/a"], delay_s=5, probability=0.5, seed=7, struck=1),
    ]
    server.answers("GET", "/v1/faults", {"faults": listed})

    assert cli("fault", "list").lines == [
        "ID  KIND  VMS      OPTIONS                           STRUCK",
        "f1  500   all VMs  on post                           3 of 3 (spent)",
        "f2  slow  shop/a   delay 5s, probability 0.5 seed 7  1",
    ]
    assert cli("fault", "list", "--json").json == listed


def test_usage_that_cannot_be_meant_is_said_before_anything_is_sent(cli, server):
    assert cli("fault", "add", "slow", "--delay", "soon").is_wrong_usage_of("--delay", "15m")
    assert cli("fault", "add", "500", "--on", "put").is_wrong_usage_of("--on", "get, post")
    assert cli("fault", "add").code == 2
    assert server.requests == []


def test_faults_come_and_go_on_a_real_server(real, lab):
    """Set, listed, struck, cleared by id, by kind, and all."""
    assert real("fault", "list").lines == ["No faults."]
    assert real("fault", "add", "500", "--vm", "frontend_in_0").lines == [
        "Fault f1 is set: 500 for demo/FrontEnd_IN_0, until cleared."
    ]
    assert lab.ask().status == 500
    assert real("fault", "list").lines[1].split()[-1] == "1"
    for _ in range(2):
        assert real("fault", "add", "cancel", "--after", "8m").code == 0
    assert real("fault", "clear", "f1").lines == ["1 fault cleared."]
    assert lab.ask().status == 200
    assert real("fault", "clear", "cancel").lines == ["2 faults cleared."]
    assert real("fault", "clear").lines == ["0 faults cleared."]


def test_what_the_server_refuses_is_said_with_its_hint(real):
    real("fault", "add", "teapot").is_refused_with("There is no fault of kind 'teapot'", "letter-case")
    real("fault", "add", "500", "--delay", "5s").is_refused_with("takes no delay_s")
    real("fault", "add", "500", "--vm", "nope").is_refused_with("No scope has a VM 'nope'")
    real("fault", "add", "500", "--times", "0").is_refused_with("times is 1 to")
    real("fault", "clear", "f9").is_refused_with("There is no fault 'f9'")


def test_a_server_that_takes_no_faults_says_how_to_get_one_that_does(demo, tmp_path):
    env = {"NOTBEFORE_URL": demo.server.control_url, "NOTBEFORE_TOKEN": demo.server.token}
    plain = Cli({**env, "NOTBEFORE_ENDPOINT": demo.server.metadata_urls[0], "HOME": str(tmp_path)})

    for words in (("add", "500"), ("list",), ("clear",)):
        plain("fault", *words).is_refused_with("takes no faults", "notbefore serve --allow-faults")


def test_help_teaches_every_kind(cli):
    """In a table, with the options of each."""
    told = cli("fault", "add", "--help", COLUMNS="250", TERMINAL_WIDTH="250").out

    for name, kind in KINDS.items():
        assert name in told
        assert kind.says.replace("`", "") in told
