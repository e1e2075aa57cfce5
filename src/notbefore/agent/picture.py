"""How the agent is, at one moment: for Prometheus, for a load balancer, for the service manager.

Rule 1: a Picture is made by the loop and never changes; whoever shows it needs no lock.
Rule 2: /healthz says 503 while an event of this VM is in its life and its rule drains: from the moment a rule took
it until everything is undone. Trouble with endpoint or journal is said in words and metrics, and drains nothing.
"""

from collections import Counter
from dataclasses import dataclass, field

from notbefore import __version__
from notbefore.agent.life import Life, Word

OK, UNAVAILABLE = 200, 503
SUMMARY_MAX = 400
# Every combination is shown from the start, at 0, so that the first of its kind counts as an increase.
STEP_PHASES = ("do", "undo")
ENDS = ("ok", "failed")
APPROVAL_ENDS = ("given", "gone", "failed")


@dataclass(slots=True)
class Counts:
    """What has been done since the start, by kind."""

    steps: Counter[tuple[str, str]] = field(default_factory=Counter)
    approvals: Counter[str] = field(default_factory=Counter)
    alerts: Counter[str] = field(default_factory=Counter)

    def step(self, phase: str, *, ok: bool) -> None:
        self.steps[phase, "ok" if ok else "failed"] += 1

    def approval(self, *, given: bool, gone: bool) -> None:
        self.approvals["given" if given else "gone" if gone else "failed"] += 1

    def alert(self, *, ok: bool) -> None:
        self.alerts["ok" if ok else "failed"] += 1

    def copy(self) -> "Counts":
        return Counts(self.steps.copy(), self.approvals.copy(), self.alerts.copy())


@dataclass(frozen=True, slots=True)
class Picture:
    vm: str
    endpoint_trouble: str
    journal_trouble: str
    lives: tuple[Life, ...]
    answered_s: float
    counts: Counts

    @property
    def draining(self) -> list[Life]:
        """An event in doubt that is over is for a person to see to, not for a load balancer."""
        mine = [life for life in self.lives if life.mine and life.rule.drain]
        return [life for life in mine if not life.is_undone and not (life.in_doubt and life.ended)]


def health(picture: Picture) -> tuple[int, str]:
    """The status and the page of /healthz."""
    notes = [note for note in (picture.journal_trouble, picture.endpoint_trouble) if note]
    if draining := picture.draining:
        shown = [f"draining: {life.event.type} {life.event.id} is {_word(life)}" for life in draining]
        return UNAVAILABLE, "\n".join([*shown, *notes, ""])
    return OK, "\n".join(["ok", *notes, ""])


def summary(picture: Picture) -> str:
    """One line for whoever looks at the service. What an event says comes from outside: it makes no further line."""
    shown = [f"{life.event.type} {life.event.id} is {_word(life)}" for life in picture.lives]
    notes = [note for note in (picture.journal_trouble, picture.endpoint_trouble) if note]
    line = "; ".join([*notes, *(shown or ["no event"])])
    return "".join(one if one.isprintable() else " " for one in f"{picture.vm or 'watching'}: {line}")[:SUMMARY_MAX]


def _word(life: Life) -> str:
    if life.ended:
        return "over, being undone"
    return f"{life.event.status or 'in no status'}{', approved' if life.word is Word.GIVEN else ''}"


def metrics(picture: Picture) -> str:
    """Prometheus text, format 0.0.4."""
    lines: list[str] = []
    for name, (told, kind) in METRICS.items():
        lines += [f"# HELP {name} {told}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{labels} {value:.15g}" for labels, value in _samples(name, picture)]
    return "\n".join((*lines, ""))


METRICS = {
    "notbefore_agent_info": ("The agent's version and the VM it speaks for.", "gauge"),
    "notbefore_agent_endpoint_up": ("1 while the endpoint answers.", "gauge"),
    "notbefore_agent_last_answer_timestamp_seconds": ("When the endpoint last answered.", "gauge"),
    "notbefore_agent_journal_ok": ("1 while the journal is whole and can be written.", "gauge"),
    "notbefore_agent_draining": ("1 while /healthz asks a load balancer to drain.", "gauge"),
    "notbefore_agent_events": ("Events in their life, by type.", "gauge"),
    "notbefore_agent_not_before_timestamp_seconds": (
        "The earliest NotBefore of a Scheduled event of this VM.",
        "gauge",
    ),
    "notbefore_agent_steps_total": ("Steps that ended, by phase and outcome.", "counter"),
    "notbefore_agent_approvals_total": ("Approvals that ended, by outcome.", "counter"),
    "notbefore_agent_alerts_total": ("Alerts that ended, by outcome.", "counter"),
}

Sample = tuple[str, float]


def _samples(name: str, picture: Picture) -> list[Sample]:
    counts = picture.counts
    match name.removeprefix("notbefore_agent_"):
        case "info":
            return [(f'{{version="{__version__}",vm="{_escaped(picture.vm)}"}}', 1)]
        case "endpoint_up":
            return [("", float(not picture.endpoint_trouble and picture.answered_s > 0))]
        case "last_answer_timestamp_seconds":
            return [("", round(picture.answered_s))] if picture.answered_s else []
        case "journal_ok":
            return [("", float(not picture.journal_trouble))]
        case "draining":
            return [("", float(bool(picture.draining)))]
        case "events":
            types = Counter(_escaped(life.event.type) for life in picture.lives)
            return [(f'{{type="{kind}"}}', number) for kind, number in sorted(types.items())]
        case "not_before_timestamp_seconds":
            return _earliest(picture)
        case "steps_total":
            steps = [(phase, end) for phase in STEP_PHASES for end in ENDS]
            return [(f'{{phase="{phase}",outcome="{end}"}}', counts.steps[phase, end]) for phase, end in steps]
        case "approvals_total":
            return [(f'{{outcome="{outcome}"}}', counts.approvals[outcome]) for outcome in APPROVAL_ENDS]
    return [(f'{{outcome="{outcome}"}}', counts.alerts[outcome]) for outcome in ENDS]


def _earliest(picture: Picture) -> list[Sample]:
    mine = [life.event.not_before for life in picture.lives if life.mine and life.is_scheduled]
    dates = [date.timestamp() for date in mine if date is not None]
    return [("", min(dates))] if dates else []


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
