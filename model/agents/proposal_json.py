"""Write the result of several attempts as an `r4p.proposal/1` document (pure).

Its JSON Schema is `proposal.schema.json` beside this file. The document holds no trajectories.
"""

from collections.abc import Sequence
from dataclasses import asdict

from model.agents.attempt_selection import choose_attempt, find_equal_edits
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt
from model.domain import EngineInfo, Issue
from model.verdict_json import Json

SCHEMA = "r4p.proposal/1"


def to_json(issue: Issue, attempts: Sequence[Attempt], *, seconds: float) -> dict[str, Json]:
    """Convert attempts to the document's JSON values. All attempts (at least one) share an agent and an engine."""
    patches = [one.patch for one in attempts]
    selection = choose_attempt(patches)
    first = attempts[0].trajectory
    return {
        "schema": SCHEMA,
        "issue": {"title": issue.title},
        "agent": first.agent,
        "engine": _engine(first.engine),
        "guidance": _guidance(first.guidance),
        "attempts": [
            _attempt(at, one, same)
            for at, (one, same) in enumerate(zip(attempts, find_equal_edits(patches), strict=True))
        ],
        "chosen": _number(selection.index),
        "why": selection.why,
        "patch": None if selection.index is None else patches[selection.index],
        "seconds": round(seconds, 3),
    }


def _engine(engine: EngineInfo) -> Json:
    return {
        "name": engine.name,
        "model": engine.model,
        "prompt_fingerprint": engine.prompt_fingerprint,
    }


def _guidance(hint: Guidance | None) -> Json:
    if hint is None:
        return None
    return {
        "source": hint.source.value,
        "feedback": hint.feedback,
        "plan": hint.plan,
        "locations": list(hint.locations),
        "parent": hint.parent or None,
    }


def _attempt(at: int, attempt: Attempt, same: int | None) -> Json:
    return {
        "number": _number(at),
        "seed": attempt.trajectory.seed,
        "stop": attempt.stop.value,
        "failure": attempt.trajectory.failure,
        "rounds": attempt.rounds,
        "malformed": sum(step.malformed for step in attempt.trajectory.steps),
        "tokens": asdict(attempt.tokens),
        "seconds": attempt.seconds,
        "patch": attempt.patch,
        "same_as": _number(same) if same != at else None,
    }


def _number(at: int | None) -> int | None:
    """Convert an index into an attempt number. People count attempts from 1."""
    return None if at is None else at + 1
