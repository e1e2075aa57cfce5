"""`GET /metrics`: what a server says of itself to Prometheus, from a real scrape."""

import json
import re
import threading

import pytest
from a_days_work import NAMES, Scrape, day_settings, do_a_days_work, page_of
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families

import notbefore
from lab import PATH, lab_settings, open_lab
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.counts import Counts
from notbefore.metadata.service import MetadataOptions
from notbefore.metadata.verdict import RequestHead

PROM_NAME = re.compile(r"(notbefore|process|python)_[a-z0-9_]+")


@pytest.fixture(scope="module")
def worked(tmp_path_factory):
    """A server that has done a day's work: `lab`, and the ids of the events it saw."""
    with open_lab(day_settings(tmp_path_factory.mktemp("day") / "state")) as lab:
        lab.event_ids = do_a_days_work(lab)
        yield lab


def eventually(holds, within_s=10):
    """Look again until it holds; what another process does rings no bell here."""
    clock = threading.Event()
    for _ in range(within_s * 50):
        if holds():
            return True
        clock.wait(0.02)
    return False


# -- the page


def test_the_page_needs_a_token(lab):
    """DESIGN §5: /metrics: viewer."""
    assert lab.request(lab.control_address, "GET", "/metrics", None, {}).status == 401


def test_a_viewer_may_read_the_page_but_nobody_who_sees_only_some_scopes(lab):
    """It is about the whole fleet: numbers of other scopes are theirs."""
    lab.declare("web", "web-0")

    def token(name, **limits):
        return lab.control("POST", "/v1/tokens", {"name": name, "role": "viewer", **limits}).json["secret"]

    assert lab.control("GET", "/metrics", token=token("prometheus")).status == 200
    assert lab.control("GET", "/metrics", token=token("tenant", scopes=["web"])).status == 403


def test_the_page_is_not_answered_by_the_metadata_listener(demo):
    """SPEC §5: the two listeners never answer each other's paths."""
    assert demo.ask(path="/metrics").status == 404


def test_the_page_has_prometheus_content_type(lab):
    reply = lab.control("GET", "/metrics")

    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_openmetrics_is_given_to_who_asks_for_it(worked):
    """A newer Prometheus prefers it; its stricter parser takes the page."""
    page = page_of(worked, Accept="application/openmetrics-text; version=1.0.0")

    assert page.endswith("# EOF\n")
    assert {family.name for family in openmetrics_families(page)} >= {"notbefore_events", "notbefore_approvals"}


@pytest.mark.parametrize("accept", ["application/openmetrics-text; version=x", "text/plain; version=1..2", ";;,=,"])
def test_an_accept_header_that_makes_no_sense_gets_a_page_all_the_same(lab, accept):
    assert "notbefore_build_info" in page_of(lab, Accept=accept)


def test_the_page_made_piece_by_piece_is_the_whole(worked):
    """Others have their turn between two families; the page has each family once all the same, and ends once."""
    text = page_of(worked)
    declared = re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE)

    assert len(declared) == len(set(declared)) > 30
    assert "# EOF" not in text
    assert page_of(worked, Accept="application/openmetrics-text").count("# EOF\n") == 1


def test_no_id_and_no_name_is_in_the_page(worked):
    """Issue: no ids in labels; no name of a VM, a scope, a host or a token either."""
    page = page_of(worked)

    for secret in (*NAMES, *worked.event_ids, *map(str.lower, worked.event_ids), "127.0.0", worked.server.token):
        assert secret not in page


def test_names_follow_the_conventions_and_every_family_teaches(worked):
    """A counter ends in _total, a time is in seconds, and the HELP is a sentence."""
    page = page_of(worked)
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE))
    helps = dict(re.findall(r"^# HELP (\S+) (.+)$", page, re.MULTILINE))

    for name, kind in kinds.items():
        assert PROM_NAME.fullmatch(name)
        assert name.endswith("_total") == (kind == "counter")
        assert kind != "histogram" or name.endswith("_seconds")
        assert not name.startswith("notbefore_") or helps[name].endswith(".")


