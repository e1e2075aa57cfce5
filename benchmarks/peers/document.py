"""What the Python peers have in common: the one document they all give, and what must be asked of it.

Each is a program of its own: `python peers/NAME.py --listen 127.0.0.1:PORT --body … --etag … --content-type …`.
"""

import argparse
from dataclasses import dataclass
from typing import Any

PATH = "/metadata/scheduledevents"
VERSIONS = frozenset(("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"))
NO_HEADER = {"error": "Bad request. Required metadata header not specified"}
NO_VERSION = {"error": "Bad request. api-version is invalid"}


@dataclass(frozen=True, slots=True)
class Document:
    host: str
    port: int
    body: bytes
    tag: str
    content_type: str

    def served_by_uvicorn(self, app: Any) -> None:
        """One worker, no access log, on what notbefore itself runs on."""
        import uvicorn  # noqa: PLC0415  the mock runs on its own server, and is not to load another

        uvicorn.run(
            app,
            host=self.host,
            port=self.port,
            loop="uvloop",
            http="httptools",
            access_log=False,
            log_level="warning",
            lifespan="off",
        )


def asked_for() -> Document:
    """The words of the command line."""
    parser = argparse.ArgumentParser()
    for name in ("listen", "body", "etag", "content-type"):
        parser.add_argument(f"--{name}", required=True)
    words = parser.parse_args()
    host, _, port = words.listen.rpartition(":")
    return Document(host, int(port), words.body.encode(), words.etag, words.content_type)
