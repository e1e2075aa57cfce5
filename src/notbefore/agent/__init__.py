"""The agent inside a VM: the whole life of an event, and back again.

Rule 1: what happens is written into the journal before it is done and after; the state is the journal replayed.
Rule 2: rules.py, life.py, wishes.py and approval.py decide, and do no I/O; running.py carries out.
Rule 3: standard library only, and of the program only client, wire, core and toml_lines: it ships into VMs.
"""
