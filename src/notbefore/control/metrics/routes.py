"""`GET /metrics`, for a Prometheus with a token."""

from fastapi import Request, Response

from notbefore.control import examples
from notbefore.control.openapi import answered_as
from notbefore.control.plane import Plane
from notbefore.control.roles import Role, needs
from notbefore.control.router import open_router

router = open_router("metrics")


@router.get(
    "/metrics",
    summary="What the server measures, for Prometheus",
    dependencies=[needs(Role.VIEWER, fleet_wide=True)],
    response_class=Response,
    responses=answered_as("text/plain", "Metrics as text", examples.METRICS),
)
async def read_metrics(plane: Plane, request: Request) -> Response:
    """Text, or OpenMetrics when `Accept` asks for it."""
    page, content_type = await plane.metrics.page(request.headers.get("accept", ""))
    return Response(page, headers={"Content-Type": content_type})
