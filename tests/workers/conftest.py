"""Servers with two workers."""

import sys
from pathlib import Path

import pytest

from lab import lab_settings, open_lab

sys.path.append(str(Path(__file__).parent.parent / "e2e"))


@pytest.fixture
def pair(tmp_path):
    """The demo scope on a manual clock, answered by two workers."""
    with open_lab(lab_settings(tmp_path / "state", demo=True, workers=2)) as opened:
        yield opened
