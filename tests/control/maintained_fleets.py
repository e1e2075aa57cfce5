"""Fleets for host maintenance and rollouts over the control API: several scopes, shared hosts, a clock to turn."""

DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def vm(name, host="h1", domain=0, **more):
    return {"name": name, "host": host, "update_domain": domain, **more}


def two_tenants(lab):
    """Scopes a and b with a VM each on h1; a's asks from 127.0.0.1, b's from 127.0.0.2."""
    lab.declare("a", vm("web", addresses=["127.0.0.1"]), listening="always")
    lab.declare("b", vm("shop", addresses=["127.0.0.2"]), listening="always")


def maintain_host(lab, host="h1", **wanted):
    reply = lab.control("POST", f"/v1/hosts/{host}/maintenance", {"type": "Reboot", **wanted})
    assert reply.status == 202, reply
    lab.advance(0)
    return operation(lab, reply.json["operation"]["id"])


def operation(lab, operation_id):
    reply = lab.control("GET", f"/v1/operations/{operation_id}")
    assert reply.status == 200, reply
    return reply.json


def events_of(shown):
    """Scope to event id, of every wave."""
    return {event["scope"]: event["event"] for wave in shown["waves"] for event in wave["events"]}


def begin_rollout(lab, **wanted):
    reply = lab.control("POST", "/v1/rollouts", {"type": "Reboot", **wanted})
    assert reply.status == 202, reply
    lab.advance(0)
    return reply.json["rollout"]["id"], reply.json["plan"]


def rollout(lab, rollout_id):
    reply = lab.control("GET", f"/v1/rollouts/{rollout_id}")
    assert reply.status == 200, reply
    return reply.json


def say(lab, rollout_id, action):
    reply = lab.control("POST", f"/v1/rollouts/{rollout_id}/{action}")
    assert reply.status == 200, reply
    lab.advance(0)
    return rollout(lab, rollout_id)


def everything(lab):
    """All that a server shows of its fleet, and the documents that VMs get."""
    paths = ("scopes", "events", "hosts", "operations", "rollouts", "history?limit=1000", "clock")
    # Documents first: to ask for one is told to the scope.
    documents = [lab.ask(source).body for source in ("127.0.0.1", "127.0.0.2")]
    return [*documents, *(lab.control("GET", f"/v1/{path}").body for path in paths)]


def refused(reply, status=400):
    assert reply.status == status, reply
    assert set(reply.json["error"]) == {"code", "message", "hint", "facts"}
    return reply.json["error"]


def all_history(lab, query=""):
    """Every record, from the first on."""
    found, after = [], 0
    while True:
        page = lab.control("GET", f"/v1/history?after={after}&limit=1000&{query}").json
        found += page["history"]
        after = page["next"]
        if not page["more"]:
            return found


def as_planned(plan):
    """Of every event: scope, VMs, and when it is shown, starts and ends."""
    return {
        event["event"]: (event["scope"], event["vms"], wave["visible"], wave["not_before"], wave["ends"])
        for wave in plan["waves"]
        for event in wave["events"]
    }


def as_happened(lab, query=""):
    found = {}
    for record in all_history(lab, query):
        for change in record["changes"]:
            event = change["event"]
            if event and event["status"] == "Completed":
                times = (event["visible_since"], event["started_at"], event["ended_at"])
                found[event["id"]] = (record["scope"], event["vms"], *times)
    return found
