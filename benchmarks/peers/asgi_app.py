"""The metadata GET as a bare ASGI application on uvicorn: what its protocol costs before any framework.

One worker, uvloop, httptools, no access log. It knows no callers, no rate limit and no events.
"""

import json

from document import NO_HEADER, NO_VERSION, PATH, VERSIONS, asked_for

document = asked_for()
QUERIES = frozenset(f"api-version={version}".encode() for version in VERSIONS)
TAG = (b"etag", document.tag.encode())
HEAD = [
    TAG,
    (b"content-type", document.content_type.encode()),
    (b"content-length", str(len(document.body)).encode()),
]


async def app(scope, _receive, send):
    status, headers, body = answer(scope, dict(scope["headers"]))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def answer(scope, headers):
    if headers.get(b"metadata") != b"true":
        return refusal(400, NO_HEADER)
    if scope["path"] != PATH:
        return refusal(404, {"error": "Not found"})
    if scope["query_string"] not in QUERIES:
        return refusal(400, NO_VERSION)
    if headers.get(b"if-none-match") == TAG[1]:
        return 304, [TAG], b""
    return 200, HEAD, document.body


def refusal(status, error):
    body = json.dumps(error).encode()
    return status, [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())], body


if __name__ == "__main__":
    document.served_by_uvicorn(app)
