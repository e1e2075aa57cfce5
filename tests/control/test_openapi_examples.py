"""The examples of the OpenAPI document: the story they tell, told again to a real server, is answered with them."""

import json
import re

import pytest

from lab import lab_settings, open_lab
from notbefore.control import examples, rollout_examples
from notbefore.control.refusal_examples import REFUSALS

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
GUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
SECRET = re.compile(r"nbt_[\w-]+")
UNSEEN = {"too_many_attempts", "limit_reached", "scope_too_large", "internal", "store_unavailable", "too_many_streams"}
"""Those that take a flood, a full disk or a fault to see; the message of each is tested where it is made."""


def told(value):
    """With every id, time and secret as a word: those are another server's."""
    text = json.dumps(value)
    for pattern, word in ((TIME, "TIME"), (GUID, "ID"), (SECRET, "SECRET")):
        text = pattern.sub(word, text)
    return json.loads(text)


@pytest.fixture
def lab(tmp_path):
    """One that can be asked for everything."""
    with open_lab(lab_settings(tmp_path / "state", allow_faults=True)) as opened:
        yield opened


@pytest.fixture
def ask(lab):
    """Asks, and says it as the examples do; a scope may have come by another revision."""

    def asked(method, path, body=None, token=None):
        reply = lab.control(method, path, body, token)
        return reply.json if reply.body else None

    return asked


def as_in_the_document(answer, example):
    assert told(answer) == told(example)


def test_the_examples_are_what_a_server_answers(ask):
    """Issue: OpenAPI complete with examples. Nothing in them is made up."""
    as_in_the_document(ask("PUT", "/v1/scopes/shop", examples.SCOPE_BODY), examples.SCOPE)
    as_in_the_document(ask("GET", "/v1/scopes"), examples.SCOPES)
    event = ask("POST", "/v1/scopes/shop/vms/web-0/restart", examples.OPERATION_BODY)
    as_in_the_document(event, examples.EVENT)
    as_in_the_document(ask("GET", "/v1/events"), examples.EVENTS)
    as_in_the_document(ask("GET", f"/v1/events/{event['id']}/explain"), examples.EXPLANATION)
    ask("POST", "/v1/clock", {"advance_s": 0})  # what is due is known once everything has settled
    as_in_the_document(ask("GET", "/v1/clock"), examples.CLOCK)
    as_in_the_document(ask("POST", f"/v1/events/{event['id']}/approve"), examples.APPROVED)
    as_in_the_document(ask("POST", "/v1/clock", examples.CLOCK_BODIES[0]), examples.TURNED_CLOCK)
    as_in_the_document(ask("GET", "/v1/history?limit=1"), examples.HISTORY)
    as_in_the_document(ask("POST", "/v1/scopes/shop/maintenance", examples.MAINTENANCE_BODY), examples.MAINTAINED)
    as_in_the_document(ask("PUT", "/v1/hosts/rack-7", examples.HOST_BODY), examples.HOST)
    as_in_the_document(ask("GET", "/v1/hosts"), examples.HOSTS)
    as_in_the_document(ask("POST", "/v1/hosts/rack-8/failed"), examples.HOST_FAILURE)
    as_in_the_document(ask("POST", "/v1/tokens", examples.TOKEN_BODY), examples.NEW_TOKEN)
    as_in_the_document(ask("GET", "/v1/tokens"), examples.TOKENS)
    as_in_the_document(ask("POST", "/v1/faults", examples.FAULT_BODY), examples.FAULT)
    as_in_the_document(ask("GET", "/v1/faults"), examples.FAULTS)
    as_in_the_document(ask("DELETE", "/v1/faults"), examples.CLEARED_FAULTS)


