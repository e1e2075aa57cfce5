"""All checks, in the order of the SPEC; and running them."""

from collections.abc import Callable, Sequence

from notbefore.conformance.check import Check, Finding, Verdict, judged
from notbefore.conformance.checks import (
    approving,
    connections,
    document,
    events,
    headers,
    incarnation,
    methods,
    neighbours,
    paths,
    posting,
    queries,
    syntax,
    versions,
    waiting,
)
from notbefore.conformance.exchange import Unreachable
from notbefore.conformance.subject import Subject

# Neighbours and held questions before the approvals: those are the only ones that change anything.
CHAPTERS = (
    syntax, headers, paths, methods, queries, connections, versions, document, incarnation, events, posting, waiting,
    neighbours, approving,
)  # fmt: skip
CHECKS: tuple[Check, ...] = tuple(check for module in CHAPTERS for check in module.chapter)
DONE = 200


def refuse_stranger(subject: Subject) -> None:
    """An endpoint that does not answer us at all has nothing to be judged by."""
    answer = subject.get()
    if answer.status != DONE:
        raise Unreachable(
            f"The endpoint does not answer a plain question: {answer}.",
            "It must know who asks: run this where a VM would ask, or give the endpoint a VM for this address.",
        )


def run(subject: Subject, *, approve: bool, tell: Callable[[Finding], None] = lambda _: None) -> list[Finding]:
    refuse_stranger(subject)
    findings: list[Finding] = []
    for check in CHECKS:
        if check.approves and not approve:
            finding = Finding(check, Verdict.NOT_APPLICABLE, "it approves an event: --approve")
        else:
            finding = judged(check, subject)
        tell(finding)
        findings.append(finding)
    return findings


def failed(findings: Sequence[Finding]) -> list[Finding]:
    return [one for one in findings if one.verdict is Verdict.FAIL]
