"""The page on HAProxy, carried out: a VM is redeployed under load and nobody's request fails (issue 9: must show)."""

import pytest
from backend_process import BackendProcess
from balanced import Load, balanced_by_haproxy, second_goes_and_comes_back
from howto_pages import files_of, install
from served_fleet import served_fleet

pytestmark = pytest.mark.part("haproxy")

PAGE = "agent-haproxy.md"
SERVERS = {"web-1": "one", "web-2": "two"}


@pytest.fixture
def balanced(tmp_path):
    folder = tmp_path / "haproxy"
    folder.mkdir()
    with balanced_by_haproxy(folder, BackendProcess) as opened:
        yield opened


@pytest.fixture
def fleet(tmp_path):
    with served_fleet(tmp_path, *SERVERS, "lb-1") as opened:
        yield opened


def own_names(balanced, vm):
    return {"/run/haproxy/admin.sock": balanced.socket, "web/web-1": f"web/{SERVERS[vm]}", '"web-1"': f'"{vm}"'}


def agents_in(fleet, balanced, place):
    for vm in SERVERS:
        install(PAGE, place / vm, own_names(balanced, vm))
    return {vm: fleet.agent_in(vm) for vm in SERVERS}


def failed(answers):
    return [answer for answer in answers if answer not in {(200, "one"), (200, "two")}]


@pytest.mark.parametrize("vm", SERVERS)
def test_a_redeploy_of_one_gives_no_failed_request_before_during_and_after(fleet, balanced, tmp_path, vm):
    """Its agent drains, approves, dies with its VM, and brings the server back when both are up again."""
    agents = agents_in(fleet, balanced, tmp_path)
    name, other = SERVERS[vm], next(name for name in SERVERS.values() if name != SERVERS[vm])
    backend, agent = getattr(balanced, name), agents[vm]
    load = Load(balanced, at_once=8)
    load.until_more(name=name)

    event = fleet.operate(vm, "redeploy")
    assert agent.says("is now Started"), agent.log
    assert balanced.status(name).startswith("DRAIN")
    agent.kill()
    backend.stop()
    load.until_more(100, name=other)
    backend.start()
    agent = fleet.agent_in(vm)
    fleet.advance(120)
    assert agent.says("nothing is left to do"), agent.log
    load.until_more(name=name)

    answers = load.over()
    assert failed(answers) == []
    assert fleet.status_of(event) == "Completed"
    assert fleet.approvals_of(event) == [f"vm {vm}"]


def test_maintenance_of_both_in_turn_gives_no_failed_request(fleet, balanced, tmp_path):
    """One update domain after the other, each drained before and back before the next."""
    agents = agents_in(fleet, balanced, tmp_path)
    load = Load(balanced, at_once=8)

    fleet.told("POST", "/v1/scopes/fleet/maintenance", {"type": "Reboot", "vms": list(SERVERS)})
    for vm, name in SERVERS.items():
        assert agents[vm].says("is now Started"), agents[vm].log
        getattr(balanced, name).stop()
        load.until_more(50)
        getattr(balanced, name).start()
        load.until_more(50)
        fleet.advance(30)
        assert agents[vm].says("nothing is left to do"), agents[vm].log
        load.until_more(name=name)

    assert failed(load.over()) == []


def test_a_cancelled_redeploy_brings_the_server_back_without_impact(fleet, balanced, tmp_path):
    install(PAGE, tmp_path / "web-2", own_names(balanced, "web-2"))
    config = tmp_path / "web-2" / "agent.toml"
    config.write_text(config.read_text().replace("type = [", 'approve = "never"\ntype = [', 1))
    agent = fleet.agent_in("web-2")
    load = Load(balanced, at_once=8)

    event = fleet.operate("web-2", "redeploy")
    assert agent.says("is drained"), agent.log
    fleet.cancel(event)
    assert agent.says("nothing is left to do"), agent.log
    load.until_more(name="two")

    assert failed(load.over()) == []
    assert fleet.approvals_of(event) == []


def test_an_agent_beside_haproxy_looks_after_its_peers(fleet, balanced, tmp_path):
    """It drains and approves for a VM that has no agent."""
    install(PAGE, tmp_path / "lb-1", own_names(balanced, "web-2"))
    (tmp_path / "lb-1" / "peers.toml").rename(tmp_path / "lb-1" / "agent.toml")
    agent = fleet.agent_in("lb-1")
    load = Load(balanced, at_once=8)

    event = fleet.operate("web-2", "redeploy")
    assert agent.says("is now Started"), agent.log
    second_goes_and_comes_back(balanced, load, fleet, agent)

    assert failed(load.over()) == []
    assert fleet.approvals_of(event) == ["vm lb-1"]


def test_a_short_freeze_is_approved_without_a_drain(fleet, balanced, tmp_path):
    settings = install(PAGE, tmp_path / "web-1", own_names(balanced, "web-1")) / "agent.toml"
    settings.write_text(settings.read_text() + files_of(PAGE)["freeze.toml"])
    agent = fleet.agent_in("web-1")

    fleet.told("POST", "/v1/scopes/fleet/vms/web-1/freeze", {"duration_s": 5})

    assert agent.says("is now Started"), agent.log
    assert balanced.status("one") == "no check"
