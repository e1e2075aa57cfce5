"""docs/how-to/install.md: what it tells people to type exists."""

import re
import subprocess
from pathlib import Path

import pytest
from test_systemd_units import EXPOSURE_MAX, INSTALLED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/install.md").read_text()


def test_every_file_of_the_project_that_it_names_exists():
    """Paths are as seen from the top of the project; stars are the shell's."""
    named = set(re.findall(r"\b(?:deploy|scripts)/[\w./*-]*\w", PAGE))

    assert len(named) > 4
    assert all(list(ROOT.glob(name)) for name in named), named


@pytest.mark.parametrize("block", re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
def test_its_lines_are_valid_shell(block):
    """Read by a shell that does not run them."""
    subprocess.run(["sh", "-n", "-c", block], check=True)


def test_it_says_what_the_units_say():
    """Where the program stands, and how little is exposed."""
    assert f"`{INSTALLED}`" in PAGE
    assert f"at most {EXPOSURE_MAX} " in PAGE
