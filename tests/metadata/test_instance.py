"""Neighbours of the events (SPEC §2.7): who a VM is, and which versions there are."""

import json
import re
from uuid import UUID

import pytest

from lab import lab_settings, open_lab
from notbefore.wire.instance_versions import INSTANCE_VERSIONS

INSTANCE = "/metadata/instance"
VERSIONS = "/metadata/versions"
NEW = "2021-12-13"
VERSION_BYTES = (
    b'{"error":"Bad request. api-version is invalid or was not specified in the request. For more information refer to'
    b' aka.ms/azureimds","newest-versions":["2025-04-07","2024-07-17","2024-03-15"]}'
)
WEB = {
    "name": "web_12",
    "update_domain": 3,
    "fault_domain": 1,
    "addresses": ["127.0.1.1", "fd00::1"],
    "spot": True,
    "tags": {
        "tier": "front",
        "owner": "us",
        "notbefore.location": "westeurope",
        "notbefore.osType": "Linux",
        "notbefore.vmSize": "Standard_D2s_v5",
        "notbefore.zone": "2",
        "notbefore.resourceGroupName": "shop",
        "notbefore.subscriptionId": "8d10da13-8125-4ba9-a717-bf7490507b3d",
    },
}
PLAIN = {"name": "Plain VM", "addresses": ["127.0.1.2"]}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """One VM of which everything is known, in a scale set, and one of which nothing is, alone."""
    with open_lab(lab_settings(tmp_path_factory.mktemp("fleet") / "state")) as lab:
        lab.declare("web", WEB, kind="scale-set")
        lab.declare("alone", PLAIN, kind="standalone")
        yield lab


def ask(lab, path=INSTANCE, query=f"api-version={NEW}", source="127.0.1.1", **more):
    return lab.ask(source, path=path, query=query, **more)


def test_a_vm_is_told_all_that_is_known_of_it(fleet):
    """SPEC §2.7: compute, from the scope, the VM and its tags; network with the VM's addresses."""
    reply = ask(fleet)
    compute = reply.json["compute"]

    assert (reply.status, reply.headers["content-type"]) == (200, "application/json; charset=utf-8")
    assert UUID(compute.pop("vmId")) != UUID(compute.pop("placementGroupId"))
    assert compute == {
        "evictionPolicy": "Deallocate",
        "location": "westeurope",
        "name": "web_12",
        "osProfile": {"computerName": "web00000c"},
        "osType": "Linux",
        "platformFaultDomain": "1",
        "platformUpdateDomain": "3",
        "priority": "Spot",
        "resourceGroupName": "shop",
        "resourceId": "/subscriptions/8d10da13-8125-4ba9-a717-bf7490507b3d/resourceGroups/shop/providers"
        "/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/12",
        "subscriptionId": "8d10da13-8125-4ba9-a717-bf7490507b3d",
        "tags": "tier:front;owner:us",
        "tagsList": [{"name": "tier", "value": "front"}, {"name": "owner", "value": "us"}],
        "vmScaleSetName": "web",
        "vmSize": "Standard_D2s_v5",
        "zone": "2",
    }
    assert reply.json["network"] == {
        "interface": [
            {
                "ipv4": {
                    "ipAddress": [{"privateIpAddress": "127.0.1.1", "publicIpAddress": ""}],
                    "subnet": [{"address": "", "prefix": ""}],
                },
                "ipv6": {"ipAddress": [{"privateIpAddress": "fd00::1"}]},
                "macAddress": "",
            }
        ]
    }


def test_what_is_not_known_is_an_empty_string_and_never_left_out(fleet):
    """SPEC §2.7: all values strings, unknown ones `""`."""
    compute = ask(fleet, source="127.0.1.2").json["compute"]

    assert compute.keys() == ask(fleet).json["compute"].keys()
    assert {name for name, value in compute.items() if value not in ("", [])} == {
        "name",
        "osProfile",
        "platformUpdateDomain",
        "priority",
        "vmId",
    }
    assert compute["osProfile"] == {"computerName": "Plain VM"}
    assert (compute["name"], compute["priority"], compute["tagsList"]) == ("Plain VM", "Regular", [])


def test_every_value_is_a_string(fleet):
    def leaves(tree):
        inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else None
        return [tree] if inner is None else [leaf for one in inner for leaf in leaves(one)]

    assert {type(leaf) for leaf in leaves(ask(fleet).json)} == {str}


def test_a_vm_keeps_its_id_over_a_restart_and_no_two_have_the_same(tmp_path):
    """SPEC §2.7: vmId; ours comes from scope and name, in any letter case."""
    settings = lab_settings(tmp_path / "state")
    ids = []
    for name in ("web_12", "WEB_12"):
        with open_lab(settings) as lab:
            lab.declare("s", {"name": name, "addresses": ["127.0.1.1"]}, {"name": "b", "addresses": ["127.0.1.2"]})
            ids.append([ask(lab, source=source).json["compute"]["vmId"] for source in ("127.0.1.1", "127.0.1.2")])

    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2