def test_the_page_says_which_program_and_which_clock(worked):
    scrape = Scrape(worked)

    assert scrape.value("notbefore_build_info", version=notbefore.__version__) == 1
    assert scrape.value("notbefore_clock_info", kind="manual") == 1
    assert scrape.value("process_open_fds") > 0


# -- requests


def test_requests_of_both_planes_are_counted_by_route_and_status(lab):
    """By the route's template, whatever the path was."""
    lab.declare("web", {"name": "web-0", "addresses": ["127.0.0.1"]})
    for _ in range(3):
        lab.document()
    lab.ask(path="/metadata/elsewhere")
    lab.ask(method="DELETE")
    lab.ask(source="127.0.0.99")
    lab.raw(b"HELLO\r\n\r\n")
    lab.control("GET", "/v1/scopes/none")
    lab.control("GET", "/v2/nothing")
    scrape = Scrape(lab)

    def counted(**labels):
        return scrape.value("notbefore_requests_total", **labels)

    assert counted(plane="metadata", method="GET", route=PATH, status="200") == 3
    assert counted(plane="metadata", method="GET", route="other", status="404") == 1
    assert counted(plane="metadata", method="other", route=PATH, status="405") == 1
    assert counted(plane="metadata", method="GET", route=PATH, status="403") == 1
    assert counted(plane="metadata", route="malformed", status="400") == 1
    assert counted(plane="metadata") == 7
    assert counted(plane="control", method="PUT", route="/v1/scopes/{scope}", status="201") == 1
    assert counted(plane="control", method="GET", route="/v1/scopes/{scope}", status="404") == 1
    assert counted(plane="control", method="GET", route="other", status="404") == 1


def test_the_fast_path_counts_as_the_slow_one_does(lab):
    """Both ways through the data plane, the parsed request and the remembered one, end in the same number."""
    lab.declare("web", {"name": "web-0", "addresses": ["127.0.0.1"]})
    request = f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: x\r\nMetadata: true\r\n"

    for _ in range(5):
        lab.raw(f"{request}Connection: close\r\n\r\n".encode())

    assert Scrape(lab).value("notbefore_requests_total", plane="metadata", status="200") == 5


def test_a_broken_body_is_one_answer(lab):
    """The refusal that is sent is counted, not also the one nobody got."""
    lab.declare("web", {"name": "web-0", "addresses": ["127.0.0.1"]})
    head = f"POST {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: x\r\nMetadata: true\r\nTransfer-Encoding: chunked\r\n\r\n"

    assert lab.raw(f"{head}zz\r\n".encode()).startswith(b"HTTP/1.1 400")

    assert Scrape(lab).value("notbefore_requests_total", plane="metadata", status="400") == 1


class BrokenService:
    """A metadata service with a fault in it."""

    def __init__(self):
        self.counts = Counts()
        self.options = MetadataOptions()

    def follow_options(self, take):
        take(self.options)

    def follow_scopes(self, take):
        """No scope ever changes."""

    async def answer(self, head, verdict, peer, read_body):
        raise ZeroDivisionError


async def test_an_answer_that_breaks_down_is_a_500():
    """uvicorn answers and logs it; the alert needs the number."""
    service = BrokenService()
    head = RequestHead("GET", PATH.encode(), b"", ())
    asked = {"head": head, "verdict": None, "peer": None, "counted": service.counts.row_for(head)}

    with pytest.raises(ZeroDivisionError):
        await MetadataApp(service)({"state": asked}, None, None)

    assert ("GET", PATH, 500, 1) in service.counts.requests()


def test_methods_nobody_knows_make_no_label(lab):
    """Nothing a caller sends becomes a label of its own."""
    headers = {"Authorization": f"Bearer {lab.server.token}"}
    for n in range(3):
        lab.request(lab.control_address, f"BREW{n}", "/v1/scopes", None, headers)

    assert not [value for _, value in Scrape(lab).labels() if value.startswith("BREW")]


