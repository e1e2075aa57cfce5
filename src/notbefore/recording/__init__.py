"""What an endpoint showed, kept as lines of JSON (flow.py), and shown again.

listening.py and recorder.py record: they import only client, wire and core, so that they can run in a VM. The rest
serves a recording as an endpoint: reading.py (lines) -> shifting.py (their times) -> past.py (the answers)
-> player.py (when).
"""
