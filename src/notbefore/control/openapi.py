"""The OpenAPI document: what each route answers, with which statuses and codes, to whom; with examples.

Rule 1: a route says it once, where it stands: `responses=answered(…)`, `needs(Role.…)`. Here it becomes the document.
Rule 2: only what can happen is published. Bad input is a 400 here, so FastAPI's own 422 is taken out.
Rule 3: the document is public; nothing of a running server is in it.
"""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from notbefore.control import answers, rollout_answers
from notbefore.control.answers import Error, Health
from notbefore.control.errors import STATUS_OF_CODE
from notbefore.control.refusal_examples import REFUSALS
from notbefore.control.roles import FLEET_WIDE

Json = dict[str, Any]

JSON = "application/json"
EVERYWHERE = ("body_too_large", "internal")
WITH_TOKEN = ("invalid", "unauthorized", "forbidden", "too_many_attempts", "store_unavailable", *EVERYWHERE)
HEADERS: Mapping[int, Json] = {
    401: {"WWW-Authenticate": {"description": "`Bearer`", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "In so many seconds", "schema": {"type": "integer"}}},
}
REFERENCE = "#/components/schemas/{model}"
_UNUSED = ("HTTPValidationError", "ValidationError")
# What FastAPI knows of a route that returns a dict, beside the model that says it all.
_GUESSED = ("title", "type", "additionalProperties")

ABOUT = """\
What operators and programs ask over HTTP, and what they get.

Bodies are JSON, at most 1 MiB. Unknown fields and parameters are refused by name; types are strict: `"5"` is no number.
Times are ISO 8601, UTC when they have no offset; they are shown to the second with a `Z`. Names in paths are
percent-encoded and compared in any letter case.

Every error has one shape, `{"error": {"code", "message", "hint", "facts"}}`; programs go by the code. A path that is
not there is 404 `not_found`, a method that a path does not take is 405 `method_not_allowed` with `Allow`.

What a route needs is said beside it and in its `security`: a role, where viewer < operator < admin, and `fleet-wide`
where a token limited to scopes is not enough.
"""
TAGS = [
    {"name": "scopes", "description": "VMs that see each other's events; and making something happen to them."},
    {"name": "hosts", "description": "What VMs run on."},
    {"name": "operations", "description": "Maintenance of a host over all who have VMs on it, wave by wave."},
    {"name": "rollouts", "description": "Maintenance of many hosts or scopes, within limits."},
    {"name": "events", "description": "What is planned, what waits for whom, what is over."},
    {"name": "history", "description": "What happened, when, by whom and why."},
    {"name": "clock", "description": "The emulator's clock, to be turned."},
    {"name": "faults", "description": "What an emulator does wrong when it is told to."},
    {"name": "tokens", "description": "Who may ask for what."},
    {"name": "metrics", "description": "For Prometheus."},
    {"name": "health", "description": "Open to everybody."},
]


class ControlApi(FastAPI):
    def openapi(self) -> Json:
        if self.openapi_schema is None:
            return published(super().openapi())
        return self.openapi_schema


def answered(
    said: Mapping[int, str], model: type[BaseModel] | None, example: Any, *codes: str
) -> dict[int | str, Json]:
    """For `responses=` of a route that needs a token: its statuses in words, what they carry, its own error codes."""
    done: dict[int | str, Json] = {status: {"description": words} for status, words in said.items()}
    for response in done.values():
        if model:
            # As text until `published`: FastAPI takes the nulls out of what it is given.
            response["content"] = {JSON: {"schema": reference_to(model), "example": json.dumps(example)}}
    return done | refused_with(*codes, *WITH_TOKEN)


def answered_as(media_type: str, words: str, example: str, *codes: str) -> dict[int | str, Json]:
    """The same for an answer that is text."""
    content = {media_type: {"schema": {"type": "string"}, "example": example}}
    return {200: {"description": words, "content": content}, **refused_with(*codes, *WITH_TOKEN)}


def healthy(words: Mapping[int, str]) -> dict[int | str, Json]:
    """For the open routes: a word for each status."""
    said: dict[int | str, Json] = {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {JSON: {"schema": reference_to(Health), "example": json.dumps({"status": word})}},
        }
        for status, word in words.items()
    }
    return said | refused_with(*EVERYWHERE)


def refused_with(*codes: str) -> dict[int | str, Json]:
    """Each status with the codes that it can have here."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(STATUS_OF_CODE[code], []).append(code)
    return {status: refusal(status, of_status) for status, of_status in by_status.items()}


def refusal(status: int, codes: list[str]) -> Json:
    schema = {**reference_to(Error), "properties": {"error": {"properties": {"code": {"enum": codes}}}}}
    content = {"schema": schema, "examples": {code: {"value": error_example(code)} for code in codes}}
    words = f"{HTTPStatus(status).phrase}: " + ", ".join(f"`{code}`" for code in codes)
    response: Json = {"description": words, "content": {JSON: content}}
    return response | ({"headers": HEADERS[status]} if status in HEADERS else {})


def error_example(code: str) -> Json:
    message, hint, facts = REFUSALS[code]
    return {"error": {"code": code, "message": message, "hint": hint, "facts": dict(facts)}}


def published(document: Json) -> Json:
    """The document as FastAPI makes it, without what it guesses, and with the roles in words."""
    for operation in operations_of(document):
        responses: Json = operation["responses"]
        responses.pop("422", None)
        operation["responses"] = {status: responses[status] for status in sorted(responses)}
        for response in responses.values():
            if content := response.get("content", {}).get(JSON):
                leave_reference(content["schema"])
                if "example" in content:
                    content["example"] = json.loads(content["example"])
        for parameter in operation.get("parameters", ()):
            parameter["schema"] = without_null(parameter["schema"])
        words = [operation.get("description", ""), needed(operation)]
        operation["description"] = "\n\n".join(filter(None, words))
    schemas = document["components"]["schemas"] | schemas_of_answers()
    document["components"]["schemas"] = {name: schemas[name] for name in sorted(schemas) if name not in _UNUSED}
    return document


def reference_to(model: type[BaseModel]) -> Json:
    """By name alone: FastAPI would make a validator for every answer of every route, at the first request."""
    return {"$ref": REFERENCE.format(model=model.__name__)}


def schemas_of_answers() -> Json:
    models = [
        one
        for one in (*vars(answers).values(), *vars(rollout_answers).values())
        if isinstance(one, type) and issubclass(one, BaseModel) and one is not BaseModel
    ]
    shown: JsonSchemaMode = "serialization"
    schemas: Json = models_json_schema([(one, shown) for one in models], ref_template=REFERENCE)[1]["$defs"]
    return schemas


def operations_of(document: Json) -> Iterator[Json]:
    for path in document["paths"].values():
        yield from path.values()


def leave_reference(schema: Json) -> None:
    if "$ref" in schema:
        for guessed in _GUESSED:
            schema.pop(guessed, None)


def without_null(schema: Json) -> Json:
    """A parameter may be left out; there is no null in an address to send instead."""
    kinds: list[Json] = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return kinds[0] | {name: value for name, value in schema.items() if name != "anyOf"}


def needed(operation: Json) -> str:
    """As its security says it."""
    if "security" not in operation:
        return "Open: needs no token."
    roles = next(iter(operation["security"][0].values()))
    if FLEET_WIDE in roles:
        return f"Role: **{roles[0]}**, with a token for the whole fleet."
    return f"Role: **{roles[0]}**. To a token limited to scopes other scopes are not there."