@pytest.mark.parametrize("version", INSTANCE_VERSIONS)
def test_every_version_of_the_real_list_is_answered(fleet, version):
    """SPEC §2.7: any version of the real list."""
    assert ask(fleet, query=f"api-version={version}").json["compute"]["name"] == "web_12"


@pytest.mark.parametrize(
    ("field", "before", "since"),
    [
        ("tags", "2017-04-02", "2017-08-01"),
        ("vmScaleSetName", "2017-10-01", "2017-12-01"),
        ("resourceId", "2019-02-01", "2019-03-11"),
        ("tagsList", "2019-06-01", "2019-06-04"),
        ("osProfile", "2020-06-01", "2020-07-15"),
        ("priority", "2020-10-01", "2020-12-01"),
    ],
)
def test_a_version_leaves_out_what_came_after_it(fleet, field, before, since):
    """REFERENCE §8.1: the version each field was introduced with [real]."""
    assert field not in ask(fleet, query=f"api-version={before}").json["compute"]
    assert field in ask(fleet, query=f"api-version={since}").json["compute"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/compute/name", "web_12"),
        ("/COMPUTE/Name/", "web_12"),
        ("/compute/osProfile/computerName", "web00000c"),
        ("/compute/tags", "tier:front;owner:us"),
        ("/compute/tagsList/1/value", "us"),
        ("/network/interface/0/ipv4/ipAddress/0/privateIpAddress", "127.0.1.1"),
        ("/network/interface/0/macAddress", ""),
        ("", "compute/\nnetwork/"),
        ("/network/interface", "0/"),
        ("/network/interface/0", "ipv4/\nipv6/\nmacAddress"),
    ],
)
def test_a_route_leads_to_an_element_as_text(fleet, path, text):
    """SPEC §2.7: sub-paths with `format=text` for a leaf; an inner element tells what is below it [real]."""
    reply = ask(fleet, INSTANCE + path, f"api-version={NEW}&format=text")

    assert (reply.status, reply.body.decode()) == (200, text)
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("query", [f"api-version={NEW}", f"api-version={NEW}&format=json"])
def test_a_single_value_is_told_as_text_only(fleet, query):
    """REFERENCE §8.2: a leaf with json, or no format, is 400 [real]."""
    reply = ask(fleet, INSTANCE + "/compute/name", query)

    assert reply.status == 400
    assert "format=text" in reply.json["error"]


def test_an_inner_element_is_told_as_json(fleet):
    whole = ask(fleet).json

    assert ask(fleet, INSTANCE + "/compute").json == whole["compute"]
    assert ask(fleet, INSTANCE + "/network/interface/0").json == whole["network"]["interface"][0]
    assert ask(fleet, INSTANCE + "/compute/tagsList").json == whole["compute"]["tagsList"]


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/compute/nothing",
        "/compute/name/more",
        "/network/interface/1",
        "/network/interface/-1",
        "/network/interface/00",
        "/network/interface/%D9%A0",
        "//compute",
        "/compute//name",
        "/compute/__class__",
        "/compute/notbefore.zone",
        "/compute%2fname",
        "/..",
    ],
)
@pytest.mark.parametrize("form", ["json", "text"])
def test_an_unknown_element_is_404(fleet, path, form):
    """SPEC §2.7, REFERENCE §2.4: the requested element doesn't exist [real]."""
    reply = ask(fleet, INSTANCE + path, f"api-version={NEW}&format={form}")

    assert reply.status == 404
    assert reply.json["error"].startswith("Not found. ")


def test_a_field_that_a_version_does_not_have_yet_is_404_there(fleet):
    assert ask(fleet, INSTANCE + "/compute/priority", "api-version=2017-08-01&format=text").status == 404


@pytest.mark.parametrize(
    "query",
    ["", "api-version=", "api-version=2020-07-01", "api-version=latest", f"api-version={NEW}&api-version={NEW}"],
)
def test_a_missing_or_unknown_version_is_answered_with_the_real_bytes(fleet, query):
    """REFERENCE §2.4: the three newest of its own list, descending [real]; the events' versions are another list."""
    reply = ask(fleet, query=query)

    assert (reply.status, reply.body) == (400, VERSION_BYTES)


@pytest.mark.parametrize(("value", "status"), [("json", 200), ("text", 200), ("TEXT", 200), ("xml", 400), ("", 400)])
def test_format_is_json_or_text(fleet, value, status):
    assert ask(fleet, query=f"api-version={NEW}&format={value}").status == status


