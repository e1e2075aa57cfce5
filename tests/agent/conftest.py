"""What the agent's tests share with the client's: an endpoint that misbehaves to order, a clock that is turned."""

import sys
from pathlib import Path

for beside in ("client", "e2e", "agent/steps"):
    sys.path.append(str(Path(__file__).parents[1] / beside))
