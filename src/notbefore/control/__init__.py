"""IN: the control API of operators, `/v1` (DESIGN §5). Its own listener, its own tokens, never on the data plane's.

The way of a request: auth.py (who asks) -> roles.py (whether they may) -> a route (scopes.py, events.py, history.py,
clock.py, …) -> runtime's turn -> shapes.py.
"""
