"""Does an endpoint keep to the metadata API (SPEC §2)? Asked from outside, of any endpoint that claims to.

Rule 1: standard library only, and nothing of the server: what is right is written down here a second time.
Rule 2: a check asks one thing, and names the sentence it stands on. It passes, fails with what came instead, or does
not apply, because there is nothing to look at.
Rule 3: unless approving is allowed nothing is changed: every POST is one that has to be refused.
Called by: cli/conformance.py.
"""
