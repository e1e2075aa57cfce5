"""IN: the control API of operators, `/v1` (DESIGN §5). Its own listener, its own token, never on the data plane's.

The way of a request: auth.py -> a route (scopes.py, events.py, history.py, clock.py) -> runtime's turn -> shapes.py.
"""
