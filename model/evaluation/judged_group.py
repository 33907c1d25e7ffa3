"""Store what a verifier answered about a labelled group: one line of a run file (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from pydantic import TypeAdapter, ValidationError
from rapidfuzz.distance import Indel

from model.domain import EngineInfo, GroupVerdict, PatchId, Tokens, Verdict, Vote, VoteCount
from model.errors import BadDiff
from model.evaluation.gyms.suite_worth import TestSetWorth
from model.evaluation.labelled_group import LabelledGroup
from model.patches import diff
from model.voting.selection import fingerprint_edit


@dataclass(frozen=True, slots=True)
class JudgementKey:
    """The key of a judgement in a run file: group, verifier, engine and number of votes.

    A run skips a group whose key is already in its file.
    """

    group: str
    """The `id` of the LabelledGroup."""
    verifier: str
    """Run name of the verifier, with the suffixes of its settings."""
    engine: EngineInfo
    votes: int
    """Votes requested for the group."""


@dataclass(frozen=True, slots=True)
class JudgedPatch:
    """A patch with its label and the verifier's opinion."""

    id: PatchId
    resolved: bool
    """True if the tests of the issue pass with the patch."""
    source: str | None
    also_from: tuple[str, ...]
    edited_lines: int | None
    """Number of added and removed lines; None for a patch that is no unified diff."""
    verdict: Verdict
    score: float | None
    probability: float | None
    votes: VoteCount
    rank: float | None = None
    """Order among rivals, higher is better; None where the belief gives the order."""
    edit: str | None = None
    """Fingerprint of the edit, equal for patches with the same edit. None: unreadable, or an older run file."""
    is_preliminary: bool = False
    """True if the score comes from the shortlist round, so that it must not be compared with other scores."""

    @property
    def belief(self) -> float | None:
        """The patch's probability, or else its uncalibrated score; None if it has neither."""
        return self.score if self.probability is None else self.probability

    @property
    def standing(self) -> float | None:
        """The patch's rank among its rivals, or else its belief; higher is better. None if it has neither."""
        return self.belief if self.rank is None else self.rank


@dataclass(frozen=True, slots=True)
class JudgedGroup:
    """A labelled group with the verdict on each patch and the cost of judging."""

    key: JudgementKey
    instance_id: str
    """Identifier of the issue."""
    repo: str
    language: str | None
    similarity: float | None
    """Mean Indel similarity (0 to 1) over all pairs of diffs; None for a single patch."""
    patches: tuple[JudgedPatch, ...]
    votes: tuple[Vote, ...]
    asked: int
    """Votes requested over all parts of the group; 0 for a verifier that does not vote."""
    tokens: Tokens
    engine_seconds: float
    total_seconds: float
    tests: tuple[TestSetWorth, ...] = ()
    """What the tests that ran tell about the group, for each kind of test; empty for a verifier without tests."""
    schema: Literal["r4p.judged/1"] = "r4p.judged/1"

    @property
    def valid(self) -> int:
        """Number of readable votes on the group."""
        return sum(vote.correct is not None for vote in self.votes)

    def count_forced_votes(self) -> int:
        """Return the number of forced votes: readable only after the reply was continued from an opened box."""
        return sum(vote.correct is not None and vote.forced for vote in self.votes)


def build_judged_group(
    group: LabelledGroup, verdict: GroupVerdict, key: JudgementKey, *, calibrated: bool = False
) -> JudgedGroup:
    """Combine the labels of `group` with the verdict on it, for storage under `key`.

    With `calibrated`, a patch without a probability also loses its score, so that all beliefs are probabilities. Raises
    KeyError when the verdict lacks a patch of the group.
    """
    opinions = {patch.id: patch for patch in verdict.patches}
    patches = []
    for patch in group.patches:
        opinion = opinions[patch.patch.id]
        patches.append(
            JudgedPatch(
                id=patch.patch.id,
                resolved=patch.resolved,
                source=patch.source,
                also_from=patch.also_from,
                edited_lines=_count_edited_lines(patch.patch.diff),
                verdict=opinion.verdict,
                score=None if calibrated and opinion.probability is None else opinion.score,
                probability=opinion.probability,
                votes=opinion.votes,
                rank=opinion.rank,
                edit=fingerprint_edit(patch.patch.diff),
                is_preliminary=opinion.is_preliminary,
            )
        )
    return JudgedGroup(
        key=key,
        instance_id=group.instance_id,
        repo=group.repo,
        language=group.language,
        similarity=_compute_similarity([patch.patch.diff for patch in group.patches]),
        patches=tuple(patches),
        votes=verdict.votes,
        asked=verdict.asked,
        tokens=verdict.tokens,
        engine_seconds=verdict.engine_seconds,
        total_seconds=verdict.total_seconds,
    )


def dump_line(group: JudgedGroup) -> bytes:
    """Return a judged group as one line of an evaluation's results file: JSON in bytes, without the line break."""
    return _LINES.dump_json(group)


def parse_line(line: bytes) -> JudgedGroup:
    """Parse one JSON line of an evaluation's results file as a judged group. Raises ValueError for other content."""
    try:
        return _LINES.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the line"
        raise ValueError(f"{place}: {first['msg']}") from error


_LINES = TypeAdapter(JudgedGroup)


def _count_edited_lines(text: str) -> int | None:
    try:
        return diff.count_edited_lines(text)
    except BadDiff:
        return None


def _compute_similarity(diffs: Sequence[str]) -> float | None:
    pairs = [Indel.normalized_similarity(first, second) for first, second in combinations(diffs, 2)]
    return sum(pairs) / len(pairs) if pairs else None
