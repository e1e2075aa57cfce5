"""What must not leave the machine with a support bundle, cut out of it.

Rule 1: secrets go always: those that are known by their text wherever they stand, and whatever looks like one.
Rule 2: addresses become `address-1`, `address-2` …, the same one for the same address; tags lose name and value. Both
stay when the user says so. Loopback addresses that no VM has stay: they say nothing.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

from notbefore.core.tokens import SECRET_PREFIX

CUT = "(redacted)"
_LOOKS_SECRET = (
    re.compile(rf"\b{re.escape(SECRET_PREFIX)}[\w-]+"),
    re.compile(r"(?<=Bearer )\S+", re.IGNORECASE),
    re.compile(r"-----BEGIN [^-]+-----.*?(?:-----END [^-]+-----|\Z)", re.DOTALL),
    re.compile(r"(?<=://)[^/\s@\"]+(?=@)"),
)
# IPv6 first: it may end in an IPv4 address. What follows may be a port, a full stop, anything.
_LOOKS_LIKE_ADDRESS = (
    re.compile(r"(?<![\w:.])[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*"),
    re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)"),
)


class Redaction:
    def __init__(self, secrets: Iterable[str], *, with_addresses: bool) -> None:
        # The longest first: one secret may begin like another.
        self._secrets = sorted({one for one in secrets if one}, key=len, reverse=True)
        self._with_addresses = with_addresses
        self._of_vms: set[str] = set()
        self._names: dict[str, str] = {}

    def learn(self, tree: Any) -> None:
        """The addresses of VMs, so that they are cut wherever else they stand."""
        if isinstance(tree, dict):
            self._of_vms.update(map(str, tree["addresses"] if isinstance(tree.get("addresses"), list) else ()))
            for value in tree.values():
                self.learn(value)
        elif isinstance(tree, list):
            for value in tree:
                self.learn(value)

    def tree(self, value: Any) -> Any:
        """JSON with the tags cut; texts are cut when it is written."""
        if isinstance(value, dict):
            return {key: self._tags(one) if key == "tags" else self.tree(one) for key, one in value.items()}
        return [self.tree(one) for one in value] if isinstance(value, list) else value

    def text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, CUT)
        for pattern in _LOOKS_SECRET:
            text = pattern.sub(CUT, text)
        for pattern in () if self._with_addresses else _LOOKS_LIKE_ADDRESS:
            text = pattern.sub(self._address, text)
        return text

    def _tags(self, tags: Any) -> Any:
        if self._with_addresses or not isinstance(tags, dict):
            return tags
        return {f"tag-{number}": CUT for number, _ in enumerate(tags, 1)}

    def _address(self, found: re.Match[str]) -> str:
        """The words of a sentence may stick to an address: colons and full stops behind it."""
        said = found[0]
        for candidate in (said, said.rstrip("."), said.rstrip(":."), said.rstrip(".").removesuffix(":")):
            try:
                address = ip_address(candidate)
            except ValueError:
                continue
            if address.is_loopback and str(address) not in self._of_vms:
                return said
            name = self._names.setdefault(str(address), f"address-{len(self._names) + 1}")
            return name + said[len(candidate) :]
        return said
