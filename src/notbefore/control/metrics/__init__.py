"""What one server measures of itself, for Prometheus (`GET /metrics`).

Rule 1: no id, no name of a VM, scope, host or token is ever a label: labels are closed sets, the targets
of the settings among them.
Rule 2: measuring stands outside: around the store and the executor, behind the snapshot as a subscriber, before the
control API; the runtime knows nothing of it. The data plane counts by itself, in plain numbers.
Rule 3: a scrape adds up nothing that grows with the fleet: what is counted of scopes is kept up to date at each change;
and it lets the event loop go on between two families.
Rule 4: each server has a registry of its own, so that several may live in one process.
"""
