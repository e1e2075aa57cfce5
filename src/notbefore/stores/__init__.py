"""Where scopes and their history are kept: adapters of the `Store` port.

Rule 1: a store is right when it passes tests/contracts/test_store_contract.py.
Rule 2: every store writes the same bytes for the same value (codec.py), so that one can be copied into another.
Rule 3: nothing of a store's own library leaves it: what goes wrong is told as a refusal, in a sentence.
"""
