"""Examples in the reference are what the program really sends and takes."""

import json
import re

import pytest
from documented_scope import SCOPES, laid_out, rendered
from pages import DOCS, FENCE, reference, rows_of, text_of

from notbefore.control.bodies import DURATION_MAX_S
from notbefore.metadata import verdict
from notbefore.metadata.connections import Limits
from notbefore.metadata.instance import DECLARED, SINCE, TAG_PREFIX
from notbefore.metadata.preferences import WAIT_MAX_S
from notbefore.metadata.proxy import signed, vm_vouched_for
from notbefore.runtime.snapshot import VmRef
from notbefore.wire.api_versions import API_VERSIONS
from notbefore.wire.instance_versions import INSTANCE_VERSIONS

PAGE = reference("metadata-api.md")
DOCUMENTS = re.findall(r"<!-- document: ([^,\n]+), (\S+) -->\n```json\n(.*?)\n```", PAGE, re.DOTALL)
KEY = bytes.fromhex("000102030405060708090a0b0c0d0e0f")


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_json_in_the_pages_is_json(page):
    for language, block in FENCE.findall(text_of(page)):
        if language == "json":
            json.loads(block)


@pytest.mark.parametrize(("scope", "version", "shown"), DOCUMENTS, ids=[f"{one[0]}-{one[1]}" for one in DOCUMENTS])
def test_a_document_on_the_page_is_what_a_vm_gets(scope, version, shown):
    """Byte for byte, once the page's white space is gone."""
    compact = json.dumps(json.loads(shown), separators=(",", ":"), ensure_ascii=False).encode()

    assert compact == rendered(scope, version), f"the page should show\n{laid_out(rendered(scope, version))}"


def test_every_version_has_its_example_and_every_scope_its_place():
    assert {version for _, version, _ in DOCUMENTS} == set(API_VERSIONS)
    assert {scope for scope, _, _ in DOCUMENTS} == set(SCOPES)


@pytest.mark.parametrize("answer", [verdict.HEADER_MISSING, verdict.FORWARDED, verdict.WRONG_VERSION])
def test_errors_shown_in_full_are_the_exact_bytes(answer):
    """SPEC §2.1: those exact bytes."""
    assert f"400 `{answer.body.decode()}`" in PAGE


def test_the_proxys_header_on_the_page_is_signed_with_the_key_on_the_page():
    """SPEC §5, names percent-encoded."""
    shown = re.search(r"<!-- proxy header -->\n```\nX-Notbefore-Vm: (.+)\n```", PAGE)[1]

    assert KEY.hex() in PAGE
    assert shown == signed("shop", "web 1", 1474309787, KEY)
    assert vm_vouched_for(shown.encode(), [KEY], 1474309787.0) == VmRef("shop", "web 1")


def test_the_longest_duration_on_the_page_is_the_programs():
    assert f"{DURATION_MAX_S:,}" in reference("control-api.md")


def test_the_versions_of_the_instance_on_the_page_are_those_told():
    """SPEC §2.7."""
    shown = re.search(r"<!-- instance versions -->\n```json\n(.*?)\n```", PAGE, re.DOTALL)[1]

    assert json.loads(shown) == {"apiVersions": list(INSTANCE_VERSIONS)}


def test_the_fields_of_the_instance_on_the_page_say_since_when_they_are_there():
    """SPEC §2.7; REFERENCE §8.1."""
    table = PAGE.partition("Under `compute`:")[2].partition("Under `network`")[0]
    since = {name.split(".")[0]: row[1] for row in rows_of(table) for name in row[0].replace("`", "").split(", ")}

    assert {name: version for name, version in since.items() if version and name != "field"} == SINCE


def test_every_tag_that_says_more_of_a_vm_is_named():
    assert all(f"`{TAG_PREFIX}{field}`" in reference("fleet.md") for field in DECLARED)


def test_the_limits_of_waiting_on_the_page_are_the_programs():
    """SPEC §2.6."""
    assert f"more than {WAIT_MAX_S} is {WAIT_MAX_S}" in PAGE
    assert f"`limits.long_polls_max`, {Limits().long_polls_max:,}" in PAGE
