"""Turn, timer, outbox, snapshot, witness, hearing: the only code that orders effects.

Rule 1: one way through: load, decide, commit, then show and carry out.
Rule 2: no asyncio, no clock, no randomness here; only the ports, so that a simulator runs it unchanged.
"""
