"""Build the data of Agent-RLVR's update from judged attempts (Algorithm 1) (pure).

An attempt is correct if the belief in its patch is at least `min_belief`. It is incorrect below that, and always when
a maintainer or a check refused it. The paper asks unit tests instead. The hint is removed from the chosen attempt,
and an attempt that quotes its hint is left out. A hint never leads to the worse attempt of a pair.

A conversation is one example. A pipeline (Agentless Mini) makes an example of each stage, locate and repair.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from model.agents.trajectories.guidance import HintSource
from model.agents.trajectories.trajectory import Trajectory, find_patch_steps
from model.protocols import Message
from training.datasets.pairs import JudgedAttempt

HELD_OUT: Final = "its issue is held out for evaluation"
NO_PARENT: Final = "the attempt that its hint is about is not known"
GUIDED_PARENT: Final = "the attempt that its hint is about had a hint too"
QUOTES_HINT: Final = "it repeats its hint"
UNJUDGED: Final = "nobody judged it, or the one before it"
NO_BETTER: Final = "it is no better than the one before it"
OTHER_PROMPT: Final = "it was asked something else than the one before it"


@dataclass(frozen=True, slots=True)
class AttemptPair:
    """An agent's two attempts at one issue from the same prompt: a correct one and an incorrect one."""

    issue: str
    chosen: Trajectory
    """The correct attempt, without its hint."""
    rejected: Trajectory


@dataclass(frozen=True, slots=True)
class StageReply:
    """A pipeline's reply in one stage. `stage` is `locate` or `repair`."""

    stage: str
    prompt: tuple[Message, ...]
    reply: str


@dataclass(frozen=True, slots=True)
class StagePair:
    """The replies of two attempts of a pipeline to the same prompt: of the correct and of the incorrect attempt."""

    issue: str
    stage: str
    prompt: tuple[Message, ...]
    chosen: str
    rejected: str


@dataclass(slots=True)
class AttemptPairs:
    """The pairs that training can use, and counts of guided attempts without a pair by reason."""

    pairs: list[AttemptPair | StagePair] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def pair_attempts(
    attempts: Sequence[JudgedAttempt], held_out: Collection[str] = (), *, min_belief: float = 0.5
) -> AttemptPairs:
    """Build the data set D_RLVR of Agent-RLVR's Algorithm 1.

    Line 13: each correct attempt with each incorrect attempt at the same issue, both without a hint. Line 20: each
    correct guided attempt with the incorrect attempt that its hint is about. Attempts at the issues in `held_out` are
    left out. `min_belief` is the lowest belief, 0 to 1, of a correct attempt.
    """
    by_identity = _index_attempts(attempts, held_out)
    correct = _decide_correctness(by_identity, min_belief)
    result = AttemptPairs(_pair_rollouts(by_identity, correct))
    hints = [attempt.issue for attempt in attempts if attempt.trajectory.guidance]
    result.left_out.update(HELD_OUT for issue in hints if issue in held_out)
    for identity, attempt in by_identity.items():
        if attempt.trajectory.guidance is not None:
            pairs = _pair_with_parent(identity, by_identity, correct)
            if isinstance(pairs, str):
                result.left_out[pairs] += 1
            else:
                result.pairs += pairs
    return result


def list_positives(
    attempts: Sequence[JudgedAttempt], held_out: Collection[str] = (), *, min_belief: float = 0.5
) -> list[JudgedAttempt]:
    """Return the correct attempts without a hint, for supervised training (Agent-RLVR, section 2.2.4)."""
    by_identity = _index_attempts(attempts, held_out)
    correct = _decide_correctness(by_identity, min_belief)
    return [
        attempt
        for identity, attempt in by_identity.items()
        if correct[identity] and attempt.trajectory.guidance is None
    ]


