"""How every part of the API makes its routes.

Rule 1: a parameter that a route does not take is refused by name; what is open to anybody (health, metrics) takes none.
Rule 2: VMs who ask are answered between the parts of a request: when its route is found, and when its answer is made.
Rule 3: the app takes the routes and not the routers (`app.py`): a router that is included is searched twice for each
request, and so is every other one before it.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.params import Depends as Dependency
from fastapi.routing import APIRoute

from notbefore.control.parameters import known_only
from notbefore.event_loop import give_way


class InParts(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answered = super().get_route_handler()

        async def in_parts(request: Request) -> Response:
            give_way()
            response = await answered(request)
            give_way()
            return response

        return in_parts


def router_under(prefix: str, tag: str, *dependencies: Dependency) -> APIRouter:
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        dependencies=[Depends(known_only), *dependencies],
        route_class=InParts,
        generate_unique_id_function=name_of,
    )


def open_router(tag: str) -> APIRouter:
    return APIRouter(tags=[tag], route_class=InParts, generate_unique_id_function=name_of)


def name_of(route: APIRoute) -> str:
    return route.name
