"""This module prepares a group for the prompt: it admits candidates and counts the tokens that are free for them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Self

from model.domain import Coverage, GroupVerdict, Issue, Patch, PatchId, PatchVerdict, Vote
from model.errors import BadDiff
from model.patches.diff import parse
from model.patches.edits import count_changed_words, measure_overlap
from model.prompts.fingerprint import derive_seed
from model.prompts.prompt_template import Template
from model.prompts.special_tokens import SpecialTokens
from model.prompts.untrusted import escape_issue
from model.protocols import Engine
from model.verifiers.admission import (
    AdmissionResult,
    AdmissionRules,
    AdmittedPatch,
    RefusedPatch,
    admit,
)
from model.voting.grouping import Candidate, Likeness, share_seats

CHAT_MARGIN = 64
"""Tokens for the chat template's own marks, and for texts whose token count grows when they are joined."""

OnVote = Callable[[int, int], None]
KeepGoing = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class CandidateGroup:
    """The candidates of one issue. Candidates with equal edits share a seat."""

    issue: str
    """The issue's text, escaped for the prompt."""
    cases: tuple[AdmissionResult, ...]
    """Every candidate, admitted or refused, in the given order."""
    texts: Mapping[PatchId, str]
    """The texts of the seated patches."""
    seated: tuple[Candidate, ...]
    """The candidates with a seat: of equal edits only the representative."""
    representatives: Mapping[PatchId, PatchId]
    """The representative of each admitted patch."""
    seed: int
    code: str = ""
    """Definitions of the base that the prompt shows, escaped."""

    @classmethod
    def from_cases(cls, issue: str, cases: tuple[AdmissionResult, ...], *salt: str) -> Self:
        """Build a group from `issue`, an issue's escaped text, and `cases`, its admitted and refused patches.

        The group's seed depends on `salt`, the names of a way to judge.
        """
        admitted = [case for case in cases if isinstance(case, AdmittedPatch)]
        shared = share_seats([case.candidate for case in admitted])
        texts = {
            case.candidate.id: case.text
            for case in admitted
            if shared[case.candidate.id] == case.candidate.id
        }
        sitting = tuple(case.candidate for case in admitted if case.candidate.id in texts)
        # a candidate that sits alone must not change the seating and the seeds of the others
        fingerprints = sorted(
            candidate.fingerprint for candidate in sitting if not candidate.sits_alone
        )
        return cls(issue, cases, texts, sitting, shared, derive_seed(*salt, issue, *fingerprints))

    def build_likeness(self) -> Likeness:
        """Return a function of two patch ids that measures how alike these seated patches are, from 0 to 1.

        The function caches its results.
        """
        words = cache(lambda patch: count_changed_words(self.texts[patch]))
        return cache(lambda left, right: measure_overlap(words(left), words(right)))


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """Builder of a group's prompts: an engine, a template, the tokens kept for a reply, and admission rules.

    `values` are the template's variables beside the issue, the patches and the trajectory.
    """

    engine: Engine
    template: Template
    reply_tokens: int
    rules: AdmissionRules
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def texts_to_escape(self) -> SpecialTokens:
        """The texts that untrusted text must not hold: the engine's special tokens and the template's own tags."""
        return self.template.add_delimiters(self.engine.special_tokens)

    def admit(
        self, issue: Issue, candidates: Sequence[Patch]
    ) -> tuple[str, tuple[AdmissionResult, ...]]:
        """Return the issue's escaped text, and each candidate in order, admitted to a prompt or refused.

        Raises ValueError for two candidates with one id.
        """
        if len({patch.id for patch in candidates}) < len(candidates):
            raise ValueError("two candidates have the same id; give each its own")
        tokens = self.texts_to_escape
        text = escape_issue(issue.text, tokens).text
        free, needed = self._count_free(), self.engine.count_tokens(text)
        if free > needed:
            room, count = free - needed, self.engine.count_tokens
            return text, admit(candidates, room, count, self.rules, tokens)
        reason = (
            f"Not judged: the issue alone needs {needed:,} tokens, and of the engine's "
            f"{self.engine.context_tokens:,} only {max(0, free):,} are free for issue and patches"
        )
        return text, tuple(
            RefusedPatch(patch.id, reason, _count_unseen(patch)) for patch in candidates
        )

    def _count_free(self) -> int:
        """Count the tokens that are free for the issue and the patches."""
        empty = {"issue": "", "trajectory": "", "code": "", **self.values}
        skeleton = self.template.render(patches=("",) * self.rules.seats, **empty)
        fixed = sum(self.engine.count_tokens(message.content) for message in skeleton)
        return self.engine.context_tokens - fixed - CHAT_MARGIN - self.reply_tokens


def select_own_votes(
    votes: Sequence[Vote], plan: set[tuple[int, tuple[PatchId | None, ...]]]
) -> list[Vote]:
    """Return the votes whose (seed, seats) pair is in `plan`: the votes that a run of the verifier would ask for."""
    return [vote for vote in votes if (vote.seed, vote.seats) in plan]


def add_note(case: AdmissionResult, verdict: PatchVerdict) -> PatchVerdict:
    """Return the verdict on a patch, with a note in its reason if text around the diff was left out of the prompt."""
    return (
        verdict
        if isinstance(case, RefusedPatch)
        else replace(verdict, reason=case.add_note(verdict.reason))
    )


def index_by_id(verdict: GroupVerdict) -> dict[PatchId, PatchVerdict]:
    """Return the verdict on each patch of a judged group, by patch id."""
    return {patch.id: patch for patch in verdict.patches}


def _count_unseen(patch: Patch) -> Coverage:
    try:
        return Coverage(len(parse(patch.diff)), 0)
    except BadDiff:
        return Coverage(0, 0)
