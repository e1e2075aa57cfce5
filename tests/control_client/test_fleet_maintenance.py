"""Host maintenance and rollouts in the typed client, against a real server: every method, and the types that come back."""

from datetime import datetime, timedelta

import pytest

from notbefore.control_client import ControlClient, Limits, Operation, Plan, Rollout, Used
from notbefore.control_client.refusals import Invalid, TooEarly, UnknownOperation, UnknownRollout, WrongStatus

SCOPES = {
    "a": [{"name": "a0", "host": "h1"}, {"name": "a1", "host": "h2", "update_domain": 1}],
    "b": [{"name": "b0", "host": "h1"}],
}


@pytest.fixture
def client(lab):
    with ControlClient(lab.server.control_url, lab.server.token) as opened:
        for name, vms in SCOPES.items():
            opened.put_scope(name, {"settings": {"listening": "always"}, "vms": vms})
        yield opened


def test_a_host_is_planned_maintained_and_cancelled(client):
    """maintain_host, plan_host, operations, operation, cancel_operation."""
    plan = client.plan_host("h1", "Reboot")
    assert isinstance(plan, Plan)
    assert client.operations() == ()

    made = client.maintain_host("h1", "Reboot", description="firmware", duration_s=5)
    client.advance(0)
    operation = client.operation(made.id)

    assert isinstance(operation, Operation)
    assert (operation.host, operation.status, operation.description, operation.duration_s) == (
        "h1",
        "Running",
        "firmware",
        5,
    )
    [wave] = operation.waves
    assert (wave.number, wave.gate, wave.not_before) == (1, "shut", plan.waves[0].not_before)
    assert [(one.scope, one.vms, one.stage) for one in wave.events] == [
        ("a", ("a0",), "announced"),
        ("b", ("b0",), "announced"),
    ]
    assert client.event(wave.events[0].event).operation == made.id
    assert client.operations("live") == (operation,)
    assert client.cancel_operation(made.id).status == "Cancelling"
    client.advance(0)
    assert client.operation(made.id).status == "Cancelled"
    assert [change.operation for change in client.history(operation=made.id).history[0].changes] == [made.id]


def test_a_time_that_is_too_early_is_refused_as_the_class_it_is(client):
    """And the earliest time is among the facts."""
    now = client.clock().now

    with pytest.raises(TooEarly) as refused:
        client.maintain_host("h1", "Reboot", not_before=now)

    earliest = datetime.fromisoformat(str(refused.value.facts["earliest"]))
    assert client.plan_host("h1", "Reboot", not_before=earliest).waves[0].not_before == earliest
    assert earliest - now >= timedelta(seconds=900)


def test_a_rollout_is_planned_begun_paused_resumed_and_cancelled(client):
    """plan_rollout, begin_rollout, rollouts, rollout, plan_of_rollout, pause_, resume_, cancel_rollout."""
    wanted = {"hosts": "h*", "order": "name", "first": ["h2"], "limits": {"max_hosts": 1, "recovery_s": 60}}
    plan = client.plan_rollout("Reboot", **wanted)
    assert [wave.target for wave in plan.waves] == ["h2", "h1", "h1"]  # a rests, b need not
    assert client.rollouts() == ()

    begun = client.begin_rollout("Reboot", **wanted)
    client.advance(0)
    rollout = client.rollout(begun.rollout.id)

    assert isinstance(rollout, Rollout)
    assert [wave.ends for wave in begun.plan.waves] == [wave.ends for wave in plan.waves]
    assert (rollout.targets, rollout.waiting, rollout.limits) == (2, ("h1",), Limits(max_hosts=1, recovery_s=60))
    assert rollout.budget["hosts"] == Used(1, 1)
    assert [(one.name, one.wave, one.vms) for one in rollout.in_hand] == [("h2", 1, 1)]
    assert client.plan_of_rollout(rollout.id) == begun.plan
    assert client.pause_rollout(rollout.id).status == "Paused"
    assert client.resume_rollout(rollout.id).status == "Running"
    client.advance(1000)
    assert [(one.name, one.touched) for one in client.rollout(rollout.id).done] == [("h2", 1)]
    assert client.cancel_rollout(rollout.id).status == "Cancelling"
    client.advance(3600)
    assert [one.status for one in client.rollouts()] == ["Cancelled"]
    assert client.rollouts("live") == ()
    assert client.history(rollout=rollout.id).history


def test_every_host_and_scopes_by_pattern(client):
    """`all_hosts` is the API's `all`."""
    assert {wave.target for wave in client.plan_rollout("Freeze", all_hosts=True).waves} == {"h1", "h2"}
    assert {wave.target for wave in client.plan_rollout("Freeze", scopes="[ab]").waves} == {"a", "b"}


def test_refusals_are_the_classes_they_were(client):
    """Unknown ids, wrong words, wrong statuses."""
    with pytest.raises(UnknownOperation):
        client.operation("no")
    with pytest.raises(UnknownRollout):
        client.pause_rollout("no")
    with pytest.raises(Invalid):
        client.begin_rollout("Reboot")
    made = client.maintain_host("h2", "Freeze")
    client.cancel_operation(made.id)
    client.advance(0)
    with pytest.raises(WrongStatus):
        client.cancel_operation(made.id)
