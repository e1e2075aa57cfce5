"""A day in the life of a small fleet, so that every metric has something to say; and the page as Prometheus reads it.

The Freeze always fails, one VM is a spot VM, one is deleted, one approves, one keeps silent.
"""

from prometheus_client.parser import text_string_to_metric_families

from lab import lab_settings

SCOPE = "shop-SECRETNAME"
VMS = (
    {"name": "web-0", "addresses": ["127.0.0.1"], "host": "rack-SECRETNAME"},
    {"name": "web-1", "addresses": ["127.0.0.2"], "update_domain": 1},
    {"name": "batch-0", "addresses": ["127.0.0.3"], "update_domain": 2, "spot": True},
    {"name": "old-0", "addresses": ["127.0.0.4"], "update_domain": 3},
)
NAMES = ("SECRETNAME", *(vm["name"] for vm in VMS))


# Nobody listens there: a target that lags.
NOTIFY = {"webhook": [{"name": "ops", "url": "http://127.0.0.1:1/", "secret": ["whsec_" + "A" * 32]}]}


def day_settings(state, **more):
    return lab_settings(state, executor={"simulate": {"failure_rate": {"Freeze": 1}}}, **{"notify": NOTIFY, **more})


def do_a_days_work(lab):
    """Returns the ids of the events that were made."""
    lab.declare(SCOPE, *VMS)
    for source in ("127.0.0.1", "127.0.0.2"):
        lab.document(source)
    approved = lab.made(SCOPE, "web-0", "restart")["id"]
    assert lab.approve(approved).status == 200
    assert lab.approve(approved).status == 200  # repeated: nothing new
    lab.advance(60)
    silent = lab.made(SCOPE, "web-1", "redeploy")["id"]
    released = lab.made(SCOPE, "old-0", "terminate")["id"]
    assert lab.control("POST", f"/v1/events/{released}/approve").status == 200
    evicted = lab.made(SCOPE, "batch-0", "evict")["id"]
    lab.advance(3600)
    failing = lab.made(SCOPE, "web-0", "freeze")["id"]
    lab.advance(3600)
    cancelled = lab.made(SCOPE, "web-0", "restart")["id"]
    assert lab.control("POST", f"/v1/events/{cancelled}/cancel").status == 200
    assert lab.operate(SCOPE, "no-such-vm", "restart").status == 404
    assert lab.approve("11111111-2222-3333-4444-555555555555").status == 400
    lab.maintain(SCOPE, "Reboot")
    return approved, silent, released, evicted, failing, cancelled


def page_of(lab, **headers):
    asked = {"Authorization": f"Bearer {lab.server.token}", **headers}
    reply = lab.request(lab.control_address, "GET", "/metrics", None, asked)
    assert reply.status == 200, reply
    return reply.body.decode()


def samples_of(lab):
    """Every sample by its name and labels."""
    families = text_string_to_metric_families(page_of(lab))
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


class Scrape:
    def __init__(self, lab):
        self.samples = samples_of(lab)

    def value(self, name, **labels):
        """The sum of the samples that have these labels, whatever else they have."""
        wanted = frozenset(labels.items())
        return sum(value for (sample, of), value in self.samples.items() if sample == name and wanted <= of)

    def names(self):
        return {name for name, _ in self.samples}

    def labels(self):
        return {label for _, of in self.samples for label in of}
