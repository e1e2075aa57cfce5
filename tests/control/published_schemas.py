"""The OpenAPI document as a judge: an answer has to be one of those it publishes, and may have no field that it does not.

The published schemas are open, so that a field can be added to an answer one day; here they are closed.
"""

import copy
import re

import jsonschema_rs

from notbefore.control.app import control_app

DOCUMENT = control_app(None).openapi()
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def closed(schema):
    """With nothing beside the properties it names."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(value) for name, value in schema.items()}
    return {**inner, "additionalProperties": False} if isinstance(schema.get("required"), list) else inner


COMPONENTS = {
    "schemas": {name: closed(schema) for name, schema in copy.deepcopy(DOCUMENT["components"]["schemas"]).items()}
}


def operation_for(method, path):
    """Its name in the document; a path of fixed words goes before one with a place for names."""
    fitting = [
        name
        for name in OPERATIONS
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", name), f"{method} {path.partition('?')[0]}")
    ]
    return min(fitting, key=lambda name: name.count("{"))


def faults_of(value, schema):
    """What is wrong with it, in words."""
    judge = jsonschema_rs.validator_for({**schema, "components": COMPONENTS})
    return [f"{list(one.instance_path)}: {one.message}" for one in judge.iter_errors(value)]


def faults_of_answer(method, path, reply):
    response = OPERATIONS[operation_for(method, path)]["responses"][str(reply.status)]
    if not reply.body:
        return ["content is published"] if "content" in response else []
    (media_type, content), *_ = response["content"].items()
    if not reply.headers["content-type"].startswith(media_type):
        return [f"{reply.headers['content-type']} is not {media_type}"]
    return faults_of(reply.json, content["schema"]) if media_type == "application/json" else []
