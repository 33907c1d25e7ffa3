"""The published form of a verdict, `r4p.verdict/1`. The CLI, the API and the comment share it (pure).

`verdict.schema.json` beside this file is its JSON Schema. The document holds no raw replies.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from model import typed_json
from model.coverage import ShownCode
from model.domain import (
    Coverage,
    GradedLine,
    GroupVerdict,
    ObservedEvidence,
    PatchId,
    PatchVerdict,
    RivalDifference,
    Verdict,
    VoteCount,
)

SCHEMA = "r4p.verdict/1"
PACKAGED = "packaged"
"""The origin of probabilities that rest on issues of benchmarks only."""
_UNREAD_AT_MOST = 50
_LONGEST_PATH = 300

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Proposer:
    """The bot's own agent that wrote a patch."""

    agent: str
    model: str
    steps: int
    """The number of model replies before the agent submitted the patch."""
    base_sha: str
    """The commit that the patch applies to."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The issue and commits of a verdict. The verifier itself never learns them."""

    title: str
    group_id: str
    """The group's number in the database, or a hash in the CLI."""
    repository: str | None = None
    """`owner/name`, or None in the CLI."""
    number: int | None = None
    """The issue's number, or None in the CLI."""
    head_shas: Mapping[PatchId, str] = field(default_factory=dict)
    """The commit of each patch, where one exists."""
    proposers: Mapping[PatchId, Proposer] = field(default_factory=dict)
    """The agents of the patches that the bot wrote."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibrator of the probabilities, and the size of its history."""

    id: int | None
    """The calibrator's number in the database, or None for a calibrator from a file."""
    fitted_at: str
    """ISO 8601, UTC."""
    issues: int
    correct: int
    incorrect: int
    origin: str | None = None
    """PACKAGED for the prior that ships with the bot; None for outcomes of its own."""


def to_json(
    verdict: GroupVerdict,
    subject: Subject,
    *,
    verifier: str | None = None,
    calibration: Calibration | None = None,
) -> dict[str, Json]:
    """Convert the verdict on a group to an `r4p.verdict/1` document. Seconds are rounded to milliseconds.

    `subject` names the issue and the commits, `verifier` the judge's verifier. `calibration` describes the calibrator
    of the probabilities. The document leaves out the last two where they are None.
    """
    judge: dict[str, Json] = {"verifier": verifier} if verifier else {}
    calibrator_part: dict[str, Json] = _write_calibration(calibration) if calibration else {}
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
        "patches": [_write_patch(patch, subject) for patch in verdict.patches],
        "engine": {
            "name": verdict.engine.name,
            "model": verdict.engine.model,
            "prompt_fingerprint": verdict.engine.prompt_fingerprint,
        },
        "votes": _write_votes(verdict),
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
        **judge,
        **calibrator_part,
        **_write_differences(verdict),
        **_write_code(verdict.code),
    }


def _write_calibration(calibration: Calibration) -> dict[str, Json]:
    values = asdict(calibration)
    return {"calibrator": {name: value for name, value in values.items() if value is not None}}


def _write_votes(verdict: GroupVerdict) -> dict[str, Json]:
    extra: dict[str, Json] = {"spared": verdict.spared, "forced": verdict.count_forced_votes()}
    nonzero = {name: count for name, count in extra.items() if count}
    return {"asked": verdict.asked, "valid": verdict.valid, **nonzero}


def _write_patch(patch: PatchVerdict, subject: Subject) -> dict[str, Json]:
    proposer = subject.proposers.get(patch.id)
    proposed_by: dict[str, Json] = {} if proposer is None else {"proposed_by": asdict(proposer)}
    beliefs = {"score": patch.score, "rank": patch.rank}
    observed: dict[str, Json] = (
        {} if patch.evidence is None else {"evidence": write_evidence(patch.evidence)}
    )
    rounded = {name: round(belief, 4) for name, belief in beliefs.items() if belief is not None}
    rubric: dict[str, Json] = {"rubric": typed_json.dump(patch.rubric)} if patch.rubric else {}
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
        "coverage": _write_coverage(patch.coverage),
        "head_sha": subject.head_shas.get(patch.id),
        **proposed_by,
        **rounded,
        **observed,
        **rubric,
    }


