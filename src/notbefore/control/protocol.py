"""The control API's connections: uvicorn's httptools protocol, with the one shape of error also for what is no HTTP."""

from notbefore.control.errors import error_response
from notbefore.control.streams import AbortableProtocol

SENTENCE = "This is not valid HTTP/1.1, or its address is too long."
NOT_HTTP = error_response(400, "invalid", SENTENCE, "GET /docs shows what each request takes.")


class ControlProtocol(AbortableProtocol):
    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  uvicorn's sentence; ours says it in JSON
        head = b"".join(b"%s: %s\r\n" % header for header in NOT_HTTP.raw_headers)
        answer = (b"HTTP/1.1 400 Bad Request\r\n", head, b"connection: close\r\n\r\n", bytes(NOT_HTTP.body))
        self.transport.write(b"".join(answer))
        self.transport.close()
