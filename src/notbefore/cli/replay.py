"""replay: a recording served as an endpoint, at its own pace. Imports the server only when called."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from notbefore.cli.exits import WrongUsage
from notbefore.cli.local_times import for_reader
from notbefore.cli.printable import printable
from notbefore.client.document import Document, EventView
from notbefore.core.errors import Invalid
from notbefore.core.times import SECOND_MS, iso
from notbefore.wire.api_versions import PATH

if TYPE_CHECKING:
    from notbefore.recording.flow import Change, Shown
    from notbefore.recording.past import Picture
    from notbefore.recording.reading import Look

Flow = Annotated[str, typer.Argument(metavar="FLOW.JSONL", help="What `notbefore record` wrote.")]
Metadata = Annotated[str, typer.Option("--metadata", metavar="HOST:PORT", help="Where VMs ask.")]
Rate = Annotated[float, typer.Option("--rate", metavar="N", help="N times as fast as it was; 0.5 is half as fast.")]
Step = Annotated[bool, typer.Option("--step", help="Not by time: each Enter shows the next line.")]
Verbatim = Annotated[bool, typer.Option("--verbatim", help="Leave NotBefore as it was recorded.")]
Stay = Annotated[bool, typer.Option("--stay", help="Go on showing the last line, until Ctrl-C.")]


def replay(
    flow: Flow,
    *,
    metadata: Metadata = "127.0.0.1:8254",
    rate: Rate = 1.0,
    step: Step = False,
    verbatim: Verbatim = False,
    stay: Stay = False,
) -> None:
    """Serve a recording as an endpoint: whoever asks is shown what was shown then, when it was shown.

    NotBefore is moved, so that the notice can be counted down as it was; the rest is served byte for byte, and so is
    trouble. Approvals are checked and printed, and change nothing. It ends with the recording.

    Example: `notbefore replay flow.jsonl --rate 60`
    """
    from notbefore import event_loop, logs  # noqa: PLC0415  the server comes with it
    from notbefore.clock import RATE_MAX  # noqa: PLC0415
    from notbefore.recording.player import Replay  # noqa: PLC0415
    from notbefore.recording.player import replay as replayed  # noqa: PLC0415

    if not 0 < rate <= RATE_MAX:
        raise WrongUsage(f"--rate has to be above 0, and at most {RATE_MAX:g}.")
    if step and rate != 1:
        raise WrongUsage("--step goes on when you press Enter, and --rate by time.", "Leave one of them out.")
    logs.configure("text", "info")
    wanted = Replay(Path(flow), metadata, rate, step=step, verbatim=verbatim, stay=stay)
    try:
        event_loop.run(replayed(wanted, Printed(wanted.file)))
    except Invalid as wrong:
        raise WrongUsage(wrong.message, wrong.hint, wrong.facts) from None


class Printed:
    """How it goes, on stdout: when, where in the flow, and what."""

    def __init__(self, file: Path) -> None:
        from notbefore.clock import RealTime  # noqa: PLC0415

        self._file = file
        self._time = RealTime()

    def serving(self, url: str, look: "Look") -> None:
        header = look.header
        of = f" of {header.vm}" if header.vm else ""
        lines = [
            f"notbefore is replaying {self._file}",
            f"  recorded  {iso(header.began_ms)}{of}, version {header.api_version}",
            f"  flow      {look.changes} lines in {look.lasts_s:.0f} s",
            f"  metadata  {url}",
            "Try it, as a VM:",
            f'  curl -H Metadata:true "{url}{PATH}?api-version={header.api_version}"',
        ]
        print("\n".join(for_reader(printable(line)) for line in lines), flush=True)

    def shows(self, change: "Change", picture: "Picture") -> None:
        self._line(f"+{change.t_s:.0f} s  {told(picture.shown, picture.document)}")

    def said(self, sentence: str) -> None:
        # Whoever asks is answered, whether or not somebody reads this.
        with suppress(BrokenPipeError):
            self._line(sentence)

    def ends(self) -> None:
        self._line("the recording is over")

    def _line(self, text: str) -> None:
        now = iso(round(self._time.real_s() * SECOND_MS))
        print(for_reader(printable(f"{now}  {text}")), flush=True)


def told(shown: "Shown", document: Document | None) -> str:
    if shown.error:
        return f"no answer: {shown.error}"
    if document is None:
        return f"{shown.status}, {len(shown.body)} bytes that are no document"
    return f"{shown.status}  {'; '.join(map(of_event, document.events)) or 'nothing scheduled'}"


def of_event(event: EventView) -> str:
    return f"{event.type} {event.status} {', '.join(event.resources)} {event.id}"
