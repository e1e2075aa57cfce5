"""S8: a VM sees exactly its scope: the bytes of one committed state of it, under its number (SPEC §2.3, §5).

Rule 1: a 200 carries the document that some commit of the VM's own scope had, byte for byte, with its number as ETag.
Rule 2: a 304 names a number that the VM said it knows.
Rule 3: a VM that was never of the scope gets neither; nor one that left it a minute ago, from a process that is well;
nor one whose address is another's too.
Rule 4: a VM that is of the scope, and alone has its address, is not refused as unknown.
"""

from typing import ClassVar
from urllib.parse import parse_qs

from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.document import written
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger, vm_keys
from notbefore.simulation.steps import Committed, Step, VmAnswered

OK = 200
NOT_MODIFIED = 304
FORBIDDEN = 403
FORGOTTEN_US = 60_000_000
NEVER_US = -1


class Isolation:
    code: ClassVar[str] = "S8"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._written: dict[tuple[str, int, str], bytes] = {}
        self._versions: dict[bytes, str] = {}
        # Per scope the VMs it has, and when those left that it had.
        self._vms: dict[str, set[str]] = {}
        self._left_us: dict[tuple[str, str], int] = {}

    def see(self, step: Step, facts: Facts) -> None:
        if isinstance(step, Committed):
            self._note(step)
        elif isinstance(step, VmAnswered) and step.answer.status in {OK, NOT_MODIFIED}:
            self._judge_answer(step, facts)
        elif isinstance(step, VmAnswered) and step.answer.status == FORBIDDEN:
            self._judge_refusal(step, facts)

    def _note(self, step: Committed) -> None:
        commit = self._ledger.read(step)
        if commit.vms_changed:
            here = vm_keys(step.after)
            for vm in self._vms.get(commit.key, set()) - here:
                self._left_us[commit.key, vm] = step.at_us
            self._vms[commit.key] = here

    def _judge_answer(self, step: VmAnswered, facts: Facts) -> None:
        if self._ledger.askers.is_nobody(step, facts):
            raise self._broken("its address is claimed twice and it was answered", step)
        if not self._ledger.askers.is_certain(step, facts):
            return
        self._judge_asker(step, facts)
        if step.head.method == "GET":
            self._judge_document(step)
        elif step.answer.status != OK or step.answer.body:
            raise self._broken("the answer to an approval is not an empty 200", step)

    def _judge_refusal(self, step: VmAnswered, facts: Facts) -> None:
        if self._ledger.askers.is_known(step, facts):
            raise self._broken("it alone claims its address and was refused as unknown", step)

    def _judge_asker(self, step: VmAnswered, facts: Facts) -> None:
        scope, vm = step.vm
        if vm in self._vms.get(scope, ()):
            return
        left_us = self._left_us.get((scope, vm), NEVER_US)
        if left_us == NEVER_US:
            raise self._broken("it was never in that scope and was answered", step)
        calm_us = facts.processes[step.process].calm_since_us
        if step.asked_us - left_us > FORGOTTEN_US and calm_us is not None and calm_us <= left_us:
            raise self._broken(f"it left {(step.asked_us - left_us) // 1_000_000} s ago and was answered", step)

    def _judge_document(self, step: VmAnswered) -> None:
        tag = tag_of(step)
        if not tag.isascii() or not tag.isdigit() or str(int(tag)) != tag:
            raise self._broken(f"its ETag is {tag!r}, not a bare number", step)
        shown = self._ledger.shown.get((step.vm.scope, int(tag)))
        if shown is None:
            raise self._broken(f"it was told incarnation {tag}, which its scope never had", step)
        if step.answer.status == NOT_MODIFIED:
            known = known_tags(step)
            if tag not in known and "*" not in known:
                raise self._broken(f"it was told that {tag} is unchanged, and it knows {sorted(known)}", step)
            return
        version = self._version(step.head.query)
        key = (step.vm.scope, int(tag), version)
        expected = self._written.get(key)
        if expected is None:
            expected = self._written[key] = written(int(tag), shown, version)
        if step.answer.body != expected:
            raise self._broken(f"it got {step.answer.body!r} instead of {expected!r}", step)

    def _version(self, query: bytes) -> str:
        version = self._versions.get(query)
        if version is None:
            version = self._versions[query] = parse_qs(query.decode())["api-version"][0]
        return version

    def _broken(self, sentence: str, step: VmAnswered) -> Violation:
        return Violation(self.code, f"{step.vm.scope}/{step.vm.vm} asked {step.process}: {sentence}", step.vm.scope)


def tag_of(step: VmAnswered) -> str:
    return next((value.decode() for name, value in step.answer.headers if name == b"etag"), "")


def known_tags(step: VmAnswered) -> set[str]:
    """What If-None-Match says: a number, bare or quoted, or a list of them."""
    given = b",".join(value for name, value in step.head.headers if name == b"if-none-match").decode()
    return {tag.strip().removeprefix("W/").strip('"') for tag in given.split(",")}