def test_the_examples_of_operations_and_rollouts_are_what_a_server_answers(ask):
    """The shop's racks are maintained: one by itself, which is cancelled, then both in a rollout."""
    ask("PUT", "/v1/scopes/shop", examples.SCOPE_BODY)
    begun = ask("POST", "/v1/hosts/rack-7/maintenance", rollout_examples.HOST_MAINTENANCE_BODY)
    as_in_the_document(begun, rollout_examples.HOST_MAINTENANCE)
    operation = f"/v1/operations/{begun['operation']['id']}"
    ask("POST", "/v1/clock", {"advance_s": 0})
    as_in_the_document(ask("GET", operation), rollout_examples.OPERATION)
    as_in_the_document(ask("GET", "/v1/operations"), rollout_examples.OPERATIONS)
    as_in_the_document(ask("POST", f"{operation}/cancel"), rollout_examples.CANCELLED_OPERATION)
    ask("POST", "/v1/clock", {"advance_s": 0})
    in_one_go, at_weekends = rollout_examples.ROLLOUT_BODIES
    begun = ask("POST", "/v1/rollouts", in_one_go)
    as_in_the_document(begun, rollout_examples.BEGUN_ROLLOUT)
    rollout = f"/v1/rollouts/{begun['rollout']['id']}"
    ask("POST", "/v1/clock", {"advance_s": 0})
    as_in_the_document(ask("GET", rollout), rollout_examples.ROLLOUT)
    as_in_the_document(ask("GET", "/v1/rollouts"), rollout_examples.ROLLOUTS)
    as_in_the_document(ask("GET", f"{rollout}/plan"), rollout_examples.PLANNED)
    as_in_the_document(ask("POST", f"{rollout}/pause"), rollout_examples.PAUSED_ROLLOUT)
    assert ask("POST", "/v1/rollouts", at_weekends)["plan"]["stuck"] == ""


def test_the_examples_of_text_are_what_a_server_answers(lab):
    lab.declare("shop", "web-0", listening="always")
    lab.made("shop", "web-0", "restart")

    page = lab.control("GET", "/metrics").body.decode()

    assert set(examples.METRICS.splitlines()) <= set(page.splitlines())
    assert json.loads(examples.STREAM.partition("data: ")[2]) == examples.RECORD


def refusals_of_a_day(ask):
    """One after the other, each by the request that makes it."""
    ask("PUT", "/v1/scopes/shop", examples.SCOPE_BODY)
    ci = ask("POST", "/v1/tokens", {"name": "ci", "role": "operator"})["secret"]
    too_early = {"not_before": "2020-01-01T00:00:00Z"}
    yield ask("POST", "/v1/scopes/shop/vms/web-0/restart", too_early)
    event = ask("POST", "/v1/scopes/shop/vms/web-0/restart")["id"]
    yield ask("POST", "/v1/scopes/shop/vms/web-0/restart")
    yield ask("DELETE", "/v1/scopes/shop")
    ask("POST", f"/v1/events/{event}/approve")
    yield ask("POST", f"/v1/events/{event}/cancel")
    yield ask("PUT", "/v1/scopes/other", {"kinds": "x"})
    yield ask("GET", "/v1/scopes", token="")
    yield ask("PUT", "/v1/hosts/rack-7", token=ci)
    yield ask("GET", "/v1/scopes/nope")
    yield ask("POST", "/v1/scopes/shop/vms/nope/restart")
    yield ask("GET", "/v1/events/nope")
    yield ask("GET", "/v1/hosts/nope")
    yield ask("GET", "/v1/operations/nope")
    yield ask("GET", "/v1/rollouts/nope")
    yield ask("DELETE", "/v1/tokens/nope")
    yield ask("DELETE", "/v1/faults/nope")
    yield ask("POST", "/v1/tokens", {"name": "ci", "role": "viewer"})
    yield ask("POST", "/v1/scopes/shop/vms/web-0/evict")
    yield ask("DELETE", "/v1/hosts/rack-7")
    yield ask("PUT", "/v1/scopes/other", {"vms": [{"name": "a", "addresses": ["10.0.0.4"]}]})
    yield ask("PUT", "/v1/scopes/other", {"kind": "n" * 1024 * 1024})
    ask("POST", "/v1/scopes/shop/vms/web-1/evict")
    ask("POST", "/v1/clock", {"advance_s": 3600})
    yield ask("POST", "/v1/scopes/shop/vms/web-1/restart")


def test_the_refusals_in_the_examples_are_what_a_server_answers(ask):
    """Issue: the one shape of error, with the codes that can occur, taken from real answers."""
    seen = {one["error"]["code"]: one["error"] for one in refusals_of_a_day(ask)}

    for code, refused in seen.items():
        message, hint, facts = REFUSALS[code]
        as_in_the_document(refused, {"code": code, "message": message, "hint": hint, "facts": facts})
    assert set(seen) | UNSEEN == set(REFUSALS)
