"""The document (SPEC §2.2, §2.3): exact bytes, keys, dates and types for each of the seven versions."""

import json

import pytest
from wire_builders import EVENT, event_of, scope_showing

from notbefore.core.kinds import EventType, Source, Status
from notbefore.wire.api_versions import API_VERSIONS, NEWEST, NEWEST_THREE
from notbefore.wire.document import render_document

ISO, RFC = "2016-09-19T18:29:47Z", "Mon, 19 Sep 2016 18:29:47 GMT"
KEYS = ["EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"]
MAINTENANCE = {"Freeze", "Reboot", "Redeploy"}
TABLE = [
    ("2017-03-01", KEYS, ISO, MAINTENANCE),
    ("2017-08-01", KEYS, RFC, MAINTENANCE),
    ("2017-11-01", KEYS, RFC, MAINTENANCE | {"Preempt"}),
    ("2019-01-01", KEYS, RFC, MAINTENANCE | {"Preempt", "Terminate"}),
    ("2019-04-01", [*KEYS, "Description"], RFC, MAINTENANCE | {"Preempt", "Terminate"}),
    ("2019-08-01", [*KEYS, "Description", "EventSource"], RFC, MAINTENANCE | {"Preempt", "Terminate"}),
    (
        "2020-07-01",
        [*KEYS, "Description", "EventSource", "DurationInSeconds"],
        RFC,
        MAINTENANCE | {"Preempt", "Terminate"},
    ),
]
EVERY_ROW = pytest.mark.parametrize(("version", "keys", "not_before", "types"), TABLE, ids=[row[0] for row in TABLE])
EVERY_VERSION = pytest.mark.parametrize("version", [row[0] for row in TABLE])


def document(scope, version=NEWEST):
    return json.loads(render_document(scope, API_VERSIONS[version]))


def test_there_are_seven_versions_and_these():
    """SPEC §2.2: the seven versions; §2.1: the newest three are named when a version is refused."""
    assert list(API_VERSIONS) == [row[0] for row in TABLE]
    assert (NEWEST, NEWEST_THREE) == ("2020-07-01", ("2020-07-01", "2019-08-01", "2019-04-01"))


@EVERY_ROW
def test_each_version_has_its_keys_in_this_order_and_no_others(version, keys, not_before, types):
    """SPEC §2.2 and §2.3: keys in this order; a field that a version does not know is left out, not sent empty."""
    shown = document(scope_showing(event_of()), version)

    assert list(shown) == ["DocumentIncarnation", "Events"]
    assert list(shown["Events"][0]) == keys


@EVERY_ROW
def test_each_version_writes_not_before_in_its_own_way(version, keys, not_before, types):
    """SPEC §2.2: ISO 8601 UTC in 2017-03-01 [seed], RFC 1123 from 2017-08-01 on [real]."""
    assert document(scope_showing(event_of()), version)["Events"][0]["NotBefore"] == not_before


@EVERY_ROW
def test_each_version_shows_the_types_it_knows_and_no_others(version, keys, not_before, types):
    """SPEC §2.2: Preempt becomes visible in 2017-11-01, Terminate in 2019-01-01; else the event is left out."""
    scope = scope_showing(*(event_of(event_type, id=f"ID-{event_type}") for event_type in EventType))

    shown = document(scope, version)["Events"]

    assert [event["EventType"] for event in shown] == [str(t) for t in EventType if str(t) in types]


@EVERY_VERSION
def test_the_incarnation_is_the_same_number_in_every_version(version):
    """SPEC §2.3: the number rises whichever version shows the change; also where the event itself is hidden."""
    scope = scope_showing(event_of(EventType.TERMINATE), incarnation=279)

    assert document(scope, version)["DocumentIncarnation"] == 279


def test_the_newest_document_to_the_byte():
    """SPEC §2.3: compact JSON; the shape of real answers."""
    event = event_of(EventType.FREEZE, duration_s=5, source=Source.PLATFORM)

    assert render_document(scope_showing(event), API_VERSIONS["2020-07-01"]) == (
        b'{"DocumentIncarnation":5,"Events":[{"EventId":"602D9444-D2CD-49C7-8624-8643E7171297",'
        b'"EventStatus":"Scheduled","EventType":"Freeze","ResourceType":"VirtualMachine",'
        b'"Resources":["FrontEnd_IN_0","BackEnd_IN_0"],"NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT",'
        b'"Description":"Host server is undergoing maintenance.","EventSource":"Platform","DurationInSeconds":5}]}'
    )


