"""What maintainers did after a verdict: raw events as they came, outcomes derived from them (pure).

Whether an outcome makes a patch correct or not is decided in training; closed is never incorrect.
"""

from app.outcomes.derivation import RULE_VERSION, derive
from app.outcomes.facts import (
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
from app.outcomes.observation import observe

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
