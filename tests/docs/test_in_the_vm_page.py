"""The page on the client inside a VM is executed: every example marked so, as printed, against a real server."""

import os
import re
import subprocess
import sys

import pytest
from pages import DOCS, ROOT, reference, rows_by_name, text_of

import notbefore.client
from notbefore.client import ChangeKind, Document, EventView, Patience

PAGE = text_of(DOCS / "how-to" / "in-the-vm.md")
EXECUTED = re.compile(r"<!-- executed -->\n```python\n(.*?)```.*?```text\n(.*?)```", re.DOTALL)
(ASK, ASKED), (WATCH, WATCHED) = EXECUTED.findall(PAGE)


def started(tmp_path, demo, example):
    script = tmp_path / "example.py"
    script.write_text(example)
    env = {**os.environ, "NOTBEFORE_ENDPOINT": demo.server.metadata_urls[0]}
    return subprocess.Popen(
        [sys.executable, script], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_asking_prints_what_the_page_says(demo, tmp_path):
    demo.made("demo", "FrontEnd_IN_0", "restart")

    with started(tmp_path, demo, ASK) as running:
        assert running.communicate(timeout=30) == (ASKED, "")


def test_watching_prints_what_the_page_says(demo, tmp_path):
    demo.made("demo", "FrontEnd_IN_0", "restart")

    with started(tmp_path, demo, WATCH) as running:
        lines = [running.stdout.readline(), running.stdout.readline()]
        demo.advance(60)
        rest, complaints = running.communicate(timeout=90)

    assert "".join(lines) + rest == WATCHED
    assert complaints == ""


def test_the_examples_are_typed(tmp_path):
    """Typed and documented: strictly, for whoever checks. The sample in examples/ too."""
    scripts = [tmp_path / "ask.py", tmp_path / "watching.py"]
    for script, example in zip(scripts, (ASK, WATCH), strict=True):
        script.write_text(example)
    words = ["--strict", "--config-file=", "--no-incremental", "--cache-dir", os.devnull]

    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *words, *scripts, ROOT / "examples" / "watch.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("name", notbefore.client.__all__)
def test_every_name_is_in_the_reference(name):
    assert name in reference("client.md")


@pytest.mark.parametrize("field", Patience.__dataclass_fields__)
def test_patience_has_the_defaults_of_its_page(field):
    assert rows_by_name(reference("client.md"))[field][1] == f"{getattr(Patience(), field):g}"


@pytest.mark.parametrize("name", [*EventView.__dataclass_fields__, *Document.__dataclass_fields__, *ChangeKind])
def test_every_attribute_and_change_is_in_the_reference(name):
    assert re.search(rf"[`.]{name}\b", reference("client.md"))
