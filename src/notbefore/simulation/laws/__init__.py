"""SPEC §6 as judges: S1 to S11, L1 to L3, and what a VM may expect of the answers it gets (§2, §3, §5).

Rule 1: a law reads steps and keeps its own books; it never asks the code under test what should have happened.
Rule 2: a broken law raises a Violation, which names the law, the fact, and whom it concerns.
"""
