"""Store what a verifier answered about a labelled group: one line of a run file (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from pydantic import TypeAdapter, ValidationError
from rapidfuzz.distance import Indel

from model.domain import EngineInfo, GroupVerdict, PatchId, Tokens, Verdict, Vote, VoteCount
from model.errors import BadDiff
from model.evaluation.labelled_group import LabelledGroup
from model.patches import diff
from model.voting.selection import fingerprint_edit


@dataclass(frozen=True, slots=True)
class JudgementKey:
    """What identifies a judgement: group, verifier, engine and votes.

    A judgement with a known key is not made again.
    """

    group: str
    """The `id` of the LabelledGroup."""
    verifier: str
    engine: EngineInfo
    votes: int


@dataclass(frozen=True, slots=True)
class JudgedPatch:
    """A patch with its label and the verifier's opinion."""

    id: PatchId
    resolved: bool
    source: str | None
    also_from: tuple[str, ...]
    edited_lines: int | None
    """None for a patch that is no unified diff."""
    verdict: Verdict
    score: float | None
    probability: float | None
    votes: VoteCount
    rank: float | None = None
    """The order among rivals, where it differs from the belief."""
    edit: str | None = None
    """Equal for patches that make the same edit; None for an unreadable patch and in older run files."""
    is_preliminary: bool = False
    """The score comes from the verifier that made the shortlist."""

    @property
    def belief(self) -> float | None:
        """The probability, or else the uncalibrated score; None without an opinion."""
        return self.score if self.probability is None else self.probability

    @property
    def standing(self) -> float | None:
        """The rank, or else the belief; a higher standing is better. None without an opinion."""
        return self.belief if self.rank is None else self.rank


@dataclass(frozen=True, slots=True)
class JudgedGroup:
    """A labelled group with its verdict and the cost of the verdict."""

    key: JudgementKey
    instance_id: str
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
    schema: Literal["r4p.judged/1"] = "r4p.judged/1"

    @property
    def valid(self) -> int:
        """Number of readable votes."""
        return sum(vote.correct is not None for vote in self.votes)

    @property
    def forced(self) -> int:
        """Number of votes that became readable only after the reply was continued from an opened box."""
        return sum(vote.correct is not None and vote.forced for vote in self.votes)


def build_judged_group(
    group: LabelledGroup, verdict: GroupVerdict, key: JudgementKey, *, calibrated: bool = False
) -> JudgedGroup:
    """Combine the labels of a group with the verdict on it.

    Raises KeyError when the verdict lacks a patch of the group. With `calibrated`, a patch without a
    probability gets no belief, so that all beliefs are of one kind.
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
    """Write a judged group as one line of a run file, without the line break."""
    return _LINES.dump_json(group)


def parse_line(line: bytes) -> JudgedGroup:
    """Parse a judged group from a line of a run file.

    Raises ValueError for anything that `dump_line` does not write.
    """
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
