"""Reading the document (SPEC §2.2, §2.3) as VMs do, over real sockets."""

import re

import pytest

from lab import lab_settings, open_lab, start_requests

VERSIONS = ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"]
BASE = ["EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"]
FIELDS = {
    "2019-04-01": [*BASE, "Description"],
    "2019-08-01": [*BASE, "Description", "EventSource"],
    "2020-07-01": [*BASE, "Description", "EventSource", "DurationInSeconds"],
}
TYPES = {
    "2017-03-01": {"Reboot", "Freeze", "Redeploy"},
    "2017-08-01": {"Reboot", "Freeze", "Redeploy"},
    "2017-11-01": {"Reboot", "Freeze", "Redeploy", "Preempt"},
}
ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
RFC1123 = (
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT"
)
FIVE = ["restart", "redeploy", "freeze", "evict", "terminate"]


@pytest.fixture(scope="module")
def five(shared_demo):
    """One event of each of the five types, all Scheduled."""
    shared_demo.make_spot("demo", "FrontEnd_IN_0")
    for operation in FIVE:
        shared_demo.made("demo", "FrontEnd_IN_0", operation)
    return shared_demo


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_shows_its_own_fields_in_order(five, version):
    """SPEC §2.2: a field that a version does not know is left out, not sent empty; §2.3: keys in this order."""
    document = five.document(version=version)

    assert list(document) == ["DocumentIncarnation", "Events"]
    assert {tuple(event) for event in document["Events"]} == {tuple(FIELDS.get(version, BASE))}


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_shows_the_types_it_knows(five, version):
    """SPEC §2.2: Preempt becomes visible in 2017-11-01, Terminate in 2019-01-01; a type not known is left out."""
    shown = {event["EventType"] for event in five.document(version=version)["Events"]}

    assert shown == TYPES.get(version, {"Reboot", "Freeze", "Redeploy", "Preempt", "Terminate"})


@pytest.mark.parametrize("version", VERSIONS)
def test_not_before_is_iso_in_the_first_version_and_rfc_1123_from_then_on(five, version):
    """SPEC §2.2: `NotBefore` as ISO 8601 UTC in 2017-03-01 [seed]; as RFC 1123 from 2017-08-01 on [real]."""
    wanted = ISO if version == "2017-03-01" else RFC1123

    for event in five.document(version=version)["Events"]:
        assert re.fullmatch(wanted, event["NotBefore"])


def test_get_and_post_versions_may_differ(demo):
    """SPEC §2.2: GET and POST versions may differ between calls of one client."""
    demo.make_spot("demo", "FrontEnd_IN_0")
    demo.made("demo", "FrontEnd_IN_0", "evict")
    event = demo.document(version="2020-07-01")["Events"][0]

    assert demo.approve(event["EventId"], version="2017-03-01").status == 200


def test_the_document_is_compact_json_with_its_type_and_tag(demo):
    """SPEC §2.3: compact JSON; Content-Type `application/json; charset=utf-8`; `ETag` is the incarnation unquoted."""
    reply = demo.ask()

    assert reply.body == b'{"DocumentIncarnation":1,"Events":[]}'
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    assert reply.headers["etag"] == "1"


@pytest.mark.parametrize("tag", ["2", '"2"', 'W/"2"', "1, 2", '"1","2"', "0,2", "*"])
def test_if_none_match_gives_304_when_it_matches(demo, tag):
    """SPEC §2.3: `If-None-Match: n` (also quoted, also a list) gives 304 when it matches."""
    demo.made("demo", "FrontEnd_IN_0", "restart")

    reply = demo.ask(headers={"Metadata": "true", "If-None-Match": tag})

    assert (reply.status, reply.body, reply.headers["etag"]) == (304, b"", "2")


@pytest.mark.parametrize("tag", ["0", "1", '"1"', "22", "", "x"])
def test_another_tag_gives_the_document(demo, tag):
    """SPEC §2.3: also `0`: known clients send it first and mean that they have nothing [real]."""
    demo.made("demo", "FrontEnd_IN_0", "restart")

    assert demo.ask(headers={"Metadata": "true", "If-None-Match": tag}).status == 200


def test_on_post_if_none_match_is_ignored(demo):
    """SPEC §2.3: on POST it is ignored."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")
    headers = {"Metadata": "true", "If-None-Match": "2"}

    reply = demo.ask(method="POST", body=start_requests(event["id"]), headers=headers)

    assert reply.status == 200


def test_every_vm_of_a_scope_gets_the_same_bytes(demo):
    """SPEC §1: one scope = one document; §2.3: the same number always means the same content."""
    demo.made("demo", "FrontEnd_IN_0", "restart")

    assert len({demo.ask(f"127.0.0.{n}").body for n in (1, 2, 3, 4)}) == 1


def test_a_vm_never_sees_another_scopes_events(lab):
    """SPEC §5: a VM sees and approves its own scope's events, nothing else (S8)."""
    lab.declare("a", {"name": "vm", "addresses": ["127.0.1.1"]}, listening="always")
    lab.declare("b", {"name": "vm", "addresses": ["127.0.1.2"]}, listening="always")
    foreign = lab.made("a", "vm", "restart")

    assert lab.document("127.0.1.2")["Events"] == []
    assert lab.approve(foreign["id"], source="127.0.1.2").status == 400
    assert lab.event(foreign["id"])["approvals"] == []


def test_the_incarnation_survives_a_restart_and_never_goes_back(tmp_path):
    """SPEC §2.3: survives restarts, never goes back; the EventId is the same from first sight to removal."""
    settings = lab_settings(tmp_path / "state", demo=True)
    with open_lab(settings) as lab:
        lab.made("demo", "FrontEnd_IN_0", "restart")
        before = lab.document()
    with open_lab(settings) as lab:
        after = lab.document()

        assert after == before
        assert before["DocumentIncarnation"] == 2


def test_names_are_emitted_as_declared_in_any_script(lab):
    """SPEC §1: names are 1 to 128 printable characters without `/`, percent-encoded in paths, emitted as declared."""
    name = "Web Ünï-€ 0 %2F?"
    lab.declare("Скоуп 1", {"name": name, "addresses": ["127.0.1.1"]}, listening="always")
    lab.made("скоуп 1", name.lower(), "restart")

    assert lab.document("127.0.1.1")["Events"][0]["Resources"] == [name]


def test_legacy_underscore_prefixes_names_in_the_first_version_only(lab):
    """SPEC §2.2: `legacy_underscore`, per scope, default off: prefix names with `_` in 2017-03-01."""
    lab.declare("s", {"name": "vm", "addresses": ["127.0.1.1"]}, listening="always", legacy_underscore=True)
    lab.made("s", "vm", "restart")

    assert lab.document("127.0.1.1", "2017-03-01")["Events"][0]["Resources"] == ["_vm"]
    assert lab.document("127.0.1.1", "2017-08-01")["Events"][0]["Resources"] == ["vm"]
