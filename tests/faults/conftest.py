"""A server with the demo scope that takes faults."""

import pytest
from fault_hands import Hands

from lab import lab_settings, open_lab


@pytest.fixture
def hands(tmp_path):
    with open_lab(lab_settings(tmp_path / "state", demo=True, allow_faults=True)) as lab:
        yield Hands(lab)


@pytest.fixture(scope="module")
def hands_of_all(tmp_path_factory):
    """One server for tests that leave it without faults."""
    with open_lab(lab_settings(tmp_path_factory.mktemp("orders") / "state", demo=True, allow_faults=True)) as lab:
        yield Hands(lab)
