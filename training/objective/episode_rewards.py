"""Reward an agent's episode by how it ended (R4P, appendix B.2; compact filtering of DeepSWE) (pure).

`reward_episode` alone decides which episodes get a loss. TRL's own mask of cut replies stays off for episodes, because
it would also mask a malformed episode. An episode that the agent did not end has an unknown reward: its engine
failed, its time ran out, or no verifier could judge it. It gets no loss and does not change its group's mean.
"""

from dataclasses import dataclass

from model.agents.trajectories.trajectory import StopReason
from model.domain import VoteCount
from training.objective import rewards
from training.plans.plan import OverlongHandling

_OVERLONG = frozenset({StopReason.ROUNDS, StopReason.TOKENS})
_EXTERNAL = frozenset({StopReason.ENGINE, StopReason.TIMEOUT})


@dataclass(frozen=True, slots=True)
class EpisodeReward:
    """The reward of an agent's episode, and whether its tokens get a loss."""

    reward: float | None
    """0 to 1. None: unknown."""
    is_trained_on: bool
    """False masks all its tokens. A known reward still counts in the group's mean."""


def reward_episode(
    stop: StopReason, belief: float | None, overlong: OverlongHandling
) -> EpisodeReward:
    """Reward an agent's episode that ended by `stop`.

    `belief` is the verifier's judgement of its patch, 0 to 1, or None without one. `overlong` says whether the tokens
    of a cut-off episode get a loss: it reached the limit of rounds or tokens. A malformed episode earns 0 and gets one.
    """
    # The engine or the clock ended the episode, which says nothing about the agent.
    if stop in _EXTERNAL:
        return EpisodeReward(None, is_trained_on=False)
    reward = rewards.reward_attempt(is_submitted=stop is StopReason.SUBMITTED, belief=belief)
    # Compact filtering: a cut-off episode has a reward for the mean, but its tokens get no gradient.
    cut_off = stop in _OVERLONG and overlong is OverlongHandling.MASK
    return EpisodeReward(reward, is_trained_on=reward is not None and not cut_off)


def decide_majority(count: VoteCount, failed: int) -> float | None:
    """Return 1 if more than half of a patch's readable votes call it correct, else 0.

    An unreadable vote does not count, and without a readable vote the result is 0, as in the reward server of R4P's
    authors. `failed` is the number of votes, out of `count.none`, whose engine failed. Such a vote could have had any
    answer. Returns None if the answers of the failed votes could change the result.
    """
    every = count.valid + failed
    # The two extremes: every failed vote says incorrect, or every failed vote says correct.
    lowest, highest = count.correct > every / 2, count.correct + failed > every / 2
    return float(lowest) if lowest == highest else None