def test_refusals_are_counted_by_code_on_both_planes(worked):
    scrape = Scrape(worked)

    assert scrape.value("notbefore_refusals_total", plane="control", code="unknown_vm") == 1
    assert scrape.value("notbefore_refusals_total", plane="metadata", code="unknown_event") == 1


def test_a_body_that_is_too_large_is_a_refusal_too(lab):
    lab.control("PUT", "/v1/scopes/web", {"description": "x" * 1_100_000})

    assert Scrape(lab).value("notbefore_refusals_total", plane="control", code="body_too_large") == 1


@pytest.mark.one_process("the cap counts in each worker")
def test_connections_to_the_data_plane_are_shown(tmp_path):
    """Open ones as a gauge, those refused for being too many as a counter."""
    with open_lab(lab_settings(tmp_path / "state", limits={"connections_per_vm_max": 1})) as lab:
        import socket

        with socket.create_connection(lab.metadata) as held:
            assert eventually(lambda: Scrape(lab).value("notbefore_metadata_connections") == 1)
            with socket.create_connection(lab.metadata) as second:
                assert second.recv(100).startswith(b"HTTP/1.1 503")
            held.close()

        assert Scrape(lab).value("notbefore_metadata_connections_refused_total") == 1
        assert eventually(lambda: Scrape(lab).value("notbefore_metadata_connections") == 0)


# -- events and impacts


def test_live_events_are_counted_by_type_and_status(worked):
    """As the control API lists them."""
    scrape = Scrape(worked)
    listed = worked.control("GET", "/v1/events").json["events"]

    assert listed
    for event_type in ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"):
        for status in ("Queued", "Scheduled", "Started"):
            alike = [one for one in listed if (one["type"], one["status"]) == (event_type, status)]
            assert scrape.value("notbefore_events", type=event_type, status=status) == len(alike)


def test_ends_and_starts_are_counted_by_what_history_says(worked):
    """Every start and end of history is in the counters, once."""
    scrape = Scrape(worked)
    changes = [change for record in worked.history("limit=1000") for change in record["changes"] if change["event"]]
    starts = [one for one in changes if one["what"].startswith("started")]
    ends = [one for one in changes if one["what"].partition(":")[0] in {"completed", "failed", "cancelled"}]

    assert scrape.value("notbefore_events_started_total") == len(starts)
    assert scrape.value("notbefore_events_ended_total") == len(ends)
    assert scrape.value("notbefore_events_started_total", reason="approved") == 2
    assert scrape.value("notbefore_events_ended_total", type="Freeze", outcome="Failed") == 1
    assert scrape.value("notbefore_events_ended_total", type="Reboot", outcome="Cancelled") == 1


def test_an_approval_counts_once_for_whoever_spoke(worked):
    """A repeated approval is harmless, and no second one."""
    scrape = Scrape(worked)

    assert scrape.value("notbefore_approvals_total", by="vm") == 1
    assert scrape.value("notbefore_approvals_total", by="operator") == 1


def test_the_lag_of_starts_is_measured_where_the_notice_ended(worked):
    """L1: by NotBefore + 1 s. On a manual clock a start is never late."""
    scrape = Scrape(worked)

    due = scrape.value("notbefore_events_started_total", reason="notice_ended")
    assert due == 3
    assert scrape.value("notbefore_start_lag_seconds_count") == due
    assert scrape.value("notbefore_start_lag_seconds_bucket", le="0.05") == due


def test_impacts_have_their_length_failures_and_retries(worked):
    """A Freeze takes 10 s and fails five times; a Reboot takes 30 s and is done."""
    scrape = Scrape(worked)

    def impacts(part, **labels):
        return scrape.value(f"notbefore_impact_duration_seconds_{part}", **labels)

    assert impacts("count", type="Freeze", outcome="failed") == 5
    assert impacts("sum", type="Freeze", outcome="failed") == 50
    assert impacts("sum", type="Reboot", outcome="done") == 30
    assert scrape.value("notbefore_impact_retries_total", type="Freeze") == 4
    assert scrape.value("notbefore_impact_retries_total", type="Reboot") == 0


