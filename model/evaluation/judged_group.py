"""What a verifier said of a labelled group, kept with the truth: one line of a run file (pure)."""

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
from model.voting.selection import edit_of


@dataclass(frozen=True, slots=True)
class Key:
    """What makes two judgements the same piece of work: done once, it is not done again."""

    group: str
    """`LabelledGroup.id`."""
    verifier: str
    engine: EngineInfo
    votes: int


@dataclass(frozen=True, slots=True)
class JudgedPatch:
    """A patch, the truth about it, and what was said."""

    id: PatchId
    resolved: bool
    source: str | None
    also_from: tuple[str, ...]
    edited_lines: int | None
    """None for what is no unified diff."""
    verdict: Verdict
    score: float | None
    probability: float | None
    votes: VoteCount
    rank: float | None = None
    """What orders it among its rivals where that is not the belief."""
    edit: str | None = None
    """The same for patches that make the same edit; None for an unreadable one, and in run files that do not tell."""
    is_preliminary: bool = False
    """Its score is that of who drew up the shortlist."""

    @property
    def belief(self) -> float | None:
        """The probability of being correct, or the uncalibrated score in its stead; None: no opinion."""
        return self.score if self.probability is None else self.probability

    @property
    def standing(self) -> float | None:
        """What orders it among its rivals, the higher the better; None: no opinion."""
        return self.belief if self.rank is None else self.rank


@dataclass(frozen=True, slots=True)
class JudgedGroup:
    """A labelled group with the verdict on it, and what that cost."""

    key: Key
    instance_id: str
    repo: str
    language: str | None
    similarity: float | None
    """Mean Indel similarity (0…1) of each two diffs; None for a single patch."""
    patches: tuple[JudgedPatch, ...]
    votes: tuple[Vote, ...]
    asked: int
    """Votes asked for, over all parts of the group; 0 for a verifier that does not vote."""
    tokens: Tokens
    engine_seconds: float
    total_seconds: float
    schema: Literal["r4p.judged/1"] = "r4p.judged/1"

    @property
    def valid(self) -> int:
        """Votes that could be read."""
        return sum(vote.correct is not None for vote in self.votes)

    @property
    def forced(self) -> int:
        """Votes that could be read only after the reply was continued from an opened box."""
        return sum(vote.correct is not None and vote.forced for vote in self.votes)


def judged(
    group: LabelledGroup, verdict: GroupVerdict, key: Key, *, calibrated: bool = False
) -> JudgedGroup:
    """Truth and opinion side by side. Raises KeyError when the verdict lacks a patch of the group.

    `calibrated`: a calibrator was asked, and what it gave no probability is no belief: beliefs are of one kind.
    """
    said = {one.id: one for one in verdict.patches}
    patches = []
    for one in group.patches:
        opinion = said[one.patch.id]
        patches.append(
            JudgedPatch(
                id=one.patch.id,
                resolved=one.resolved,
                source=one.source,
                also_from=one.also_from,
                edited_lines=_edited_lines(one.patch.diff),
                verdict=opinion.verdict,
                score=None if calibrated and opinion.probability is None else opinion.score,
                probability=opinion.probability,
                votes=opinion.votes,
                rank=opinion.rank,
                edit=edit_of(one.patch.diff),
                is_preliminary=opinion.is_preliminary,
            )
        )
    return JudgedGroup(
        key=key,
        instance_id=group.instance_id,
        repo=group.repo,
        language=group.language,
        similarity=_similarity([one.patch.diff for one in group.patches]),
        patches=tuple(patches),
        votes=verdict.votes,
        asked=verdict.asked,
        tokens=verdict.tokens,
        engine_seconds=verdict.engine_seconds,
        total_seconds=verdict.total_seconds,
    )


def to_line(group: JudgedGroup) -> bytes:
    """One JSON object without a line break."""
    return _LINES.dump_json(group)


def from_line(line: bytes) -> JudgedGroup:
    """What `to_line` wrote. Raises ValueError for anything else."""
    try:
        return _LINES.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the line"
        raise ValueError(f"{place}: {first['msg']}") from error


_LINES = TypeAdapter(JudgedGroup)


def _edited_lines(text: str) -> int | None:
    try:
        return diff.edited_lines(text)
    except BadDiff:
        return None


def _similarity(diffs: Sequence[str]) -> float | None:
    pairs = [Indel.normalized_similarity(one, other) for one, other in combinations(diffs, 2)]
    return sum(pairs) / len(pairs) if pairs else None
