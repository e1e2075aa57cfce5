"""Examples in the reference are what the program really sends and takes."""

import json
import re

import pytest
from documented_scope import SCOPES, laid_out, rendered
from pages import DOCS, FENCE, reference, text_of

from notbefore.control.bodies import DURATION_MAX_S
from notbefore.metadata import verdict
from notbefore.metadata.proxy import signed, vm_vouched_for
from notbefore.runtime.snapshot import VmRef
from notbefore.wire.api_versions import API_VERSIONS

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
