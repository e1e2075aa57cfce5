"""A claim that the control API would refuse, as another server may have let it in."""

from notbefore.core.kinds import Kind
from notbefore.core.model import THE_SERVICE, Vm
from notbefore.core.requests import DeclareScope
from notbefore.core.scope_settings import ScopeSettings


def declare_behind_the_api(lab, scope, address):
    """As another server, which had not yet seen the first claim, would have committed it."""
    node, vms = lab.server.node, (Vm("x", addresses=(address,)),)
    lab.run(
        node.turns.take(
            DeclareScope(
                scope=scope,
                request_id=node.ids(),
                by=THE_SERVICE,
                kind=Kind.STANDALONE,
                settings=ScopeSettings(),
                vms=vms,
            )
        )
    )
