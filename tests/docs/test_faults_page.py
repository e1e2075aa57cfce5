"""docs/how-to/faults.md: every kind is there, and what it says that curl shows is what curl shows."""

import re
import subprocess

import pytest
from pages import DOCS, FENCE, rows_of, text_of
from typer.testing import CliRunner

from lab import PATH, lab_settings, open_lab
from notbefore.cli.main import made_app
from notbefore.faults.fault import KINDS, Edge

PAGE = text_of(DOCS / "how-to" / "faults.md")
ROWS = {row[0].strip("`"): row for row in rows_of(PAGE.partition("## The kinds")[2]) if row[0].startswith("`")}
ANSWERS = [kind.name for kind in KINDS.values() if kind.edge is Edge.ANSWER]
CURL = re.search(r"curl -i .*", "".join(block for _, block in FENCE.findall(PAGE)))[0]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with open_lab(lab_settings(tmp_path_factory.mktemp("faults") / "state", demo=True, allow_faults=True)) as opened:
        yield opened


def ordered(lab, kind):
    """By the words on the page, as the program takes them."""
    program, *words = ROWS[kind][1].strip("`").split()
    assert program == "notbefore"
    env = {"NOTBEFORE_URL": lab.server.control_url, "NOTBEFORE_TOKEN": lab.server.token}
    ran = CliRunner(env=env).invoke(made_app(), words)
    assert ran.exit_code == 0, ran.output


def test_every_kind_has_its_row_and_no_row_is_without_a_kind():
    assert list(ROWS) == list(KINDS)


@pytest.mark.part("curl")
@pytest.mark.parametrize("kind", ANSWERS)
def test_what_curl_shows_is_what_the_page_says(lab, kind):
    """Issue: each fault is seen by a plain curl exactly as ordered, and gone after clear."""
    _, _, shows, code = ROWS[kind]
    line = CURL.replace("http://127.0.0.1:8254", lab.server.metadata_urls[0]).replace('"', "")
    assert PATH in line
    line = line.replace("-m 5", "-m 1" if kind == "hang" else "-m 30")
    ordered(lab, kind)
    try:
        got = subprocess.run(line.split(), capture_output=True, text=True, check=False)
    finally:
        lab.control("DELETE", "/v1/faults")
    after = subprocess.run(line.split(), capture_output=True, text=True, check=True).stdout

    assert got.returncode == int(code)
    for shown in re.findall(r"`(HTTP/1.1 [^`]+|[\w-]+: [^`]+)`", shows):
        assert f"{shown}\n" in got.stdout.replace("\r", "")
    assert bool(got.stdout) == ("HTTP/1.1" in shows)
    assert after.startswith("HTTP/1.1 200 OK")


@pytest.mark.parametrize("kind", [name for name in KINDS if name not in ANSWERS])
def test_the_orders_of_the_other_kinds_are_taken(lab, kind):
    ordered(lab, kind)

    (fault,) = lab.control("GET", "/v1/faults").json["faults"]
    assert fault["kind"] == kind
    assert lab.control("DELETE", "/v1/faults").json == {"cleared": 1}


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.edge is Edge.EVENT])
def test_defaults_on_the_page_are_the_programs(kind):
    assert ROWS[kind][3] == ", ".join(f"{seconds:g} s" for seconds in KINDS[kind].options.values())
