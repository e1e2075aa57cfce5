"""The control listener's certificate: tried out before it is used, renewed without a restart.

Rule 1: a certificate that does not load, or does not fit its key, never replaces one that works.
Used by: settings/ (to refuse a bad one by its key), control/, wiring.py.
"""

import ssl
from dataclasses import dataclass

from notbefore.core.errors import Invalid


@dataclass(frozen=True, slots=True)
class Certificate:
    """Two files in PEM: the chain, and the key."""

    chain: str
    key: str

    def refuse_if_bad(self) -> None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.chain, self.key, password="")
        except (OSError, ValueError) as wrong:
            reason = wrong.strerror or type(wrong).__name__ if isinstance(wrong, OSError) else str(wrong)
            raise Invalid(
                f"Certificate {self.chain} with key {self.key} cannot be used: {reason}.",
                "Both are PEM files, the key without a passphrase and belonging to the certificate.",
                {"tls_cert": self.chain, "tls_key": self.key},
            ) from None

    def renew(self, context: ssl.SSLContext) -> None:
        """New connections get what the files hold now; those that are open keep what they have."""
        self.refuse_if_bad()
        context.load_cert_chain(self.chain, self.key)
