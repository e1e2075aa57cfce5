"""All laws, fresh for one run, on one ledger."""

from notbefore.simulation.laws.approvals import Approvals
from notbefore.simulation.laws.domains import Domains
from notbefore.simulation.laws.endings import Endings
from notbefore.simulation.laws.event_ids import EventIds
from notbefore.simulation.laws.history import History
from notbefore.simulation.laws.impacts import Impacts
from notbefore.simulation.laws.incarnation import Incarnation
from notbefore.simulation.laws.isolation import Isolation
from notbefore.simulation.laws.keeping import Keeping
from notbefore.simulation.laws.law import Law
from notbefore.simulation.laws.ledger import Ledger
from notbefore.simulation.laws.listening import ListeningScopes
from notbefore.simulation.laws.liveness import Liveness
from notbefore.simulation.laws.news import NewsOfHistory
from notbefore.simulation.laws.notice import Notice
from notbefore.simulation.laws.operations import OperationsKept
from notbefore.simulation.laws.progress import Progress
from notbefore.simulation.laws.rate import Rate
from notbefore.simulation.laws.retention import Retention
from notbefore.simulation.laws.rollout_limits import RolloutLimits
from notbefore.simulation.laws.rollouts import RolloutCourse
from notbefore.simulation.laws.starts import Starts
from notbefore.simulation.laws.streams import Streams
from notbefore.simulation.laws.turns import Turns
from notbefore.simulation.laws.waiting import Waiting
from notbefore.simulation.laws.wave_book import WaveBook
from notbefore.simulation.laws.waves import Waves


def all_laws() -> tuple[Law, ...]:
    ledger = Ledger()
    book = WaveBook(ledger)
    return (
        History(ledger),
        Incarnation(ledger),
        EventIds(ledger),
        Notice(ledger),
        Starts(ledger),
        ListeningScopes(ledger),
        Domains(ledger),
        Impacts(ledger),
        Endings(ledger),
        Approvals(ledger),
        Isolation(ledger),
        Streams(ledger),
        Waiting(ledger),
        Rate(ledger),
        Liveness(ledger),
        Turns(ledger),
        Waves(book),
        OperationsKept(book),
        RolloutCourse(book),
        RolloutLimits(book),
        Progress(book),
        Retention(),
        Keeping(),
        NewsOfHistory(),
    )
