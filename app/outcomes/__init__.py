"""What maintainers did after a verdict (pure). In: events. Out: raw outcome events, and outcomes derived by a versioned rule.
Training decides later what an outcome says about a patch.
May call: events, policy (commands), values.
"""

from app.outcomes.derivation import RULE_VERSION, derive
from app.outcomes.observation import observe
from app.outcomes.outcome_event import (
    APP,
    CAN_WRITE,
    Details,
    EventKind,
    History,
    Outcome,
    OutcomeEvent,
    OutcomeKind,
    Snapshot,
)

__all__ = [
    "APP",
    "CAN_WRITE",
    "RULE_VERSION",
    "Details",
    "EventKind",
    "History",
    "Outcome",
    "OutcomeEvent",
    "OutcomeKind",
    "Snapshot",
    "derive",
    "observe",
]
