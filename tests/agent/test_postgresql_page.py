"""The page on PostgreSQL, carried out: the primary is handed over before its VM is approved (issue 9: must show)."""

import os
import subprocess

import pytest
from howto_pages import install
from postgres_pair import Writer, postgres_pair
from served_fleet import served_fleet
from step_runs import until

pytestmark = pytest.mark.part("postgresql")

PAGE = "agent-postgresql.md"
PEER = '"host=10.0.0.12 port=5432 user=postgres dbname=postgres connect_timeout=5"'


@pytest.fixture
def pair():
    with postgres_pair() as servers:
        yield servers


@pytest.fixture
def fleet(tmp_path):
    with served_fleet(tmp_path, "db-1", "db-2") as opened:
        yield opened


def installed(place, server, peer):
    return install(PAGE, place / server.folder.name, {**server.names, PEER: f'"{peer.conninfo}"'})


def agents_in(fleet, place, pair):
    first, second = pair
    installed(place, first, second)
    installed(place, second, first)
    return fleet.agent_in("db-1"), fleet.agent_in("db-2")


@pytest.mark.parametrize("starts_at_boot", [True, False], ids=["started-at-boot", "left-stopped"])
def test_a_reboot_of_the_primary_loses_no_committed_row(fleet, pair, tmp_path, starts_at_boot):
    """Fails over before approval; the old primary is a standby afterwards, whoever starts it after the boot."""
    old, new = pair
    agent, _ = agents_in(fleet, tmp_path, pair)
    writer = Writer(old, new)
    writer.until_more()

    event = fleet.operate("db-1", "restart")
    assert agent.says("is being approved"), agent.log
    assert (new.role, old.runs) == ("primary", False)
    assert agent.says("is now Started"), agent.log
    agent.kill()
    writer.until_more()
    if starts_at_boot:
        old.start()
        assert old.role == "standby"
    agent = fleet.agent_in("db-1")
    fleet.advance(60)
    assert agent.says("nothing is left to do"), agent.log
    writer.until_more()

    committed = writer.over()
    assert fleet.status_of(event) == "Completed"
    assert fleet.approvals_of(event) == ["vm db-1"]
    assert (old.role, new.role) == ("standby", "primary")
    assert committed - new.rows == set()
    until(lambda: old.rows == new.rows)


def test_it_hands_over_there_and_back_and_a_standby_has_nothing_to_hand_over(fleet, pair, tmp_path):
    """Event after event, each on the timeline that the last one began."""
    first, second = pair
    agents = agents_in(fleet, tmp_path, pair)
    writer = Writer(first, second)

    for vm, agent, primary in ("db-1", agents[0], second), ("db-2", agents[1], first), ("db-2", agents[1], first):
        fleet.operate(vm, "restart")
        assert agent.says("is now Started"), agent.log
        assert primary.role == "primary"
        writer.until_more()
        fleet.advance(60)
        assert agent.says("nothing is left to do"), agent.log

    committed = writer.over()
    assert "FAILED" not in agents[0].log + agents[1].log
    assert (first.role, second.role) == ("primary", "standby")
    assert committed - first.rows == set()
    until(lambda: second.rows == first.rows)


def test_without_a_standby_nothing_is_approved_and_the_primary_stays(fleet, pair, tmp_path):
    """Fail-closed: it was never stopped."""
    primary, standby = pair
    agent, _ = agents_in(fleet, tmp_path, pair)
    began = primary.says("SELECT pg_postmaster_start_time()")
    standby.stop()

    event = fleet.operate("db-1", "restart")
    assert agent.says("step 'hand-over' failed"), agent.log
    assert "this server and the other are: primary open silent" in agent.log
    fleet.cancel(event)
    assert agent.says("nothing is left to do"), agent.log

    assert fleet.approvals_of(event) == []
    assert primary.says("SELECT pg_postmaster_start_time()") == began
    assert primary.role == "primary"


def ran(folder, script, server, peer):
    """A script as the agent runs it."""
    names = {"PGBIN": str(server.program_folder), "PGDATA": str(server.data), "PGHOST": str(server.folder)}
    env = {**os.environ, **names, "PGPORT": "5432", "PEER": peer.conninfo}
    done = subprocess.run([folder / script], env=env, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout.strip()


def fenced(server):
    (server.data / "standby.signal").write_text("handed over by notbefore-agent\n")


def test_a_standby_that_does_not_catch_up_gives_the_word_back(fleet, pair, tmp_path):
    """The budget is over while it waits: the server is the primary again, and nothing is approved."""
    primary, standby = pair
    installed(tmp_path, primary, standby)
    standby.says("SELECT pg_wal_replay_pause()")
    settings = tmp_path / "db-1" / "agent.toml"
    settings.write_text(settings.read_text().replace('limit = "5m"', 'limit = "5s"'))
    agent = fleet.agent_in("db-1")

    event = fleet.operate("db-1", "restart")
    assert agent.says("step 'hand-over' failed"), agent.log
    fleet.cancel(event)
    assert agent.says("nothing is left to do"), agent.log

    assert fleet.approvals_of(event) == []
    assert (primary.role, standby.role) == ("primary", "standby")


def test_a_hand_over_cut_off_before_the_promotion_is_taken_back(pair, tmp_path):
    """Killed between fence and promotion: still running, started again by a boot, or stopped."""
    primary, standby = pair
    folder = installed(tmp_path, primary, standby)

    for stands in ("primary", "standby", "stopped"):
        fenced(primary)
        if stands != "primary":
            primary.ctl("-m", "fast", "stop")
        if stands == "standby":
            primary.start()
            assert primary.role == "standby"

        code, _ = ran(folder, "pg-come-back", primary, standby)

        assert (code, primary.role, standby.role) == (0, "primary", "standby")
        assert ran(folder, "pg-come-back", primary, standby) == (0, "nothing was handed over")


def test_a_hand_over_that_was_cut_off_goes_on_where_it_was(pair, tmp_path):
    """`repeatable`: stopped and not yet promoted; and once more, when there is nothing left to do."""
    primary, standby = pair
    folder = installed(tmp_path, primary, standby)
    fenced(primary)
    primary.ctl("-m", "fast", "stop")

    code, said = ran(folder, "pg-hand-over", primary, standby)

    assert (code, said.partition(",")[0]) == (0, "the other server has taken over")
    assert standby.role == "primary"
    assert ran(folder, "pg-hand-over", primary, standby) == (0, "the other server has taken over already")


def test_nobody_is_made_primary_while_the_other_server_is_silent(pair, tmp_path):
    primary, standby = pair
    folder = installed(tmp_path, primary, standby)
    fenced(primary)
    primary.ctl("-m", "fast", "stop")
    standby.stop()

    code, _ = ran(folder, "pg-come-back", primary, standby)

    assert code == 1
    assert not primary.runs
