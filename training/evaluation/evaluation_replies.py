"""Groups put before a verifier, as the bot does it, and its answers with what each would have been worth in training."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from model.domain import GroupVerdict, Issue, Patch, PatchId, Vote
from model.protocols import Verifier
from model.voting.votes import ENGINE_FAILED
from training.datasets.groups import TrainingGroup
from training.evaluation.metrics import Heard
from training.objective import rewards


@dataclass(frozen=True, slots=True)
class Hearing:
    """How groups are put before a verifier."""

    votes: int = 4
    together: int = 8
    """Groups at a time; one for an engine in this process."""


def hear(
    verifier: Verifier,
    groups: Sequence[TrainingGroup],
    how: Hearing,
    on_group: Callable[[], None] = lambda: None,
) -> list[Heard]:
    """What is said of each group, in their order. Raises EngineDown."""

    def one(group: TrainingGroup) -> Heard:
        issue = issue_of(group)
        candidates = [Patch(name_of(at), group.patches[at]) for at in seated(group)]
        heard = judged(group, verifier.verify(issue, candidates, votes=how.votes))
        on_group()
        return heard

    with ThreadPoolExecutor(how.together) as pool:
        return list(pool.map(one, groups))


def issue_of(group: TrainingGroup) -> Issue:
    """The issue; the first line of its statement is the title."""
    title, _, body = group.problem_statement.strip().partition("\n")
    return Issue(title.strip(), body.strip())


def seated(group: TrainingGroup) -> list[int]:
    """The places of a group that hold a patch; the others are padding, which a verifier adds itself."""
    return [at for at, patch in enumerate(group.patches) if patch.strip()]


def name_of(at: int) -> PatchId:
    """What the patch at a place is called before the verifier."""
    return PatchId(f"candidate-{at + 1}")


def judged(group: TrainingGroup, verdict: GroupVerdict) -> Heard:
    """What a verdict says of a group (pure)."""
    scores = {one.id: one.score for one in verdict.patches}
    answered = [one for one in verdict.votes if not (one.failure or "").startswith(ENGINE_FAILED)]
    worth = [_worth(group, one) for one in answered]
    return Heard(
        group=group,
        beliefs=tuple(scores.get(name_of(at)) for at in range(len(group.patches))),
        rewards=tuple(one for one in worth if one is not None),
        asked=len(answered),
        valid=sum(_boxed(one) is not None for one in answered),
    )


def _worth(group: TrainingGroup, vote: Vote) -> float | None:
    """Of one reply: by the patches that it was shown."""
    shown = [
        target if name_of(at) in vote.seats else None for at, target in enumerate(group.targets)
    ]
    boxed = _boxed(vote)
    seats = None if boxed is None else frozenset(_place(one) for one in boxed)
    return rewards.judgement(seats, shown)


def _boxed(vote: Vote) -> frozenset[PatchId] | None:
    """What a reply says by itself: one whose box was opened for it has none."""
    return None if vote.forced else vote.correct


def _place(name: PatchId) -> int:
    return int(name.rpartition("-")[2])