def test_an_impact_under_way_is_in_the_outbox_and_in_hand(lab):
    lab.declare("web", {"name": "web-0", "addresses": ["127.0.0.1"]}, user_events=False)
    lab.made("web", "web-0", "restart")

    assert eventually(lambda: Scrape(lab).value("notbefore_outbox_effects", state="claimed") == 1)
    assert Scrape(lab).value("notbefore_outbox_in_hand") == 1
    lab.advance(60)
    assert Scrape(lab).value("notbefore_outbox_effects") == 0
    assert Scrape(lab).value("notbefore_outbox_in_hand") == 0


# -- store and snapshot


def test_a_store_that_answers_keeps_the_snapshot_young(worked):
    """A quiet store is followed all the same: the age stays about a second, however long nothing happens."""
    scrape = Scrape(worked)

    assert scrape.value("notbefore_snapshot_age_seconds") < 10
    assert scrape.value("notbefore_store_away") == 0
    assert scrape.value("notbefore_store_errors_total", error="away") == 0


def test_every_operation_of_the_store_is_timed(worked):
    scrape = Scrape(worked)

    for operation in ("load", "commit", "changes", "history", "documents"):
        assert scrape.value("notbefore_store_operation_duration_seconds_count", operation=operation) > 0
    commits = scrape.value("notbefore_store_operation_duration_seconds_count", operation="commit")
    assert scrape.value("notbefore_commit_visible_seconds_count", origin="this_node") == commits


def test_two_servers_in_one_process_count_each_for_itself_and_see_each_other(tmp_path):
    """What one commits the other shows, and says how long that took; own work is nobody else's number."""
    first_state = tmp_path / "one"
    with open_lab(lab_settings(first_state, clock="real")) as one:
        settings = lab_settings(tmp_path / "two", clock="real")
        settings = with_store(settings, first_state / "notbefore.db")
        with open_lab(settings) as other:
            one.declare("web", "web-0")

            assert eventually(lambda: Scrape(other).value("notbefore_scopes") == 1)
            assert eventually(
                lambda: Scrape(other).value("notbefore_commit_visible_seconds_count", origin="other_node") == 1
            )
            assert Scrape(other).value("notbefore_commit_visible_seconds_count", origin="this_node") == 0
            assert Scrape(one).value("notbefore_commit_visible_seconds_count", origin="this_node") == 1
            assert Scrape(one).value("notbefore_commit_visible_seconds_count", origin="other_node") == 0
            assert Scrape(other).value("notbefore_requests_total", plane="control", method="PUT") == 0


def with_store(settings, path):
    import msgspec

    return msgspec.structs.replace(settings, store=msgspec.structs.replace(settings.store, url=f"sqlite:{path}"))


def test_what_was_there_at_the_start_is_counted_but_was_not_late(tmp_path):
    """A restart finds its fleet; nothing of it is timed as news."""
    settings = lab_settings(tmp_path / "state")
    with open_lab(settings) as lab:
        lab.declare("web", "web-0", "web-1", listening="always")
    with open_lab(settings) as lab:
        scrape = Scrape(lab)

    assert scrape.value("notbefore_scopes") == scrape.value("notbefore_scopes_listening") == 1
    assert scrape.value("notbefore_vms", state="running") == 2
    assert scrape.value("notbefore_commit_visible_seconds_count") == 0


def test_the_openapi_page_tells_of_it(lab):
    paths = json.loads(lab.request(lab.control_address, "GET", "/openapi.json", None, {}).body)["paths"]

    assert "text/plain" in paths["/metrics"]["get"]["responses"]["200"]["content"]
