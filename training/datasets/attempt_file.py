"""Read and write agents' judged attempts, one JSON object a line (`r4p.attempt/1`)."""

import json
from collections.abc import Iterable
from pathlib import Path

from model.agents.trajectories import trajectory_json
from model.errors import BadTrajectory
from training.datasets.guided_pairs import JudgedAttempt
from training.plans.plan import BadPlan

FORMAT = "r4p.attempt/1"


def write_attempts(path: Path, attempts: Iterable[JudgedAttempt]) -> int:
    """Replace the file with these attempts and return their number."""
    lines = [_format_attempt(attempt) for attempt in attempts]
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_text("".join(lines))
    beside.replace(path)
    return len(lines)


def read_attempts(path: Path | None) -> list[JudgedAttempt]:
    """Read the file that `write_attempts` wrote. Raises BadPlan with file and line."""
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
            raise BadPlan(f"{where} is {document['format']!r}, and {FORMAT} is understood here")
        raw = json.dumps(document["trajectory"]).encode()
        belief = None if document["belief"] is None else float(document["belief"])
        return JudgedAttempt(str(document["issue"]), belief, trajectory_json.load_trajectory(raw))
    except (ValueError, KeyError, TypeError, BadTrajectory) as error:
        if isinstance(error, BadPlan):
            raise
        raise BadPlan(f"{where} is no attempt: {error}; write the file anew") from error
