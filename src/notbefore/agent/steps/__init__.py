"""What the agent can do for an event, and take back: one file per kind of step, imported when a rule uses it."""
