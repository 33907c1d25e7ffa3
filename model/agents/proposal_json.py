"""Write the result of several attempts as an `r4p.proposal/1` document (pure).

Its JSON Schema is `proposal.schema.json` beside this file. The document holds no trajectories.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict

from model.agents.attempt_selection import AttemptSelection, find_equal_edits
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt
from model.domain import EngineInfo, Issue
from model.verdict_json import Json

SCHEMA = "r4p.proposal/1"


def to_json(
    issue: Issue, attempts: Sequence[Attempt], *, seconds: float, selection: AttemptSelection
) -> dict[str, Json]:
    """Convert an agent's attempts at an issue to the JSON values of an `r4p.proposal/1` document.

    All attempts (at least one) share an agent and an engine. `seconds` is the time of all attempts together, from
    reading the tree to the end of the last attempt. `selection` is the choice among them.
    """
    patches = [attempt.patch for attempt in attempts]
    first = attempts[0].trajectory
    return {
        "schema": SCHEMA,
        "issue": {"title": issue.title},
        "agent": first.agent,
        "engine": _convert_engine(first.engine),
        "guidance": _convert_guidance(first.guidance),
        "attempts": [
            _convert_attempt(index, attempt, same)
            for index, (attempt, same) in enumerate(
                zip(attempts, find_equal_edits(patches), strict=True)
            )
        ],
        "chosen": _number_attempt(selection.index),
        "why": selection.why,
        "execution": None if selection.execution is None else dict(selection.execution),
        "patch": None if selection.index is None else patches[selection.index],
        "seconds": round(seconds, 3),
    }


def _convert_engine(engine: EngineInfo) -> Json:
    return {
        "name": engine.name,
        "model": engine.model,
        "prompt_fingerprint": engine.prompt_fingerprint,
    }


def _convert_guidance(hint: Guidance | None) -> Json:
    if hint is None:
        return None
    return {
        "source": hint.source.value,
        "feedback": hint.feedback,
        "plan": hint.plan,
        "locations": list(hint.locations),
        "parent": hint.parent or None,
    }


def _convert_attempt(index: int, attempt: Attempt, same: int | None) -> Json:
    return {
        "number": _number_attempt(index),
        "seed": attempt.trajectory.seed,
        "stop": attempt.stop.value,
        "failure": attempt.trajectory.failure,
        "rounds": attempt.rounds,
        "malformed": sum(step.malformed for step in attempt.trajectory.steps),
        "tokens": asdict(attempt.tokens),
        "seconds": attempt.seconds,
        "patch": attempt.patch,
        "same_as": _number_attempt(same) if same != index else None,
        "execution": json.loads(attempt.trajectory.setting or "{}").get("execution"),
    }


def _number_attempt(index: int | None) -> int | None:
    """Convert an index into an attempt number. People count attempts from 1."""
    return None if index is None else index + 1
