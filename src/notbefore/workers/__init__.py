"""More processes for the data plane: `serve --workers N` (DESIGN §2, decision 20).

Rule 1: one writer per node. A worker answers GETs from a snapshot of its own; what changes anything it asks its parent.
Rule 2: they behave as one server: who has an answer finds what it tells in every worker (steps.py).
Rule 3: a worker is replaceable: it keeps nothing that its death would lose, and ends when its parent does.
The parent's side: crew.py, worker.py, process.py, errands.py, steps.py, tally.py, places.py. The worker's: child.py,
post.py, node.py, poked_feed.py, told_clock.py. Both: frames.py, line.py.
"""