def test_the_seeds_document_to_the_byte():
    """SPEC §2.2: 2017-03-01 is the seeds' document [seed]."""
    assert render_document(scope_showing(event_of()), API_VERSIONS["2017-03-01"]) == (
        b'{"DocumentIncarnation":5,"Events":[{"EventId":"602D9444-D2CD-49C7-8624-8643E7171297",'
        b'"EventStatus":"Scheduled","EventType":"Reboot","ResourceType":"VirtualMachine",'
        b'"Resources":["FrontEnd_IN_0","BackEnd_IN_0"],"NotBefore":"2016-09-19T18:29:47Z"}]}'
    )


@EVERY_VERSION
def test_an_empty_array_means_that_nothing_is_scheduled(version):
    """SPEC §2.3; seed: "An empty array means that there are currently no events scheduled."."""
    assert render_document(scope_showing(), API_VERSIONS[version]) == b'{"DocumentIncarnation":5,"Events":[]}'


@EVERY_VERSION
def test_not_before_is_empty_once_started_and_the_key_stays(version):
    """SPEC §2.3: "Empty string once Started (key stays) [real]."."""
    (shown,) = document(scope_showing(event_of(status=Status.STARTED)), version)["Events"]

    assert (shown["EventStatus"], shown["NotBefore"]) == ("Started", "")


@pytest.mark.parametrize("status", [Status.QUEUED, Status.COMPLETED, Status.CANCELLED, Status.FAILED], ids=str)
def test_only_scheduled_and_started_are_ever_shown(status):
    """SPEC §2.3: `Scheduled` or `Started` only; seed: "No Completed or similar status is ever provided"."""
    assert document(scope_showing(event_of(status=status)))["Events"] == []


def test_a_hidden_event_is_never_shown():
    """SPEC §3.3: `user_events = false`: never in the document."""
    assert document(scope_showing(event_of(status=Status.STARTED, hidden=True)))["Events"] == []


@pytest.mark.parametrize("source", list(Source), ids=str)
def test_the_source_is_platform_or_user(source):
    """SPEC §2.2: "field `EventSource`: `Platform` or `User`"."""
    assert document(scope_showing(event_of(source=source)))["Events"][0]["EventSource"] == str(source)


@pytest.mark.parametrize("duration_s", [-1, 0, 9])
def test_the_duration_is_an_integer(duration_s):
    """SPEC §2.2: integer; -1 unknown or not applicable, 0 no interruption."""
    shown = render_document(scope_showing(event_of(duration_s=duration_s)), API_VERSIONS[NEWEST])

    assert f'"DurationInSeconds":{duration_s}}}'.encode() in shown


def test_an_empty_description_is_sent_as_an_empty_string():
    """SPEC §3.1: evict has an empty description; a version that knows the field sends it."""
    (shown,) = document(scope_showing(event_of(EventType.PREEMPT, description="")))["Events"]

    assert shown["Description"] == ""


def test_the_resource_type_is_virtual_machine():
    """SPEC §2.3: "`ResourceType`: `VirtualMachine`" [seed]."""
    assert document(scope_showing(event_of()))["Events"][0]["ResourceType"] == "VirtualMachine"


def test_several_events_are_shown_in_the_order_they_came():
    """Seed: "the response contains an array of events"."""
    scope = scope_showing(event_of(), event_of(id="SECOND", vms=("BackEnd_IN_1",)))

    assert [event["EventId"] for event in document(scope)["Events"]] == [EVENT, "SECOND"]


@pytest.mark.parametrize(
    ("version", "names"),
    [("2017-03-01", ["_FrontEnd_IN_0", "_BackEnd_IN_0"]), ("2017-08-01", ["FrontEnd_IN_0", "BackEnd_IN_0"])],
)
def test_the_preview_put_an_underscore_before_the_names(version, names):
    """SPEC §2.2: `legacy_underscore`: prefix names with `_` in 2017-03-01 as the preview did."""
    scope = scope_showing(event_of(), legacy_underscore=True)

    assert document(scope, version)["Events"][0]["Resources"] == names


def test_without_the_setting_the_preview_version_shows_plain_names():
    """SPEC §2.2: `legacy_underscore`, per scope, default off; the seeds print plain names."""
    (shown,) = document(scope_showing(event_of()), "2017-03-01")["Events"]

    assert shown["Resources"] == ["FrontEnd_IN_0", "BackEnd_IN_0"]


def test_names_are_emitted_as_declared_in_utf_8():
    """SPEC §1: names are printable characters, emitted as declared."""
    assert '"Resources":["Größe-Ω"]'.encode() in render_document(
        scope_showing(event_of(vms=("Größe-Ω",))), API_VERSIONS[NEWEST]
    )


@EVERY_VERSION
def test_the_same_scope_gives_the_same_bytes(version):
    """SPEC §2.3: "the same number always means the same content"."""
    first = render_document(scope_showing(event_of()), API_VERSIONS[version])

    assert render_document(scope_showing(event_of()), API_VERSIONS[version]) == first
