"""Schemathesis over the whole control API: whatever is sent, the answer is one that the OpenAPI document publishes.

With a fixed seed: some fifteen hundred cases, and with NOTBEFORE_PROOF=1 many times that.
"""

import os

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import checks
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from lab import lab_settings, open_lab
from notbefore.control import examples
from notbefore.control.app import control_app

PROOF = os.environ.get("NOTBEFORE_PROOF") == "1"
STREAM = "/v1/stream"
ANSWER_MAX_S = 20
PUBLISHED = [
    checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
REFUSED = [negative_data_rejection, unsupported_method]
# POST to it is POST to `/{action}` with an action that there is none of: a 400 that names those there are.
TAKEN_FOR_ANOTHER = ("/v1/events/{event_id}/explain", "/v1/rollouts/{rollout_id}/plan")
without_limits = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


def cases(examples_max, **more):
    """The document as schemathesis takes it. Wrong tokens are left to tests of their own: they are answered late."""
    generation = {"max-examples": examples_max, "with-security-parameters": False, **more}
    config = schemathesis.Config.from_dict({"seed": 5, "generation": generation})
    return schemathesis.openapi.from_dict(control_app(None).openapi(), config=config)


anything = cases(400 if PROOF else 10)
something_valid = cases(1000 if PROOF else 12, mode="positive")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """The demo scope, on a manual clock, with faults allowed."""
    wanted = lab_settings(tmp_path_factory.mktemp("fleet") / "state", demo=True, allow_faults=True)
    with open_lab(wanted) as lab:
        yield lab


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A server of its own, so that nobody else takes the shop's addresses."""
    with open_lab(lab_settings(tmp_path_factory.mktemp("shop") / "state", allow_faults=True)) as lab:
        yield lab


@pytest.fixture(scope="module")
def line():
    """One kept connection for all of it."""
    with requests.Session() as session:
        session.trust_env = False
        yield session


def hands(lab):
    """Where to send a case, and as whom."""
    headers = {"Authorization": f"Bearer {lab.server.token}"}
    return {"base_url": lab.server.control_url, "headers": headers, "timeout": ANSWER_MAX_S}


def things_that_are_there(lab):
    """The shop of the examples as it was declared, with one of everything else, whatever became of them before."""
    assert lab.control("PUT", "/v1/scopes/shop?force=true", examples.SCOPE_BODY).status in (200, 201)
    assert lab.operate("shop", "web-0", "restart").status in (202, 409)
    assert lab.control("POST", "/v1/tokens", examples.TOKEN_BODY).status in (201, 409)
    event = lab.control("GET", "/v1/events?scope=shop").json["events"][0]["id"]
    names = {"scope": "shop", "vm": "web-0", "host": "rack-7", "event_id": event, "name": "ci"}
    return {**names, "operation_id": one_of(lab, "operations"), "rollout_id": one_of(lab, "rollouts")}


def one_of(lab, kind):
    """One that goes on, made where there is none."""
    begin = {"operations": "/v1/hosts/rack-7/maintenance", "rollouts": "/v1/rollouts"}[kind]
    wanted = {"type": "Reboot", **({"all": True} if kind == "rollouts" else {})}
    if not lab.control("GET", f"/v1/{kind}?status=live").json[kind]:
        assert lab.control("POST", begin, wanted).status == 202
    return lab.control("GET", f"/v1/{kind}?status=live").json[kind][0]["id"]


@anything.exclude(path=STREAM).parametrize()
@without_limits
def test_whatever_is_sent_is_answered_as_published(case, fleet, line):
    """Issue: no 5xx, no schema violation; and what the document does not allow is refused."""
    laws = [*PUBLISHED, *(REFUSED if case.operation.path not in TAKEN_FOR_ANOTHER else REFUSED[:1])]

    case.call_and_validate(session=line, checks=laws, **hands(fleet))


@something_valid.include(path_regex="[{]").parametrize()
@without_limits
def test_what_is_asked_of_things_that_are_there_is_answered_as_published(case, shop, line):
    """Issue: no 5xx, no schema violation; also behind the first 404."""
    there = things_that_are_there(shop)
    case.path_parameters.update({name: there[name] for name in case.path_parameters if name in there})

    case.call_and_validate(session=line, checks=PUBLISHED, **hands(shop))


@anything.include(path=STREAM, method="GET").parametrize()
@without_limits
def test_a_stream_begins_or_is_refused_as_published(case, fleet):
    """Issue: no 5xx, no schema violation. A stream does not end, so it is left after its first line."""
    how = hands(fleet)
    sent = case.as_transport_kwargs(base_url=how["base_url"], headers=how["headers"])
    with requests.Session() as session, session.request(**sent, stream=True, timeout=ANSWER_MAX_S) as answer:
        if answer.status_code == requests.codes.ok:
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            assert answer.raw.readline() == b"retry: 1000\n"
        else:
            case.validate_response(answer, checks=[*PUBLISHED, *REFUSED])
