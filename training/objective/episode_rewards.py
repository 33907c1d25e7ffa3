"""What an agent's episode is worth, and whether anything is learnt from it, by how it ended (pure).

After R4P, appendix B.2, and DeepSWE's compact filtering. An episode that ended for reasons that are not the agent's
(its engine failed, the clock ran out, nobody could judge its patch) is unknown: it neither teaches nor moves a baseline.
"""

from dataclasses import dataclass

from model.agents.trajectories.trajectory import Stop
from training.objective import rewards
from training.plans.plan import Overlong

_OVERLONG = frozenset({Stop.ROUNDS, Stop.TOKENS})
_NOT_ITS_OWN = frozenset({Stop.ENGINE, Stop.TIMEOUT})


@dataclass(frozen=True, slots=True)
class Worth:
    """What comes of an episode."""

    reward: float | None
    """None: nobody knows."""
    teaches: bool
    """Whether its words are learnt from; a reward counts for its group's mean all the same."""


def worth(stop: Stop, believed: float | None, overlong: Overlong) -> Worth:
    """`believed`: what the verifier thinks of its patch, None where it could not say or there is none."""
    if stop in _NOT_ITS_OWN:
        return Worth(None, teaches=False)
    reward = rewards.attempt(submitted=stop is Stop.SUBMITTED, believed=believed)
    cut_off = stop in _OVERLONG and overlong is Overlong.MASK
    return Worth(reward, teaches=reward is not None and not cut_off)
