"""What every route of the control API declares that it needs, read from the app itself."""

from notbefore.control.app import control_app
from notbefore.control.roles import Needs


def routes_below(routes):
    for route in routes:
        if inner := getattr(route, "original_router", None):
            yield from routes_below(inner.routes)
        else:
            yield route


def routes_of_the_app():
    """`METHOD path`, the needs it declares, and the route, for everything that the app answers."""
    for route in routes_below(control_app(None).routes):
        declared = [one.dependency for one in getattr(route, "dependencies", ())]
        for method in sorted(route.methods - {"HEAD"}):
            yield f"{method} {route.path}", [one for one in declared if isinstance(one, Needs)], route
