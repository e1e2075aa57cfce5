"""Nothing that outsiders may use is left out of its reference page: settings, routes, commands, error codes, versions."""

import importlib
import pkgutil
import re
import subprocess
import sys
from contextlib import suppress
from typing import get_args

import msgspec
import pytest
import typer
from pages import ROOT, headings_of, reference, rows_by_name, rows_of

import notbefore
from notbefore.cli.main import PROGRAM, made_app
from notbefore.control.errors import STATUS_OF_CODE
from notbefore.control.events import ACTIONS
from notbefore.core.errors import REFUSALS, Refusal
from notbefore.core.kinds import EventType, Status
from notbefore.core.lifecycle import TRANSITIONS
from notbefore.core.scope_settings import DEFAULT_NOTICE_S, ScopeSettings
from notbefore.core.vm_operations import VM_OPERATIONS
from notbefore.settings import Settings
from notbefore.wire.api_versions import API_VERSIONS

# -- settings


def sections_in(kind):
    """The tables inside a type: itself, or what a list of them holds."""
    candidates = [kind, *get_args(kind)]
    return [one for one in candidates if isinstance(one, type) and issubclass(one, msgspec.Struct)]


def keys_of(section, above=()):
    """Every key of the settings file, as a path."""
    for field in msgspec.structs.fields(section):
        path = (*above, field.name)
        inner = sections_in(field.type)
        if not inner or inner[0] is not field.type:
            yield path
        for deeper in inner:
            yield from keys_of(deeper, path)


def is_documented(path, page):
    """By its dotted name anywhere, or by its own name as a heading, in a table's first cell, or as a key of a TOML example."""
    name = re.escape(path[-1])
    shapes = (rf"`{re.escape('.'.join(path))}`", rf"^#+ .*\b{name}\b", rf"^\| `[^`]*\b{name}\b[^`]*`", rf"\b{name} = ")
    return any(re.search(shape, page, re.MULTILINE) for shape in shapes)


@pytest.mark.parametrize("path", list(keys_of(Settings)), ids=".".join)
def test_every_setting_of_the_server_is_documented(path):
    """Issue: each setting has its place in its reference page."""
    assert is_documented(path, reference("settings.md"))


@pytest.mark.parametrize("name", ScopeSettings.__dataclass_fields__)
def test_every_setting_of_a_scope_is_documented(name):
    assert name in rows_by_name(reference("fleet.md"))


# -- routes


@pytest.fixture(scope="module")
def routes(shared_demo):
    """What the running server says it answers."""
    paths = shared_demo.control("GET", "/openapi.json").json["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def test_every_route_has_its_heading_and_no_heading_is_without_a_route(routes):
    """Issue: each route has its heading in its reference page."""
    headings = {one for one in headings_of(reference("control-api.md")) if re.match(r"[A-Z]+ /", one)}

    assert headings == routes


@pytest.mark.parametrize("word", [*VM_OPERATIONS, *ACTIONS])
def test_every_operation_and_action_has_its_row(word):
    assert word in rows_by_name(reference("control-api.md"))


@pytest.mark.parametrize("operation", VM_OPERATIONS.values(), ids=lambda one: one.name)
def test_an_operations_row_says_its_type_and_source(operation):
    """SPEC §3.1: the table of operations."""
    _, event_type, source, notice = rows_by_name(reference("control-api.md"))[operation.name]

    assert (event_type, source) == (operation.type, operation.source)
    assert notice == shown_notice(operation.type)


def shown_notice(event_type):
    seconds = DEFAULT_NOTICE_S[event_type]
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"


# -- commands


def commands_below(command, words):
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands_below(inner, (*words, name))


COMMANDS = {
    " ".join(words): command for words, command in commands_below(typer.main.get_command(made_app()), (PROGRAM,))
}


def section_of(heading):
    return reference("cli.md").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_heading_and_every_option_its_row(name):
    """Issue: each command has its heading in its reference page."""
    section = section_of(name)
    options = [option for one in COMMANDS[name].params for option in one.opts if option.startswith("--")]

    assert section
    for option in set(options) - {"--help", "--install-completion", "--show-completion"}:
        assert f"| `{option}" in section


@pytest.mark.parametrize("code", ["0", "1", "2", "130"])
def test_every_exit_code_has_its_row(code):
    """DESIGN §4: 0 done, 1 refused or failed, 2 wrong usage."""
    assert code in {row[0] for row in rows_of(section_of("Exit codes"))}


# -- pages that scripts write


@pytest.mark.parametrize(("script", "page"), [("lifecycle-diagram", "lifecycle.md"), ("cli-reference", "cli.md")])
def test_the_generated_part_of_a_page_is_what_its_script_prints(script, page):
    """Mend it with `.venv/bin/python scripts/NAME --write`."""
    printed = subprocess.run(
        [sys.executable, ROOT / "scripts" / script], capture_output=True, text=True, check=True
    ).stdout
    block = reference(page).partition(f"<!-- {script}: begin -->\n")[2].partition(f"<!-- {script}: end -->\n")[0]

    assert block == printed


# -- errors


def every_code():
    for module in pkgutil.walk_packages(notbefore.__path__, "notbefore."):
        with suppress(ImportError):  # a part that needs an extra which is not installed
            importlib.import_module(module.name)
    kinds, found = [Refusal], set()
    while kinds:
        kind = kinds.pop()
        if kind.__module__.startswith("notbefore."):
            found.add(kind.code)
        kinds += kind.__subclasses__()
    return sorted(found | set(REFUSALS) | set(STATUS_OF_CODE))


@pytest.mark.parametrize("code", every_code())
def test_every_error_code_has_its_row(code):
    """Issue: each error code with its meaning, its status, and what to do."""
    _, _, meaning, what_to_do = rows_by_name(reference("errors.md"))[code]

    assert meaning
    assert what_to_do


@pytest.mark.parametrize("code", STATUS_OF_CODE)
def test_an_error_codes_row_says_its_status(code):
    assert rows_by_name(reference("errors.md"))[code][1] == str(STATUS_OF_CODE[code])


def test_no_page_names_an_error_code_that_is_not_there():
    named = set(rows_by_name(reference("errors.md")))

    assert named == set(every_code())


# -- versions, types, statuses


def test_the_seven_versions_have_their_rows_in_order():
    """SPEC §2.2."""
    dates = [row[0] for row in rows_of(reference("metadata-api.md")) if re.fullmatch(r"\d{4}-\d\d-\d\d", row[0])]

    assert dates == list(API_VERSIONS)


@pytest.mark.parametrize("event_type", EventType)
def test_every_event_type_has_its_row_with_first_version_and_notice(event_type):
    first = next(name for name, version in API_VERSIONS.items() if event_type in version.types)
    row = rows_by_name(reference("metadata-api.md"))[event_type]

    assert row[1] == first
    assert row[3] == shown_notice(event_type)


@pytest.mark.parametrize("status", Status)
def test_every_status_has_its_row(status):
    assert status in rows_by_name(reference("lifecycle.md"))


def test_every_row_of_the_lifecycle_is_explained():
    """Beside the diagram, in words: when each row applies."""
    explained = reference("lifecycle.md").partition("## When each row applies")[2]

    for _, happening in TRANSITIONS:
        assert f"**{happening.partition(': ')[2] or happening}**" in explained
