"""A real HAProxy that asks the agent's /healthz, as docs/how-to/agent.md has it: a VM goes, and no request fails (issue 9)."""

import re

import pytest
from agent_process import settings_text
from backend_process import BackendProcess
from balanced import CONFIG, Load, balanced_by_haproxy, second_goes_and_comes_back
from served_fleet import served_fleet
from step_runs import until

pytestmark = pytest.mark.part("haproxy")

# The page lets the rule sleep; here it waits for the very thing that it would sleep for.
UNTIL_NOTICED = "while test ! -e noticed; do sleep 0.05; done"
STATUS = '\n[status]\nlisten = "127.0.0.1:0"\n'


def asking(port):
    """The second server is well when the agent at this port says so."""
    asks = CONFIG.replace("backend web\n", "backend web\n  option httpchk GET /healthz\n")
    return asks.replace("check inter", f"check port {port} inter")


def test_a_load_balancer_that_asks_the_agent_sends_nothing_to_a_vm_that_goes(tmp_path):
    """503 from the first sight of the event until everything is undone: 0 failed requests, before, during and after."""
    with served_fleet(tmp_path, "web-2") as fleet:
        agent = fleet.agent_in("web-2", settings_text(one=UNTIL_NOTICED) + STATUS)
        port = re.search(r"status: http://127.0.0.1:(\d+)/", agent.log)[1]
        with balanced_by_haproxy(tmp_path, BackendProcess, asking(port)) as balanced:
            load = Load(balanced, at_once=8)
            load.until_more(name="two")

            event = fleet.operate("web-2", "redeploy")
            until(lambda: balanced.status("two").startswith("DOWN") and not balanced.sessions("two"))
            assert fleet.status_of(event) == "Scheduled"
            (agent.place / "noticed").touch()
            assert agent.says("is now Started"), agent.log
            second_goes_and_comes_back(balanced, load, fleet, agent)

            answers = load.over()
    assert [answer for answer in answers if answer not in {(200, "one"), (200, "two")}] == []
