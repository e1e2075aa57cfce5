"""IN: the data plane, what a VM asks on 169.254.169.254 (SPEC §2, §5).

The way of a request: protocol.py (bytes) -> verdict.py (pure: what is asked) -> identity.py (by whom)
-> service.py (the answer). GET never decides: it is answered from the runtime's snapshot.
"""
