"""The table of requests in the metadata reference, row by row against a real server: the status it says is the one sent."""

import re

import pytest
from pages import reference, rows_of

TABLE = reference("metadata-api.md").partition("## A request")[2].partition("\n## ")[0]
ANSWERS = {row[0]: row[2] for row in rows_of(TABLE)}
TRUE = {"Metadata": "true"}
VERSION = "api-version=2020-07-01"
BROKEN = {
    "size of the head": {"headers": {**TRUE, "X": "x" * 17_000}},
    "`Metadata`": {"headers": {}},
    "`X-Forwarded-For`": {"headers": {**TRUE, "X-Forwarded-For": "10.0.0.1"}},
    "path": {"path": "/metadata/elsewhere"},
    "method": {"method": "PUT"},
    "`api-version`": {"query": ""},
    "`latest`, `{latest}`": {"version": "latest"},
    "query parameters": {"query": f"{VERSION}&a=1&a=2"},
    "`format`": {"query": f"{VERSION}&format=text"},
    "caller": {"source": "127.0.0.99"},
    "body of a POST, length": {"method": "POST", "body": "x" * 70_000},
    "body of a POST, content": {"method": "POST", "body": "{}"},
}
# Broken by bytes, or by asking often; see below.
OTHERWISE = {"what", "HTTP syntax", "rate"}


def status_said(row):
    return int(re.match(r"\d{3}", ANSWERS[row])[0])


def test_every_row_is_tried():
    assert set(ANSWERS) == {*BROKEN, *OTHERWISE}


@pytest.mark.parametrize("row", BROKEN)
def test_a_broken_rule_is_answered_as_its_row_says(shared_demo, row):
    """SPEC §2.1."""
    assert shared_demo.ask(**BROKEN[row]).status == status_said(row)


def test_what_is_no_http_is_answered_as_its_row_says(shared_demo):
    assert shared_demo.raw(b"HELLO\r\n\r\n").startswith(f"HTTP/1.1 {status_said('HTTP syntax')} ".encode())


def test_rules_are_looked_at_in_the_order_of_the_rows(shared_demo):
    """SPEC §2.1: the first broken rule answers."""
    reply = shared_demo.ask(method="PUT", path="/elsewhere", query="", headers={"X-Forwarded-For": "10.0.0.1"})

    assert reply.body.decode() in ANSWERS["`Metadata`"]
