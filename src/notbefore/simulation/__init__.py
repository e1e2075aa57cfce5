"""A fleet's days in seconds: the production code on a simulated clock, store, executor and network.

Rule 1: core, wire, runtime and the request rules of metadata/ run here as they are; only their ports are simulated.
Rule 2: one seed is one run, byte for byte: no thread, no real sleep, no real clock, no other randomness.
Rule 3: the laws (laws/) judge every step by SPEC's words, not by the functions that produced it.
Called by: `notbefore simulate`, tests/simulation/.
"""
