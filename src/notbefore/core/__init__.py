"""The pure core: what a scope is, what may happen to it, and what follows.

Rule 1: standard library only. No I/O, no clock, no randomness, no logging.
Rule 2: `decide(scope, request, now)` is the one door; everything else serves it.
Rule 3: values are frozen; a change is a new value.
"""
