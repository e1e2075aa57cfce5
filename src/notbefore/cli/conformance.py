"""conformance: does an endpoint keep to the metadata API? A table of pass, fail and not applicable."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from notbefore.cli.exits import DONE, REFUSED
from notbefore.cli.options import AsJson, word_of
from notbefore.cli.tables import show_json, show_table
from notbefore.conformance.check import Finding, Verdict
from notbefore.conformance.checks.versions import FIELDS
from notbefore.conformance.exchange import Endpoint
from notbefore.conformance.subject import NEWEST, Subject
from notbefore.conformance.suite import failed, run

COLUMNS = ("verdict", "spec", "check", "sentence", "why")

Url = Annotated[str, typer.Argument(metavar="URL", help="Where VMs ask, such as http://169.254.169.254.")]
Approve = Annotated[bool, typer.Option("--approve", help="Also approve: events that are Scheduled there will start.")]
Version = Annotated[
    str, typer.Option("--api-version", metavar="VERSION", help="The version of those checks that need only one.")
]


def conformance(url: Url, *, approve: Approve = False, version: Version = NEWEST, as_json: AsJson = False) -> int:
    """Check any endpoint that claims to be the metadata service, sentence by sentence.

    Nothing is changed, unless --approve allows it: then events that are Scheduled there are approved, and start. Checks
    that look at events do not apply where there are none. Exit code 1 when a check fails.

    Example: `notbefore conformance http://127.0.0.1:8254`
    """
    subject = Subject(Endpoint(url), word_of(version, tuple(FIELDS), "--api-version"))
    findings = run(subject, approve=approve)
    if as_json:
        show_json([as_told(one) for one in findings])
    else:
        show_table(COLUMNS, [row(one) for one in findings], "There are no checks.")
        print(summed_up(findings))
    return REFUSED if failed(findings) else DONE


def row(finding: Finding) -> list[str]:
    check = finding.check
    return [finding.verdict, f"§{check.section}", check.name, check.law, finding.says]


def as_told(finding: Finding) -> dict[str, str]:
    check = finding.check
    told = {"check": check.name, "section": check.section, "law": check.law, "verdict": str(finding.verdict)}
    return {**told, "says": finding.says}


def summed_up(findings: Sequence[Finding]) -> str:
    count = Counter(one.verdict for one in findings)
    return (
        f"{len(findings)} checks: {count[Verdict.PASS]} pass, {count[Verdict.FAIL]} fail, "
        f"{count[Verdict.NOT_APPLICABLE]} not applicable."
    )
