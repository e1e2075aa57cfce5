"""Checks after a simulated impact (`[executor.simulate] checks_s`): plans and windows reckon with them."""

import msgspec
import pytest
from maintained_fleets import as_happened, as_planned, begin_rollout, maintain_host, operation, vm

from lab import lab_settings, open_lab
from notbefore.settings import Settings

CHECKED = {"simulate": {"checks_s": {"Reboot": 120}}}


@pytest.fixture
def checked(tmp_path):
    """A server whose reboots are checked for two minutes, with two tenants on h1 in two domains each."""
    with open_lab(lab_settings(tmp_path / "state", executor=CHECKED)) as lab:
        lab.declare("a", vm("a0"), vm("a1", domain=1), listening="always", recovery_s=45)
        lab.declare("b", vm("b0"), vm("b1", domain=1), listening="always")
        yield lab


@pytest.mark.parametrize("wanted", [{}, {"duration_s": 7}])
def test_what_happens_on_a_host_is_what_was_planned(checked, wanted):
    """To the second, whether the event says its duration or not."""
    body = {"type": "Reboot", **wanted, "plan": True}
    plan = checked.control("POST", "/v1/hosts/h1/maintenance", body).json["plan"]

    shown = maintain_host(checked, **wanted)
    checked.advance(24 * 3600)

    over = operation(checked, shown["id"])
    assert (over["status"], over["ended_at"]) == ("Completed", plan["ends"])
    assert sorted(as_happened(checked).values()) == sorted(as_planned(plan).values())


@pytest.mark.parametrize("wanted", [{}, {"duration_s": 7}])
def test_what_a_rollout_does_is_what_was_planned(checked, wanted):
    _, plan = begin_rollout(checked, all=True, **wanted)

    checked.advance(24 * 3600)

    assert sorted(as_happened(checked).values()) == sorted(as_planned(plan).values())


def test_other_checks_are_taken_by_a_reload(checked):
    """As duration_s: for impacts that begin afterwards."""
    settings = checked.server.reloading.running
    tree = msgspec.to_builtins(settings)
    tree["executor"]["simulate"]["checks_s"] = {"Reboot": 600.0}

    async def reload():
        checked.server.reloading.apply(msgspec.convert(tree, Settings))

    checked.run(reload())
    event = checked.made("a", "a0", "restart", duration_s=5)
    checked.advance(900 + 604)
    assert checked.event(event["id"])["status"] == "Started"
    checked.advance(1)

    assert checked.event(event["id"])["status"] == "Completed"
    assert checked.event(event["id"])["outcomes"][0]["evidence"] == "simulated Reboot took 5 s, its checks 600 s"
