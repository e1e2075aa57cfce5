"""The reference page of the control API and its OpenAPI document say the same: routes, parameters, fields, codes."""

import re

import pytest
from pages import prose_of, reference

from notbefore.control.app import control_app
from notbefore.control.openapi import WITH_TOKEN

DOCUMENT = control_app(None).openapi()
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def section_of(name):
    section = reference("control-api.md").partition(f"\n### {name}\n")[2]
    return prose_of(re.split(r"\n##+ ", section)[0])


def code_in(text):
    """Every word that stands in backticks."""
    return set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`]+)`", text))))


def fields_of(operation):
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    for one in (body, *body.get("anyOf", ())):
        if "$ref" in one:
            yield from DOCUMENT["components"]["schemas"][one["$ref"].rpartition("/")[2]]["properties"]


def codes_of(operation):
    for status, response in operation["responses"].items():
        if int(status) >= 400:
            yield from response["content"]["application/json"].get("examples", {})


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_parameter_and_field_of_a_route_is_on_its_page(name):
    """Issue: the page agrees with the OpenAPI document."""
    parameters = [one["name"] for one in OPERATIONS[name].get("parameters", ()) if one["in"] != "path"]
    written = {word.lower() for word in code_in(section_of(name))}

    assert section_of(name)
    assert {one.lower() for one in (*parameters, *fields_of(OPERATIONS[name]))} <= written


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_code_of_a_route_is_on_its_page(name):
    """Those that any route may answer are named once, above."""
    common = code_in(
        reference("control-api.md").partition("Any route under `/v1` may answer")[2].partition("below only")[0]
    )
    codes = set(codes_of(OPERATIONS[name]))

    assert set(WITH_TOKEN) <= common
    assert codes - common <= code_in(section_of(name))
