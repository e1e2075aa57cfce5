"""A rollout goes to its end as planned, whatever happens to the server and to whoever asked for it (DESIGN §2)."""

import http.client
import json
import os
import subprocess
import threading
from collections import Counter
from datetime import datetime
from random import Random

from served import PROGRAM, ServerProcess

HOSTS, SCOPES, DOMAINS = 20, 20, 5
KILLS = 10
MORE = 0.5
SETTINGS = (
    {"listening": "always"},
    {"listening": "always"},
    {"listening": "never"},
    {"listening": "always", "auto_approve": ["Platform:Reboot"]},
    {"listening": "always", "recovery_s": 60},
    {"listening": "always", "recovery_s": 900},
    {"listening": "always", "notice_s": {"Reboot": 120}},
    {"listening": "always", "notice_s": {"Reboot": 1800}},
)
MOMENTS = ("visible", "not_before", "ends")
TURNED_PAST_S = 3600
DAY_S = 24 * 3600
LIMITS = ("--max-hosts", "3", "--max-vms", "12", "--recovery", "5m", "--window", "20:00-06:00 Europe/Prague")
AWAY = (OSError, http.client.HTTPException)


def test_a_rollout_killed_with_its_server_ten_times_ends_as_it_was_planned(tmp_path):
    """Issue: 20 hosts, 20 scopes, 5 UDs, nobody approving: the plan printed beforehand equals what history shows; kill -9 of the server ten times on the way changes nothing in the result."""
    server = ServerProcess(tmp_path / "state", "--clock", "manual").start()
    try:
        declare_fleet(server)
        planned = printed_by(server, "--plan")["plan"]
        begun = printed_by(server)
        assert without_ids(begun["plan"]) == without_ids(planned)
        for number, at in enumerate(moments_to_kill_at(planned)):
            kill_at(server, at, turning=number % 2 == 1)
        server.control("POST", "/v1/clock", {"advance_s": 3 * DAY_S})
        rollout = server.control("GET", f"/v1/rollouts/{begun['rollout']['id']}")[1]
        seen = waves_in_history(server)
    finally:
        server.stop()

    assert (rollout["status"], rollout["failed"], rollout["skipped"]) == ("Completed", 0, 0)
    assert rollout["ended_at"] == planned["ends"]
    assert seen == waves_in_plan(begun["plan"])
    touched = Counter((scope, vm) for *_, events in seen for _, scope, vms in events for vm in vms)
    assert set(touched.values()) == {1}
    assert len(touched) == rollout["touched"] > SCOPES * DOMAINS


def moments_to_kill_at(plan):
    """Spread over the rollout: as a wave becomes visible, as it starts, as it ends."""
    waves = [plan["waves"][(number + 1) * len(plan["waves"]) // (KILLS + 1)] for number in range(KILLS)]
    return sorted(wave[MOMENTS[number % len(MOMENTS)]] for number, wave in enumerate(waves))


def kill_at(server, at, *, turning):
    """When the clock has come to that time and everything has settled; or while it is being turned past it."""
    left_s = seconds(at) - seconds(clock(server))
    if turning:
        turned = threading.Thread(target=turn_until_killed, args=(server, max(0, left_s) + TURNED_PAST_S))
        turned.start()
        while turned.is_alive() and clock(server) < at:
            pass
        server.kill()
        turned.join()
    else:
        if left_s > 0:
            server.control("POST", "/v1/clock", {"advance_s": left_s})
        server.kill()
    server.start()


def turn_until_killed(server, span_s):
    try:
        server.control("POST", "/v1/clock", {"advance_s": span_s})
    except AWAY:
        return


def clock(server):
    return server.control("GET", "/v1/clock")[1]["now"]


def seconds(at):
    return int(datetime.fromisoformat(at).timestamp())


def declare_fleet(server):
    """Each scope has a VM in each update domain, each on another host, and some more of them anywhere.

    Not all have the same notice, and some none: so waves do not all end together, and some end just when the next are chosen.
    """
    dice = Random(1)
    for scope in range(SCOPES):
        hosts = {f"vm-{domain}": (scope + 3 * domain) % HOSTS for domain in range(DOMAINS)}
        hosts |= {f"more-{domain}": dice.randrange(HOSTS) for domain in range(DOMAINS) if dice.random() < MORE}
        vms = [{"name": vm, "update_domain": int(vm[-1]), "host": f"h{host}"} for vm, host in hosts.items()]
        body = {"settings": dice.choice(SETTINGS), "vms": vms}
        assert server.control("PUT", f"/v1/scopes/scope-{scope}", body)[0] == 201


def printed_by(server, *words):
    """What the program prints to whoever rolls out."""
    host, port = server.control_address
    env = {**os.environ, "NOTBEFORE_URL": f"http://{host}:{port}", "NOTBEFORE_TOKEN": server.token}
    argv = [PROGRAM, "maintain", "Reboot", "--all", *LIMITS, *words, "--json"]
    return json.loads(subprocess.run(argv, env=env, capture_output=True, text=True, check=True, timeout=60).stdout)


def without_ids(plan):
    """Ids come from the rollout's, and that is made when it is begun."""
    waves = [{**wave, "events": [{**event, "event": None} for event in wave["events"]]} for wave in plan["waves"]]
    return {**plan, "waves": waves}


def waves_in_plan(plan):
    """Of each wave: when it becomes visible, when the last of it starts and ends, and which VMs are in it."""
    return sorted(
        (
            wave["visible"],
            wave["not_before"],
            wave["ends"],
            sorted((event["event"], event["scope"], event["vms"]) for event in wave["events"]),
        )
        for wave in plan["waves"]
    )


def waves_in_history(server):
    waves = {}
    for record in whole_history(server):
        for change in record["changes"]:
            if (event := change["event"]) and change["what"].partition(":")[0] in ("scheduled", "started", "completed"):
                waves.setdefault(event["operation"], []).append((record["at"], change["what"], record["scope"], event))
    return sorted(map(wave_as_it_went, waves.values()))


def wave_as_it_went(told):
    starts = [at for at, what, *_ in told if what.startswith("started")]
    ends = [at for at, what, *_ in told if what == "completed"]
    events = {event["id"]: (event["id"], scope, event["vms"]) for _, _, scope, event in told}
    return told[0][0], max(starts), max(ends), sorted(events.values())


def whole_history(server):
    after, more = 0, True
    while more:
        _, page = server.control("GET", f"/v1/history?after={after}&limit=1000")
        yield from page["history"]
        after, more = page["next"], page["more"]
