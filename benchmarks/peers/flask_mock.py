"""A mock of the metadata service as people write them: Flask, run by its own server with what it does by default.

That is a thread for each connection, which it closes after each answer, and a line of log for each request. It knows no
callers, no rate limit and no events.
"""

from document import NO_HEADER, NO_VERSION, PATH, VERSIONS, asked_for
from flask import Flask, Response, jsonify, request

document = asked_for()
app = Flask("mock")


@app.get(PATH)
def scheduled_events():
    if request.headers.get("Metadata") != "true":
        return jsonify(NO_HEADER), 400
    if request.args.get("api-version") not in VERSIONS:
        return jsonify(NO_VERSION), 400
    tag = {"ETag": document.tag}
    if request.headers.get("If-None-Match") == document.tag:
        return Response(status=304, headers=tag)
    return Response(document.body, headers=tag, content_type=document.content_type)


if __name__ == "__main__":
    app.run(document.host, document.port)
