"""Ask a verifier about groups as the bot does, and score its replies as training does."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from model.domain import GroupVerdict, Issue, Patch, PatchId, Vote
from model.protocols import Verifier
from model.voting.votes import ENGINE_FAILED
from training.datasets.groups import TrainingGroup
from training.evaluation.metrics import GroupReplies
from training.objective import rewards


@dataclass(frozen=True, slots=True)
class ReplySettings:
    """How many votes an evaluation requests for a group, and how many groups it asks about at a time."""

    votes: int = 4
    """Votes requested for each group."""
    concurrency: int = 8
    """Groups asked at a time; 1 for an engine in this process."""


def collect_replies(
    verifier: Verifier,
    groups: Sequence[TrainingGroup],
    settings: ReplySettings,
    on_group: Callable[[], None] = lambda: None,
) -> list[GroupReplies]:
    """Ask a verifier about each group and return its scored replies, in the order of the groups.

    `on_group` is called after each group, from several threads. Raises EngineDown.
    """

    def ask(group: TrainingGroup) -> GroupReplies:
        issue = build_issue(group)
        candidates = [
            Patch(
                build_candidate_id(index),
                group.patches[index],
                group.trajectories[index] if group.trajectories else None,
            )
            for index in list_occupied_seats(group)
        ]
        replies = score_verdict(group, verifier.verify(issue, candidates, votes=settings.votes))
        on_group()
        return replies

    with ThreadPoolExecutor(settings.concurrency) as pool:
        return list(pool.map(ask, groups))


def build_issue(group: TrainingGroup) -> Issue:
    """Build the issue of a training group. The first line of the problem statement becomes the title."""
    title, _, body = group.problem_statement.strip().partition("\n")
    return Issue(title.strip(), body.strip())


def list_occupied_seats(group: TrainingGroup) -> list[int]:
    """List the seats of a group that hold a patch and no padding, counted from 0."""
    return [index for index, patch in enumerate(group.patches) if patch.strip()]


def build_candidate_id(index: int) -> PatchId:
    """Build the id of the patch in the seat `index`, counted from 0: `candidate-1` for seat 0."""
    return PatchId(f"candidate-{index + 1}")


def score_verdict(group: TrainingGroup, verdict: GroupVerdict) -> GroupReplies:
    """Score the replies (votes) in a verifier's verdict on a group with the training reward (pure).

    The result also has the belief in each patch. Requests that the engine failed to answer do not count.
    """
    scores = {patch.id: patch.score for patch in verdict.patches}
    answered = [
        vote for vote in verdict.votes if not (vote.failure or "").startswith(ENGINE_FAILED)
    ]
    worth = [_score_reply(group, vote) for vote in answered]
    return GroupReplies(
        group=group,
        beliefs=tuple(scores.get(build_candidate_id(index)) for index in range(len(group.patches))),
        rewards=tuple(reward for reward in worth if reward is not None),
        asked=len(answered),
        valid=sum(_read_box(vote) is not None for vote in answered),
    )


def _score_reply(group: TrainingGroup, vote: Vote) -> float | None:
    """Compute the reward of one reply from the patches it was shown."""
    shown = [
        target if build_candidate_id(index) in vote.seats else None
        for index, target in enumerate(group.targets)
    ]
    boxed = _read_box(vote)
    seats = None if boxed is None else frozenset(_parse_place(name) for name in boxed)
    return rewards.reward_judgement(seats, shown)


def _read_box(vote: Vote) -> frozenset[PatchId] | None:
    """Read the patches that a reply accepts; None for a forced vote."""
    return None if vote.forced else vote.correct


def _parse_place(name: PatchId) -> int:
    return int(name.rpartition("-")[2])