def test_other_parameters_are_ignored_and_repeated_ones_refused(fleet):
    """SPEC §2.1 for the neighbours: repeated query parameter: refused [real]."""
    assert ask(fleet, query=f"api-version={NEW}&extended=true").status == 200
    assert ask(fleet, query=f"api-version={NEW}&a=1&a=2").status == 400


# -- versions


@pytest.mark.parametrize("query", ["", f"api-version={NEW}", "format=json"])
def test_the_versions_are_told_without_naming_one(fleet, query):
    """REFERENCE §8.3: GET, unversioned, ascending [real]."""
    reply = ask(fleet, VERSIONS, query)

    assert reply.status == 200
    assert reply.json == {"apiVersions": list(INSTANCE_VERSIONS)}
    assert reply.json["apiVersions"] == sorted(reply.json["apiVersions"])
    assert len(reply.json["apiVersions"]) == 35


# -- the rules of every request


RULES = [
    ("header", {"headers": {}}, 400, b"metadata header"),
    ("forwarded", {"headers": {"Metadata": "true", "X-Forwarded-For": "a"}}, 400, b"X-Forwarded-For"),
    ("method", {"method": "POST", "query": "", "source": "127.9.9.9"}, 405, b"Method not allowed"),
    ("query", {"query": "format=text&a=1&a=1", "source": "127.9.9.9"}, 400, b"Bad request"),
    ("caller", {"source": "127.9.9.9"}, 403, b"Forbidden"),
]


@pytest.mark.parametrize("path", [INSTANCE, VERSIONS, INSTANCE + "/compute", INSTANCE.upper() + "/"])
@pytest.mark.parametrize(("rule", "wanted", "status", "said"), RULES, ids=[row[0] for row in RULES])
def test_the_rules_of_a_request_hold_for_the_neighbours(fleet, path, rule, wanted, status, said):
    """SPEC §2.1, in its order; what is below a neighbour is looked for last."""
    reply = ask(fleet, path, **wanted)

    assert reply.status == status
    assert said in reply.body
    if status == 405:
        assert reply.headers["allow"] == "GET"


@pytest.mark.parametrize("path", ["/metadata/instances", "/metadata/versions/x", "/metadata/identity", "/metadata"])
def test_other_neighbours_are_404(fleet, path):
    assert ask(fleet, path).status == 404


def test_neighbours_count_against_the_same_rate(tmp_path):
    """REFERENCE §2.4: all of the metadata service together [real]."""
    with open_lab(lab_settings(tmp_path / "state", rate_limit_per_s=2)) as lab:
        lab.declare("s", PLAIN)
        statuses = [
            ask(lab, path, source="127.0.1.2").status for path in (INSTANCE, VERSIONS, INSTANCE, VERSIONS, INSTANCE)
        ]

    assert statuses[:2] == [200, 200]
    assert 429 in statuses


def test_who_asks_who_it_is_has_not_asked_what_will_happen(lab):
    """SPEC §2.5: enabled by asking for events; every VM's boot asks who it is, and would else cost its scope the notice."""
    lab.declare("s", PLAIN)
    for path in (INSTANCE, VERSIONS, INSTANCE + "/compute"):
        assert ask(lab, path, source="127.0.1.2").status == 200

    assert lab.control("GET", "/v1/scopes/s").json["listens"] is False


def test_a_vm_is_told_of_itself_alone(fleet):
    """S8: the same bytes from another VM are answered for that one, also when they were seen before."""
    names = [ask(fleet, source=source).json["compute"]["name"] for source in ("127.0.1.1", "127.0.1.2", "127.0.1.1")]

    assert names == ["web_12", "Plain VM", "web_12"]


def test_a_changed_declaration_is_told_at_once(lab):
    """DESIGN §2: read your own writes."""
    for zone in ("1", "2"):
        lab.declare("s", {**PLAIN, "tags": {"notbefore.zone": zone}})
        assert ask(lab, source="127.0.1.2").json["compute"]["zone"] == zone


def test_neighbours_have_their_own_rows_in_the_metrics(fleet):
    ask(fleet, INSTANCE + "/compute")
    ask(fleet, VERSIONS)
    page = fleet.control("GET", "/metrics").body.decode()

    for route in (INSTANCE, VERSIONS):
        row = rf'^notbefore_requests_total{{method="GET",plane="metadata",route="{route}",status="200"}} [1-9]'
        assert re.search(row, page, re.MULTILINE)


def test_names_of_any_script_are_told(lab):
    """SPEC §1: printable characters, percent-encoded in paths, emitted as declared."""
    lab.declare("s", {"name": "šablona ☃", "addresses": ["127.0.1.2"], "tags": {"ключ": 'a"b;c'}})
    compute = ask(lab, source="127.0.1.2").json["compute"]

    assert (compute["name"], compute["tags"]) == ("šablona ☃", 'ключ:a"b;c')
    assert json.loads(json.dumps(compute["tagsList"])) == [{"name": "ключ", "value": 'a"b;c'}]
