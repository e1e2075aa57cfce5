"""The pages on clusters that cannot run here: their scripts, as printed, against stand-ins for the tools."""

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from howto_pages import install

STAND_IN = Path(__file__).parents[1] / "e2e" / "cluster" / "tool_stand_in.py"
NAMES = ("kubectl", "scontrol", "squeue", "nomad", "crm_node", "crm_attribute", "crm_resource")
EVENT = {"EVENT_ID": "E-1", "EVENT_TYPE": "Reboot", "EVENT_SECONDS_LEFT": "900", "NODE": "node-1"}
OURS = "notbefore: Reboot E-1"


class Tools:
    def __init__(self, place):
        self.place = place
        self.env = {**os.environ, **EVENT, "TOOLS_DIR": str(place), "PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
        (place / "bin").mkdir()
        for name in NAMES:
            (place / "bin" / name).write_bytes(STAND_IN.read_bytes())
            (place / "bin" / name).chmod(0o755)

    def know(self, **facts):
        (self.place / "knows").write_text(json.dumps(facts))

    @property
    def knows(self):
        return json.loads((self.place / "knows").read_text())

    @property
    def called(self):
        return (self.place / "log").read_text().splitlines()

    def run(self, page, script, word, **env):
        folder = install(page, self.place / "agent")
        ran = subprocess.run(
            [folder / script, word],
            env={**self.env, **env}, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        return ran.returncode


@pytest.fixture
def tools(tmp_path):
    return Tools(tmp_path)


# -- Kubernetes


def node(tools, word, **env):
    return tools.run("agent-kubernetes.md", "k8s-node", word, **env)


def test_a_node_is_cordoned_drained_and_uncordoned(tools):
    """Within seven tenths of the notice, and after it is ready again."""
    tools.know(cordoned=False, mark="", drain=0)

    assert node(tools, "out") == 0
    assert tools.knows == {"cordoned": True, "mark": "E-1", "drain": 0}
    assert tools.called[-1] == "kubectl drain node-1 --ignore-daemonsets --delete-emptydir-data --timeout=630s"
    assert node(tools, "in", EVENT_SECONDS_LEFT="") == 0
    assert tools.knows == {"cordoned": False, "mark": "", "drain": 0}
    waiting = next(n for n, call in enumerate(tools.called) if call.startswith("kubectl wait"))
    assert waiting < tools.called.index("kubectl uncordon node-1")


@pytest.mark.parametrize(
    ("left", "timeout"), [("30", "21s --grace-period=10"), ("1", "1s --grace-period=0"), ("", "420s")]
)
def test_a_drain_never_waits_for_ever(tools, left, timeout):
    """`--timeout=0s` would; a Preempt leaves no time for the pods' own grace periods."""
    tools.know(cordoned=False, mark="", drain=0)

    node(tools, "out", EVENT_SECONDS_LEFT=left)

    assert tools.called[-1].endswith(f"--timeout={timeout}")


def test_a_node_that_somebody_else_has_cordoned_stays_so(tools):
    tools.know(cordoned=True, mark="", drain=0)

    assert node(tools, "out") == 0
    assert node(tools, "in") == 0
    assert tools.knows == {"cordoned": True, "mark": "", "drain": 0}


def test_a_drain_that_fails_fails_the_step_and_is_undone(tools):
    tools.know(cordoned=False, mark="", drain=1)

    assert node(tools, "out") == 1
    assert node(tools, "in") == 0
    assert not tools.knows["cordoned"]


# -- Slurm


def slurm(tools, word, **env):
    return tools.run("agent-slurm.md", "slurm-node", word, **env)


def test_a_slurm_node_is_drained_its_jobs_requeued_and_resumed(tools):
    """Jobs have half of the notice to end by themselves."""
    tools.know(state="MIXED", reason="", jobs=["17", "18"])

    assert slurm(tools, "out", EVENT_SECONDS_LEFT="2") == 0
    assert tools.knows == {"state": "MIXED+DRAIN", "reason": OURS, "jobs": []}
    assert slurm(tools, "in") == 0
    assert tools.knows == {"state": "IDLE", "reason": "", "jobs": []}


def test_a_slurm_node_that_somebody_else_has_drained_stays_so(tools):
    tools.know(state="IDLE+DRAIN", reason="bad disk", jobs=[])

    assert slurm(tools, "out") == 0
    assert slurm(tools, "in") == 0
    assert tools.knows["reason"] == "bad disk"


# -- Nomad


def nomad(tools, word, **env):
    return tools.run("agent-nomad.md", "nomad-client", word, **env)


def test_a_nomad_client_is_drained_and_eligible_again(tools):
    tools.know(stands="eligible", message="", drained="ineligible")

    assert nomad(tools, "out") == 0
    assert f"nomad node drain -enable -self -yes -deadline 630s -m {OURS}" in tools.called
    assert nomad(tools, "out") == 0
    assert nomad(tools, "in") == 0
    assert tools.knows["stands"] == "eligible"


def test_a_nomad_client_that_was_ineligible_before_stays_so(tools):
    tools.know(stands="ineligible", message="for repair", drained="ineligible")

    assert nomad(tools, "out") == 0
    assert nomad(tools, "in") == 0
    assert tools.knows["stands"] == "ineligible"


def test_a_drain_that_nomad_lost_sight_of_is_no_success(tools):
    """Its command ends with 0 all the same."""
    tools.know(stands="eligible", message="", drained="draining")

    assert nomad(tools, "out") == 1


# -- Pacemaker


def pacemaker(tools, word):
    return tools.run("agent-pacemaker.md", "pacemaker-node", word)


def test_a_pacemaker_node_is_in_standby_until_it_is_over(tools):
    tools.know(nodes=["node-1 member", "node-2 member"], standby="")

    assert pacemaker(tools, "out") == 0
    assert tools.knows["standby"] == "on"
    assert tools.called[-1] == "crm_resource --wait"
    assert pacemaker(tools, "in") == 0
    assert tools.knows["standby"] == ""


def test_a_pacemaker_node_without_another_stays_as_it_is(tools):
    tools.know(nodes=["node-1 member", "node-2 lost"], standby="")

    assert pacemaker(tools, "out") == 1
    assert tools.knows["standby"] == ""


# -- Patroni


class Patroni(ThreadingHTTPServer):
    """A stand-in for its REST API: a leader until it has been asked for a switchover, if `willing`."""

    def __init__(self, *, leads=True, willing=True, others=("leader",)):
        self.leads, self.willing, self.asked = leads, willing, []
        self.cluster = json.dumps({"members": [{"name": f"db-{n}", "role": role} for n, role in enumerate(others, 2)]})
        super().__init__(("127.0.0.1", 0), PatroniHandler)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    @property
    def names(self):
        return {"API": f"http://127.0.0.1:{self.server_address[1]}", "MEMBER": "db-1"}


class PatroniHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/cluster":
            return self._answer(200, self.server.cluster.encode())
        return self._answer(200 if self.path == "/health" or (self.path == "/leader" and self.server.leads) else 503)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, json.loads(body)))
        self.server.leads = not self.server.willing
        self._answer(200 if self.server.willing else 412)

    def _answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def patroni(tools, word, server):
    return tools.run("agent-patroni.md", "patroni-node", word, **server.names)


@pytest.mark.part("curl")
def test_a_patroni_leader_is_switched_over(tools):
    with Patroni() as server:
        assert patroni(tools, "out", server) == 0
        assert server.asked == [("/switchover", {"leader": "db-1"})]
        assert patroni(tools, "in", server) == 0


@pytest.mark.part("curl")
def test_a_patroni_replica_has_nothing_to_hand_over(tools):
    with Patroni(leads=False) as server:
        assert patroni(tools, "out", server) == 0
        assert server.asked == []


@pytest.mark.part("curl")
def test_a_patroni_replica_without_a_leader_fails_the_step(tools):
    """Nobody knows what would become of the database."""
    with Patroni(leads=False, others=("replica",)) as server:
        assert patroni(tools, "out", server) == 1


@pytest.mark.part("curl")
def test_a_switchover_that_patroni_refuses_fails_the_step(tools):
    with Patroni(willing=False) as server:
        assert patroni(tools, "out", server) == 1


@pytest.mark.part("curl")
def test_a_patroni_that_is_silent_fails_the_step(tools):
    with Patroni() as server:
        names = server.names
    assert tools.run("agent-patroni.md", "patroni-node", "out", **names) == 1
