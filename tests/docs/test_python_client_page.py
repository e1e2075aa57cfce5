"""The page on the Python client is executed: every example marked so, as printed, against a real server."""

import os
import re
import subprocess
import sys

import pytest
from pages import DOCS, ROOT, text_of

PAGE = text_of(DOCS / "how-to" / "python-client.md")
EXECUTED = re.compile(r"<!-- executed -->\n```python\n(.*?)```.*?```text\n(.*?)```", re.DOTALL)
EXAMPLES = EXECUTED.findall(PAGE)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_prints_what_the_page_says(demo, tmp_path, number):
    """Issue: a typed Python client, with an executed example."""
    example, printed = EXAMPLES[number]
    script = tmp_path / "example.py"
    script.write_text(example)
    env = {**os.environ, "NOTBEFORE_URL": demo.server.control_url, "NOTBEFORE_TOKEN": demo.server.token}

    ran = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=False, timeout=30)

    assert ran.stderr == ""
    assert ran.stdout == printed


def test_the_examples_are_typed(tmp_path):
    """What comes back is typed, strictly, for whoever checks."""
    scripts = [tmp_path / f"example_{number}.py" for number in range(len(EXAMPLES))]
    for script, (example, _) in zip(scripts, EXAMPLES, strict=True):
        script.write_text(example)
    words = ["--strict", "--config-file=", "--no-incremental", "--cache-dir", os.devnull]

    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *words, *scripts], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stdout


def test_every_example_is_executed():
    assert len(EXAMPLES) == PAGE.count("```python") == 2
