"""record: what an endpoint shows, kept as lines of JSON until Ctrl-C. It only asks, and never approves."""

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Annotated
from urllib.parse import urlsplit

import typer

from notbefore.cli.durations import duration_s
from notbefore.cli.exits import WrongUsage, complain
from notbefore.cli.options import word_of
from notbefore.cli.store import counted
from notbefore.client.endpoint import Endpoint, checked_endpoint
from notbefore.core.errors import NotAllowed, Refusal
from notbefore.recording.recorder import Recorder, Stop, Summary
from notbefore.wire.api_versions import API_VERSIONS, NEWEST, PATH

Url = Annotated[str, typer.Argument(metavar="URL", help="Where VMs ask, such as http://169.254.169.254.")]
Out = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there instead of to stdout; a new file.")
]
Every = Annotated[
    str, typer.Option("--every", metavar="TIME", help="How often to ask, where the endpoint does not hold questions.")
]
For = Annotated[str | None, typer.Option("--for", metavar="TIME", help="End after so long, such as 1h.")]
Version = Annotated[str, typer.Option("--api-version", metavar="VERSION", help="The version to ask in.")]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="ADDRESS", help="Ask from this address of the machine: it says which VM asks."),
]


def record(
    url: Url,
    *,
    output: Out = None,
    every: Every = "1s",
    lasting: For = None,
    version: Version = NEWEST,
    source: From = None,
) -> None:
    """Record what an endpoint shows: a line of JSON for each change, and for each trouble, until Ctrl-C.

    It asks as a VM, once a second, or holds a question where the endpoint does that; it never approves anything. Kept
    are the answers, byte for byte, and the VM's name; no headers of yours and nothing else about the VM. `notbefore
    replay` shows it again.

    Example: `notbefore record http://169.254.169.254 > flow.jsonl`
    """
    every_s = at_least_a_second(every, "--every")
    for_s = at_least_a_second(lasting, "--for") if lasting else None
    endpoint = endpoint_of(url, source)
    version = word_of(version, tuple(API_VERSIONS), "--api-version")
    stop = Stop()
    with ExitStack() as stack:
        out = stack.enter_context(opened(Path(output))) if output else sys.stdout.buffer
        stack.enter_context(stopped_by_signals(stop))
        complain(f"Recording what {endpoint.url} shows; Ctrl-C ends it.")
        summary = Recorder(endpoint, version, out, stop, every_s=every_s, for_s=for_s).run()
    if not summary.changes and not stop.is_wanted:
        raise Refusal(f"{endpoint.url} did not answer in that time: nothing was recorded.")
    complain(summed_up(summary))


def at_least_a_second(text: str, what: str) -> int:
    seconds = duration_s(text, what)
    if seconds < 1:
        raise WrongUsage(f"{what} has to be a second at least.", "Endpoints refuse those who ask more often.")
    return seconds


def endpoint_of(url: str, source: str | None) -> Endpoint:
    """With or without the path of the events behind it, as people have it at hand."""
    if urlsplit(url).query:
        raise WrongUsage("URL ends before its question mark.", "--api-version says in which version to ask.")
    bare = url.rstrip("/")
    if bare.lower().endswith(PATH):
        bare = bare[: -len(PATH)]
    return checked_endpoint(bare, source)


@contextmanager
def opened(file: Path) -> Iterator[IO[bytes]]:
    """A new file; one that nothing was written to is not left behind."""
    try:
        out = file.open("xb")
    except FileExistsError:
        raise NotAllowed(f"{file} is there already.", "Choose another name: a recording is not written over.") from None
    except OSError as error:
        raise NotAllowed(f"Cannot write {file}: {error.strerror}.") from None
    try:
        with out:
            yield out
    finally:
        if file.stat().st_size == 0:
            file.unlink()


@contextmanager
def stopped_by_signals(stop: Stop) -> Iterator[None]:
    before = {one: signal.signal(one, lambda *_: stop.want()) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def summed_up(summary: Summary) -> str:
    troubles = f", {summary.troubles} of them trouble" if summary.troubles else ""
    return f"Recorded {counted(summary.changes, 'change')} in {summary.lasted_s:.0f} s{troubles}."
