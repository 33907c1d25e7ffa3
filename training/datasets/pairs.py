"""Read and write judged attempts, and pair a correct patch with each incorrect one of its issue.

A file of judged attempts has one JSON object a line (`r4p.attempt/1`).
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from model.agents.trajectories import trajectory_json
from model.agents.trajectories.trajectory import Trajectory
from model.errors import BadTrajectory
from training.datasets.groups import TrainingGroup
from training.plans.plan import BadPlan


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
