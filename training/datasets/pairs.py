"""Build pairs to learn from: a guided attempt with the failed one before it, or a correct with an incorrect
patch.

A guided pair (Agent-RLVR, section 3) teaches the agent to act without the hint as it did with the hint. The
hint is removed from the chosen prompt. Attempts that quote their hint and issues of an evaluation are left out.
A file of judged attempts has one JSON object a line (`r4p.attempt/1`).
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from model.agents.trajectories import trajectory_json
from model.agents.trajectories.guidance import HintSource
from model.agents.trajectories.trajectory import Trajectory
from model.errors import BadTrajectory
from training.datasets.groups import TrainingGroup
from training.plans.plan import BadPlan

HELD_OUT = "its issue is held out for evaluation"
NO_PARENT = "the attempt that its hint is about is not known"
QUOTES_HINT = "it repeats its hint"
UNJUDGED = "nobody judged it, or the one before it"
NO_BETTER = "it is no better than the one before it"
NO_CONVERSATION = "a pipeline's attempt is no conversation"
OTHER_PROMPT = "it was asked something else than the one before it"


@dataclass(frozen=True, slots=True)
class JudgedAttempt:
    """An agent's attempt at an issue, with the verifier's belief in its patch."""

    issue: str
    """`owner/repo#number`, as in the groups of a dataset."""
    belief: float | None
    """Probability that the patch is correct, 0 without a patch. None: not judged."""
    trajectory: Trajectory

    @property
    def identity(self) -> str:
        """The hash of this attempt's trajectory, by which the hint of a later attempt refers to it."""
        return trajectory_json.compute_identity(self.trajectory)


@dataclass(frozen=True, slots=True)
class GuidedPair:
    """An agent's two attempts at one issue from the same prompt: a better one and a worse one."""

    issue: str
    chosen: Trajectory
    """The better attempt, without its hint."""
    rejected: Trajectory


@dataclass(slots=True)
class GuidedPairs:
    """The guided pairs that training can use, and counts of unusable guided attempts by reason."""

    pairs: list[GuidedPair] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def pair_guided_attempts(
    attempts: Sequence[JudgedAttempt], held_out: Collection[str] = (), *, min_belief: float = 0.5
) -> GuidedPairs:
    """Pair every attempt that had a hint with the attempt that the hint is about, if the later attempt is better.

    Attempts at the issues in `held_out` are left out. `min_belief` is the lowest belief, 0 to 1, of a chosen attempt.
    The result also counts the guided attempts without a pair, by reason.
    """
    by_identity = {attempt.identity: attempt for attempt in attempts}
    result = GuidedPairs()
    for attempt in attempts:
        if attempt.trajectory.guidance is None:
            continue
        pair = _build_pair(attempt, by_identity, held_out, min_belief)
        if isinstance(pair, GuidedPair):
            result.pairs.append(pair)
        else:
            result.left_out[pair] += 1
    return result


def _build_pair(
    better: JudgedAttempt,
    by_identity: Mapping[str, JudgedAttempt],
    held_out: Collection[str],
    at_least: float,
) -> GuidedPair | str:
    """Return the pair, or the reason why there is none."""
    hint = better.trajectory.guidance
    first = by_identity.get(hint.parent) if hint else None
    if better.issue in held_out:
        return HELD_OUT
    if hint is None or first is None:
        return NO_PARENT
    if worse := _find_objection(better.belief, _lower_belief(first.belief, hint.source), at_least):
        return worse
    chosen = better.trajectory.remove_guidance()
    if chosen is None:
        return QUOTES_HINT
    rejected = first.trajectory.remove_guidance()
    return QUOTES_HINT if rejected is None else _pair_comparable(better.issue, chosen, rejected)


def _pair_comparable(issue: str, chosen: Trajectory, rejected: Trajectory) -> GuidedPair | str:
    if not chosen.opening or not rejected.opening:
        return NO_CONVERSATION
    if (chosen.opening, chosen.tools) != (rejected.opening, rejected.tools):
        return OTHER_PROMPT
    return GuidedPair(issue, chosen, rejected)


def _lower_belief(belief: float | None, source: HintSource) -> float | None:
    """Return the belief in the attempt that received a hint. It is 0 if a maintainer or a check rejected it."""
    return belief if source is HintSource.VERDICT else 0.0


def _find_objection(better: float | None, worse: float | None, at_least: float) -> str | None:
    if better is None or worse is None:
        return UNJUDGED
    return None if better >= at_least and better > worse else NO_BETTER


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """A correct patch, `better`, and an incorrect patch, `worse`, of one issue. `statement` is the issue's text."""

    issue: str
    statement: str
    better: str
    worse: str
    margin: float
    """Difference of their targets, 0 to 1."""


def build_preferences(groups: Iterable[TrainingGroup]) -> list[PreferencePair]:
    """Pair each correct patch with each incorrect one of its issue, once. Unlabelled patches are skipped."""
    pairs = {
        (pair.issue, pair.better, pair.worse): pair
        for group in groups
        for pair in _iterate_preferences(group)
    }
    return list(pairs.values())


def _iterate_preferences(group: TrainingGroup) -> Iterator[PreferencePair]:
    pairs = zip(group.patches, group.targets, strict=True)
    labelled = [(patch, target) for patch, target in pairs if patch and target is not None]
    right = [patch for patch in labelled if patch[1] >= 0.5]
    wrong = [patch for patch in labelled if patch[1] < 0.5]
    for (better, high), (worse, low) in product(right, wrong):
        yield PreferencePair(group.issue, group.problem_statement, better, worse, high - low)


FORMAT = "r4p.attempt/1"


def write_attempts(path: Path, attempts: Iterable[JudgedAttempt]) -> int:
    """Write judged attempts to the file `path`, replacing it, and return the number of attempts."""
    lines = [_format_attempt(attempt) for attempt in attempts]
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_text("".join(lines))
    beside.replace(path)
    return len(lines)


def read_attempts(path: Path | None) -> list[JudgedAttempt]:
    """Read the judged attempts that `write_attempts` wrote.

    Raises BadPlan for a `path` of None, an unreadable file, and a line that is no attempt.
    """
    if path is None:
        raise BadPlan("this plan learns from attempts: name their file with --material")
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise BadPlan(
            f"attempts {path} can't be read: {error.strerror}; write them with: r4p train attempts"
        ) from error
    return [_parse_attempt(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]


def _format_attempt(attempt: JudgedAttempt) -> str:
    trajectory = json.loads(trajectory_json.dump_trajectory(attempt.trajectory))
    document = {
        "format": FORMAT,
        "issue": attempt.issue,
        "belief": attempt.belief,
        "trajectory": trajectory,
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


def _parse_attempt(line: str, where: str) -> JudgedAttempt:
    try:
        document = json.loads(line)
        if document["format"] != FORMAT:
            raise BadPlan(f"{where} is {document['format']!r}, but this version reads {FORMAT}")
        raw = json.dumps(document["trajectory"]).encode()
        belief = None if document["belief"] is None else float(document["belief"])
        return JudgedAttempt(str(document["issue"]), belief, trajectory_json.load_trajectory(raw))
    except (ValueError, KeyError, TypeError, BadTrajectory) as error:
        if isinstance(error, BadPlan):
            raise
        raise BadPlan(f"{where} is no attempt: {error}; write the file again") from error
