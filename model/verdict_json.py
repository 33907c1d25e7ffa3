"""The published form of a verdict, `r4p.verdict/1`: the same object in the CLI, the API and the comment (pure).

Its JSON Schema is `verdict.schema.json` beside this file. Raw replies are not part of it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from model.domain import Coverage, GroupVerdict, PatchId, PatchVerdict, Verdict, VoteCount

SCHEMA = "r4p.verdict/1"

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Proposer:
    """Which of our own agents wrote a patch."""

    agent: str
    model: str
    steps: int
    """Replies of the model until it handed in the patch."""
    base_sha: str
    """The commit that the patch is against."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a verdict is about, which the verifier itself never learns."""

    title: str
    group_id: str
    repository: str | None = None
    """`owner/name`; None offline."""
    number: int | None = None
    """The issue's number; None offline."""
    head_shas: Mapping[PatchId, str] = field(default_factory=dict)
    """The commit each patch was taken from, where there is one."""
    proposers: Mapping[PatchId, Proposer] = field(default_factory=dict)
    """Of the patches that are our own."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibrator behind the probabilities: which one it is, and how much history it has seen."""

    id: int | None
    """Its number in the database; None: it is from a file."""
    fitted_at: str
    """ISO 8601, UTC."""
    issues: int
    correct: int
    incorrect: int


def to_json(
    verdict: GroupVerdict,
    subject: Subject,
    *,
    verifier: str | None = None,
    calibration: Calibration | None = None,
) -> dict[str, Json]:
    """The document as plain JSON values; seconds are rounded to milliseconds.

    `verifier` is the name of who judged; without a calibration there are no probabilities of one.
    """
    who: dict[str, Json] = {"verifier": verifier} if verifier else {}
    calibrator: dict[str, Json] = _known(calibration) if calibration else {}
    return {
        "schema": SCHEMA,
        "issue": {
            "repository": subject.repository,
            "number": subject.number,
            "title": subject.title,
        },
        "group": {
            "id": subject.group_id,
            "size": len(verdict.patches),
            "partition": [list(part) for part in verdict.partition],
        },
        "patches": [_patch(patch, subject) for patch in verdict.patches],
        "engine": {
            "name": verdict.engine.name,
            "model": verdict.engine.model,
            "prompt_fingerprint": verdict.engine.prompt_fingerprint,
        },
        "votes": _votes(verdict),
        "tokens": {
            "prompt": verdict.tokens.prompt,
            "cached": verdict.tokens.cached,
            "completion": verdict.tokens.completion,
        },
        "seconds": {
            "total": round(verdict.total_seconds, 3),
            "engine": round(verdict.engine_seconds, 3),
            "overhead": round(max(0.0, verdict.total_seconds - verdict.engine_seconds), 3),
        },
        **who,
        **calibrator,
    }


def _known(calibration: Calibration) -> dict[str, Json]:
    told = asdict(calibration)
    return {"calibrator": {name: one for name, one in told.items() if one is not None}}


def _votes(verdict: GroupVerdict) -> dict[str, Json]:
    more: dict[str, Json] = {"spared": verdict.spared, "forced": verdict.forced}
    known = {name: count for name, count in more.items() if count}
    return {"asked": verdict.asked, "valid": verdict.valid, **known}


def _patch(patch: PatchVerdict, subject: Subject) -> dict[str, Json]:
    by = subject.proposers.get(patch.id)
    ours: dict[str, Json] = {} if by is None else {"proposed_by": asdict(by)}
    beliefs = {"score": patch.score, "rank": patch.rank}
    known = {name: round(one, 4) for name, one in beliefs.items() if one is not None}
    return {
        "id": patch.id,
        "verdict": patch.verdict.value,
        "probability": patch.probability,
        "votes": {
            "correct": patch.votes.correct,
            "incorrect": patch.votes.incorrect,
            "none": patch.votes.none,
        },
        "reason": patch.reason,
        "coverage": {"files": patch.coverage.files, "files_seen": patch.coverage.files_seen},
        "head_sha": subject.head_shas.get(patch.id),
        **ours,
        **known,
    }


def patches_from_json(document: Mapping[str, Any]) -> tuple[PatchVerdict, ...]:
    """The patches of a document that `to_json` wrote. Raises KeyError or ValueError for another one."""
    if document["schema"] != SCHEMA:
        raise ValueError(f"schema {document['schema']!r} is not {SCHEMA}")
    return tuple(
        PatchVerdict(
            id=PatchId(one["id"]),
            verdict=Verdict(one["verdict"]),
            votes=VoteCount(**one["votes"]),
            reason=one["reason"],
            coverage=Coverage(**one["coverage"]),
            probability=one["probability"],
        )
        for one in document["patches"]
    )