def write_evidence(evidence: ObservedEvidence) -> dict[str, Json]:
    """Return the value of a patch's key `evidence`. Parts that nobody knows are left out, and a 0 of `rewritten`."""
    parts = {name: part for name, part in typed_json.dump(evidence).items() if part is not None}
    if evidence.regression is not None and not evidence.regression.rewritten:
        regression = typed_json.dump(evidence.regression)
        parts["regression"] = {name: regression[name] for name in regression if name != "rewritten"}
    return parts


def _write_differences(verdict: GroupVerdict) -> dict[str, Json]:
    facts: list[Json] = [
        _leave_out_empty(typed_json.dump(each))
        | (
            {"places": [_leave_out_empty(place) for place in typed_json.dump(each.places)]}
            if each.places
            else {}
        )
        for each in verdict.differences
    ]
    return {"differences": facts} if facts else {}


def _write_code(code: ShownCode | None) -> dict[str, Json]:
    if code is None:
        return {}
    return {
        "code": {"missing": code.missing} if code.missing else {"definitions": code.definitions}
    }


def read_code(document: Mapping[str, Any]) -> ShownCode | None:
    """Read which code the prompt showed from an `r4p.verdict/1` document. Raises TypeError or ValueError."""
    return typed_json.read(ShownCode, document["code"]) if "code" in document else None


def _leave_out_empty(values: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value}


def read_differences(document: Mapping[str, Any]) -> tuple[RivalDifference, ...]:
    """Read what tells the rivals apart from an `r4p.verdict/1` document. Raises TypeError or ValueError."""
    return tuple(typed_json.read(RivalDifference, each) for each in document.get("differences", ()))


def _write_coverage(coverage: Coverage) -> dict[str, Json]:
    unread: list[Json] = [
        {"path": part.path.replace("\0", "\ufffd")[:_LONGEST_PATH], "reason": part.reason.value}
        for part in coverage.unread[:_UNREAD_AT_MOST]
    ]
    counts: dict[str, Json] = {"files": coverage.files, "files_seen": coverage.files_seen}
    return counts | ({"unread": unread} if unread else {})


def add_evidence(
    document: Mapping[str, Any],
    evidence: Mapping[PatchId, ObservedEvidence],
    weigh: Callable[[PatchVerdict], PatchVerdict],
) -> dict[str, Any]:
    """Return an `r4p.verdict/1` document with this evidence in place of what it holds, and with the verdicts by `weigh`.

    A patch whose verdict changes keeps what the verifier said under `judged`, so a later call starts from that again.
    """
    patches = [_weigh(patch, evidence.get(patch["id"]), weigh) for patch in document["patches"]]
    return {**document, "patches": patches}


def _weigh(
    patch: Mapping[str, Any],
    evidence: ObservedEvidence | None,
    weigh: Callable[[PatchVerdict], PatchVerdict],
) -> dict[str, Any]:
    judged = {**patch, **patch.get("judged", {})}
    judged = {name: value for name, value in judged.items() if name not in {"judged", "evidence"}}
    if evidence is None:
        return judged
    shown = {**judged, "evidence": write_evidence(evidence)}
    weighed = weigh(_read_patch(shown))
    changed = {
        "verdict": weighed.verdict.value,
        "probability": weighed.probability,
        "reason": weighed.reason,
    }
    before = {name: judged[name] for name in changed}
    return shown if changed == before else {**shown, **changed, "judged": before}


def read_patches(document: Mapping[str, Any]) -> tuple[PatchVerdict, ...]:
    """Read the verdict on each patch from an `r4p.verdict/1` document.

    Raises KeyError, TypeError or ValueError for another document.
    """
    if document["schema"] != SCHEMA:
        raise ValueError(f"schema {document['schema']!r} is not {SCHEMA}")
    return tuple(_read_patch(patch) for patch in document["patches"])


def _read_patch(patch: Mapping[str, Any]) -> PatchVerdict:
    observed = patch.get("evidence")
    return PatchVerdict(
        id=PatchId(patch["id"]),
        verdict=Verdict(patch["verdict"]),
        votes=VoteCount(**patch["votes"]),
        reason=patch["reason"],
        coverage=typed_json.read(Coverage, patch["coverage"]),
        probability=patch["probability"],
        score=patch.get("score"),
        rank=patch.get("rank"),
        evidence=None if observed is None else typed_json.read(ObservedEvidence, observed),
        rubric=tuple(typed_json.read(GradedLine, line) for line in patch.get("rubric", ())),
    )
