"""The agent with a journal that kills its process, as SIGKILL does it: before or after its line number DIES_AT.

DIES_AT=7 dies before the eighth line is written, DIES_AT=7+ right after it is on disk.
"""

import os
import signal
import sys

from notbefore.agent import starting
from notbefore.agent.journal import Journal
from notbefore.agent.main import run


class DyingJournal(Journal):
    def append(self, line):
        at = os.environ["DIES_AT"]
        number = self._next_n
        if at == str(number):
            os.kill(os.getpid(), signal.SIGKILL)
        super().append(line)
        if at == f"{number}+":
            os.kill(os.getpid(), signal.SIGKILL)


starting.Journal = DyingJournal
sys.exit(run(sys.argv[1:]))
