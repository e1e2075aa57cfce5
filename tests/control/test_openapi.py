"""The OpenAPI document: complete, with examples, and true."""

import pytest
from a_days_work import SCOPE, day_settings, do_a_days_work
from published_schemas import DOCUMENT, OPERATIONS, faults_of, faults_of_answer

from declared_roles import routes_of_the_app
from lab import open_lab
from notbefore.control.auth import OPEN
from notbefore.control.errors import STATUS_OF_CODE
from notbefore.control.roles import FLEET_WIDE

WITH_TOKEN = [name for name, operation in OPERATIONS.items() if "security" in operation]
# Said where no operation of the document is, or by the executor's side of the program.
ELSEWHERE = {"not_found", "method_not_allowed", "stale_attempt", "sink_unavailable", "hindered"}


def contents():
    """Every body of every answer, by operation and status."""
    for name, operation in OPERATIONS.items():
        for status, response in operation["responses"].items():
            for media_type, content in response.get("content", {}).items():
                yield pytest.param(media_type, content, id=f"{name} {status}")


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_says_what_it_does_and_whom_it_is_for(name):
    """Issue: OpenAPI complete."""
    operation = OPERATIONS[name]

    assert operation["summary"]
    assert "Role: **" in operation["description"] or "Open: " in operation["description"]
    assert operation["tags"][0] in {tag["name"] for tag in DOCUMENT["tags"]}


def test_the_role_of_an_operation_is_the_one_that_its_route_needs():
    """OpenAPI 3.1: beside a bearer scheme stand the roles it takes."""
    declared = {
        name: [str(needs[0].role), *([FLEET_WIDE] if needs[0].fleet_wide else [])]
        for name, needs, _ in routes_of_the_app()
        if needs
    }

    assert {name: OPERATIONS[name]["security"] for name in WITH_TOKEN} == {
        name: [{"bearer": roles}] for name, roles in declared.items()
    }
    assert DOCUMENT["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


def test_what_is_published_without_a_token_is_open():
    assert {name.partition(" ")[2] for name in OPERATIONS if name not in WITH_TOKEN} <= OPEN


@pytest.mark.parametrize("name", OPERATIONS)
def test_parameters_and_bodies_are_described(name):
    """Issue: parameters with descriptions, request bodies with examples."""
    operation = OPERATIONS[name]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    models = [one["$ref"].rpartition("/")[2] for one in (body, *body.get("anyOf", ())) if "$ref" in one]

    assert all(one["description"] for one in operation.get("parameters", ()))
    for model in models:
        schema = DOCUMENT["components"]["schemas"][model]
        assert not [fault for example in schema["examples"] for fault in faults_of(example, schema)]
    assert bool(body) == bool(models)


@pytest.mark.parametrize(("media_type", "content"), list(contents()))
def test_every_answer_has_a_schema_and_examples_that_fit_it(media_type, content):
    """Issue: response models for every status it really answers, with examples."""
    examples = [one["value"] for one in content.get("examples", {}).values()] or [content["example"]]

    assert content["schema"]
    for example in examples:
        assert not faults_of(example, content["schema"])


@pytest.mark.parametrize("name", WITH_TOKEN)
def test_errors_are_published_with_their_codes(name):
    """Issue: each error status with the one error shape and the codes that can occur."""
    responses = OPERATIONS[name]["responses"]
    refused = {int(status): response for status, response in responses.items() if int(status) >= 400}

    assert {400, 401, 403, 413, 429, 500, 503} <= set(refused)
    assert "422" not in responses
    for status, response in refused.items():
        schema = response["content"]["application/json"]["schema"]
        codes = schema["properties"]["error"]["properties"]["code"]["enum"]
        assert schema["$ref"].endswith("/Error")
        assert {STATUS_OF_CODE[code] for code in codes} == {status}


def test_every_code_of_the_api_is_published_somewhere():
    text = {code for operation in OPERATIONS.values() for code in codes_of(operation)}

    assert text | ELSEWHERE == set(STATUS_OF_CODE)


def codes_of(operation):
    for response in operation["responses"].values():
        for content in response.get("content", {}).values():
            yield from content.get("examples", {})


def test_a_days_answers_have_the_fields_that_are_published_and_no_others(tmp_path):
    """Issue: real answers are held against the published schema; here every kind of record and event that a day brings."""
    with open_lab(day_settings(tmp_path / "state")) as lab:
        events = do_a_days_work(lab)
        for path in paths_of_a_day(events):
            reply = lab.control("GET", path)
            assert reply.status == 200
            assert not faults_of_answer("GET", path, reply)


def paths_of_a_day(events):
    yield from ("/healthz", "/readyz", "/metrics", "/v1/clock", "/v1/hosts", "/v1/scopes", f"/v1/scopes/{SCOPE}")
    yield from ("/v1/events", "/v1/events?status=Completed&status=Failed&status=Cancelled", "/v1/history?limit=1000")
    for event in events:
        yield f"/v1/events/{event}"
        yield f"/v1/events/{event}/explain"


@pytest.mark.parametrize("path", ["/openapi.json", "/docs"])
def test_the_document_is_open(shared_demo, path):
    """DESIGN §5: open."""
    assert shared_demo.request(shared_demo.control_address, "GET", path, None, {}).status == 200
