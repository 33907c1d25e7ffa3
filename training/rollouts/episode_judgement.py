"""Reward the episodes of one issue: a verifier judges their patches against each other.

Episodes with equal edits share one judgement. A patch below the plan's least number of edited lines is neither
shown nor rewarded (R4P, section 5.3: "reject rewarding on extremely short patches").
"""

from collections.abc import Sequence

from model.agents.trajectories.trajectory import Attempt
from model.domain import Issue, Patch, PatchId
from model.errors import BadDiff, EngineError
from model.patches import diff
from model.protocols import Verifier
from model.voting import votes as counting
from training.objective import episode_rewards
from training.objective.episode_rewards import EpisodeReward
from training.plans.plan import OverlongHandling, RewardSettings


def judge_episodes(
    verifier: Verifier,
    issue: Issue,
    siblings: Sequence[Attempt],
    settings: RewardSettings,
    overlong: OverlongHandling,
) -> list[EpisodeReward]:
    """Return a reward for each episode of one issue, by judging the episodes' patches against each other.

    `siblings` are the episodes' attempts, and `settings` the plan's `[reward]`. `overlong` says whether the tokens of a
    cut-off episode get a loss. When the verifier fails, the rewards of the patches are unknown.
    """
    edits = [
        None if attempt.patch is None else _identify_edit(attempt.patch, settings.edited_lines)
        for attempt in siblings
    ]
    # A later copy of an edit replaces the first one: both would share a seat in the prompt anyway.
    patches = {
        edit: Patch(PatchId(edit), attempt.patch)
        for edit, attempt in zip(edits, siblings, strict=True)
        if edit is not None and attempt.patch is not None
    }
    judged = _judge_patches(verifier, issue, list(patches.values()), settings) if patches else {}
    return [
        episode_rewards.reward_episode(
            attempt.stop, None if edit is None else judged.get(PatchId(edit)), overlong
        )
        for edit, attempt in zip(edits, siblings, strict=True)
    ]


def _identify_edit(patch: str, edited_lines: int) -> str | None:
    """Return a text that is equal for equal edits, or None if the patch is too short for a reward."""
    try:
        return diff.fingerprint(patch) if diff.count_edited_lines(patch) >= edited_lines else None
    except BadDiff:
        return patch  # the verifier refuses it


def _judge_patches(
    verifier: Verifier, issue: Issue, patches: Sequence[Patch], settings: RewardSettings
) -> dict[PatchId, float | None]:
    """Return the verifier's judgement on each patch, 0 to 1. None: unknown."""
    try:
        verdict = verifier.verify(issue, patches, votes=settings.votes)
    except EngineError:
        return {}
    if not settings.binary:
        return {patch.id: patch.score for patch in verdict.patches}
    # A patch that the verifier refused, for example because it is too long, has no vote and earns 0.
    return {
        patch.id: episode_rewards.decide_majority(
            counting.tally(verdict.votes, patch.id),
            counting.count_engine_failures(verdict.votes, patch.id),
        )
        for patch in patches
    }
