"""Agents' attempts with what is believed of them, as a file: one JSON object a line, `r4p.attempt/1`."""

import json
from collections.abc import Iterable
from pathlib import Path

from model.agents.trajectories import trajectory_json
from model.errors import BadTrajectory
from training.datasets.guided_pairs import JudgedAttempt
from training.plans.plan import BadPlan

FORMAT = "r4p.attempt/1"


def write(path: Path, attempts: Iterable[JudgedAttempt]) -> int:
    """Write them anew; returns how many."""
    lines = [_line(one) for one in attempts]
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_text("".join(lines))
    beside.replace(path)
    return len(lines)


def read(path: Path | None) -> list[JudgedAttempt]:
    """What `write` wrote. Raises BadPlan naming the file and the line."""
    if path is None:
        raise BadPlan("this plan learns from attempts: name their file with --material")
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise BadPlan(
            f"attempts {path} can't be read: {error.strerror}; write them with: r4p train attempts"
        ) from error
    return [_attempt(line, f"{path}, line {at}") for at, line in enumerate(lines, 1)]


def _line(one: JudgedAttempt) -> str:
    told = json.loads(trajectory_json.dumped(one.trajectory))
    document = {"format": FORMAT, "issue": one.issue, "belief": one.belief, "trajectory": told}
    return json.dumps(document, separators=(",", ":")) + "\n"


def _attempt(line: str, where: str) -> JudgedAttempt:
    try:
        document = json.loads(line)
        if document["format"] != FORMAT:
            raise BadPlan(f"{where} is {document['format']!r}, and {FORMAT} is understood here")
        raw = json.dumps(document["trajectory"]).encode()
        belief = None if document["belief"] is None else float(document["belief"])
        return JudgedAttempt(str(document["issue"]), belief, trajectory_json.loaded(raw))
    except (ValueError, KeyError, TypeError, BadTrajectory) as error:
        if isinstance(error, BadPlan):
            raise
        raise BadPlan(f"{where} is no attempt: {error}; write the file anew") from error
