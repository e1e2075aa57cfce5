"""The demo scope of `serve --demo`: the seeds' own cloud service on four loopback addresses (DESIGN §4)."""

from notbefore.core.kinds import Kind, Listening
from notbefore.core.model import THE_SERVICE, Vm
from notbefore.core.requests import DeclareScope
from notbefore.core.scope_settings import ScopeSettings
from notbefore.runtime.node import Node

DEMO = "demo"
DEMO_VMS = (
    Vm("FrontEnd_IN_0", update_domain=0, addresses=("127.0.0.1",)),
    Vm("FrontEnd_IN_1", update_domain=1, addresses=("127.0.0.2",)),
    Vm("BackEnd_IN_0", update_domain=0, addresses=("127.0.0.3",)),
    Vm("BackEnd_IN_1", update_domain=1, addresses=("127.0.0.4",)),
)


async def declare_demo(node: Node) -> None:
    """Declared once; what was made of it since is kept."""
    if node.snapshot.view(DEMO) is None:
        await node.turns.take(
            DeclareScope(
                scope=DEMO,
                request_id=node.ids(),
                by=THE_SERVICE,
                kind=Kind.CLOUD_SERVICE,
                settings=ScopeSettings(listening=Listening.ALWAYS),
                vms=DEMO_VMS,
            )
        )
