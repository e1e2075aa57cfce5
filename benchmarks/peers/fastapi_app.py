"""The metadata GET as a FastAPI application on uvicorn: one worker, uvloop, httptools, no access log.

It knows no callers, no rate limit and no events.
"""

from typing import Annotated

from document import NO_HEADER, NO_VERSION, PATH, VERSIONS, asked_for
from fastapi import FastAPI, Header, Query, Response
from fastapi.responses import JSONResponse

document = asked_for()
app = FastAPI(openapi_url=None)


@app.get(PATH)
async def scheduled_events(
    metadata: Annotated[str, Header()] = "",
    version: Annotated[str, Query(alias="api-version")] = "",
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    if metadata != "true":
        return JSONResponse(NO_HEADER, 400)
    if version not in VERSIONS:
        return JSONResponse(NO_VERSION, 400)
    if if_none_match == document.tag:
        return Response(status_code=304, headers={"ETag": document.tag})
    return Response(document.body, headers={"ETag": document.tag, "Content-Type": document.content_type})


if __name__ == "__main__":
    document.served_by_uvicorn(app)
