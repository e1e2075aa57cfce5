"""Proof that the laws can fail: each fault planted in a copy of the program is found within its number of seeds."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from planted import FAULTS, hunt

FAULTS_AT_LEAST = 15
# Those that take many seeds are hunted in `make proof`, with three hunts each.
SEEDS_MAX = 10_000 if os.environ.get("NOTBEFORE_PROOF") == "1" else 60
HUNTED = [fault for fault in FAULTS if fault.within <= SEEDS_MAX]


@pytest.fixture(scope="module")
def hunts(tmp_path_factory):
    """All hunts at once, two processes at a time."""
    with ThreadPoolExecutor(2) as pool:
        yield {
            fault.name: pool.submit(hunt, fault, tmp_path_factory.mktemp(f"fault{number}"))
            for number, fault in enumerate(HUNTED)
        }


@pytest.mark.parametrize("fault", HUNTED, ids=lambda fault: fault.name)
def test_a_planted_fault_breaks_a_law_within_its_number_of_seeds(fault, hunts):
    """At least 15 planted faults, each found within a stated number of seeds."""
    found = hunts[fault.name].result()

    assert found.law is not None, f"'{fault.name}' was not found in {found.seeds} seeds"
    assert found.law != "X", f"'{fault.name}' breaks down instead of breaking a promise: {found.sentence}"


def test_there_are_enough_faults_and_each_safety_law_has_one():
    """Every law of SPEC §6 has a fault made for it."""
    laws = {fault.law for fault in FAULTS}

    assert len(FAULTS) >= FAULTS_AT_LEAST
    assert {"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "L1", "L2", "L3"} <= laws