def list_stage_replies(trajectory: Trajectory) -> dict[str, StageReply]:
    """Return the replies of a pipeline's attempt that led to its patch, by stage; empty for a conversation.

    Of an attempt without a patch they are the first repair and the localisation of its files.
    """
    steps = [step for step in find_patch_steps(trajectory) if step.stage]
    return {step.stage: StageReply(step.stage, step.prompt, step.reply.content) for step in steps}


def _index_attempts(
    attempts: Sequence[JudgedAttempt], held_out: Collection[str]
) -> dict[str, JudgedAttempt]:
    """Return the attempts outside `held_out` by identity. An attempt that the file repeats counts once."""
    return {attempt.identity: attempt for attempt in attempts if attempt.issue not in held_out}


def _decide_correctness(
    attempts: Mapping[str, JudgedAttempt], min_belief: float
) -> dict[str, bool | None]:
    """Return whether each attempt is correct, by its identity. None: nobody judged it."""
    hints = [attempt.trajectory.guidance for attempt in attempts.values()]
    refused = {hint.parent for hint in hints if hint and hint.source is not HintSource.VERDICT}
    return {
        identity: False
        if identity in refused
        else None
        if attempt.belief is None
        else attempt.belief >= min_belief
        for identity, attempt in attempts.items()
    }


def _pair_rollouts(
    by_identity: Mapping[str, JudgedAttempt],
    correct: Mapping[str, bool | None],
) -> list[AttemptPair | StagePair]:
    """Return the pairs of attempts without a hint (line 13)."""
    rollouts: dict[str, dict[bool | None, list[Trajectory]]] = {}
    for identity, attempt in by_identity.items():
        if attempt.trajectory.guidance is None:
            of_issue = rollouts.setdefault(attempt.issue, {True: [], False: [], None: []})
            of_issue[correct[identity]].append(attempt.trajectory)
    return [
        pair
        for issue, of_issue in rollouts.items()
        for better, worse in product(of_issue[True], of_issue[False])
        for pair in _compare(issue, better, worse)
    ]


def _pair_with_parent(
    identity: str,
    by_identity: Mapping[str, JudgedAttempt],
    correct: Mapping[str, bool | None],
) -> list[AttemptPair | StagePair] | str:
    """Return the pairs of a guided attempt (line 20), or the reason why there is none."""
    attempt = by_identity[identity]
    hint = attempt.trajectory.guidance
    parent = by_identity.get(hint.parent) if hint else None
    if hint is None or parent is None:
        return NO_PARENT
    if parent.trajectory.guidance is not None:
        return GUIDED_PARENT
    if objection := _find_objection(correct[identity], correct[hint.parent]):
        return objection
    chosen = attempt.trajectory.remove_guidance()
    if chosen is None:
        return QUOTES_HINT
    return _compare(attempt.issue, chosen, parent.trajectory) or OTHER_PROMPT


def _find_objection(is_correct: bool | None, is_parent_correct: bool | None) -> str | None:
    if is_correct is None or is_parent_correct is None:
        return UNJUDGED
    return None if is_correct and not is_parent_correct else NO_BETTER


def _compare(issue: str, chosen: Trajectory, rejected: Trajectory) -> list[AttemptPair | StagePair]:
    """Return the pairs of two attempts, as far as both answered the same prompts."""
    if chosen.opening:
        is_same_prompt = (chosen.opening, chosen.tools) == (rejected.opening, rejected.tools)
        return [AttemptPair(issue, chosen, rejected)] if is_same_prompt else []
    return list(_compare_stages(issue, chosen, rejected))


def _compare_stages(issue: str, chosen: Trajectory, rejected: Trajectory) -> Iterator[StagePair]:
    worse = list_stage_replies(rejected)
    for stage, better in list_stage_replies(chosen).items():
        rival = worse.get(stage)
        if rival and rival.prompt == better.prompt and rival.reply != better.reply:
            yield StagePair(issue, stage, better.prompt, better.reply, rival.reply)
