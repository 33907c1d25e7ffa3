"""What is judged together, as the model sees it: who is let in, and what the prompt has room for."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Self

from model.domain import Coverage, GroupVerdict, Issue, Patch, PatchId, PatchVerdict, Vote
from model.errors import BadDiff
from model.patches.diff import parse
from model.patches.similarity import changed_words, likeness
from model.prompts.prompt_template import Template
from model.prompts.untrusted import safe_issue
from model.protocols import Engine
from model.verifiers.admission import Admitted, Refused, Rules, admit
from model.voting.grouping import Candidate, Likeness, share_seats

_CHAT_MARGIN = 64
"""Tokens for the chat template's own marks, and for texts that count differently joined than apart."""

OnVote = Callable[[int, int], None]
KeepGoing = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Group:
    """The candidates of one issue, those of equal edits on one seat."""

    issue: str
    """Safe to show."""
    cases: tuple[Admitted | Refused, ...]
    """Of every candidate, in the order they came."""
    texts: Mapping[PatchId, str]
    """The patches that sit, of equal edits only the first."""
    sitting: tuple[Candidate, ...]
    shared: Mapping[PatchId, PatchId]
    """Each admitted patch's representative on the seats."""
    seed: int

    @classmethod
    def of(cls, issue: str, cases: tuple[Admitted | Refused, ...], *salt: str) -> Self:
        """The group of those who were let in; `salt` keeps the seeds of two ways to judge it apart."""
        admitted = [case for case in cases if isinstance(case, Admitted)]
        shared = share_seats([case.candidate for case in admitted])
        texts = {
            case.candidate.id: case.text
            for case in admitted
            if shared[case.candidate.id] == case.candidate.id
        }
        sitting = tuple(case.candidate for case in admitted if case.candidate.id in texts)
        # who sits alone must not change in which order, and with which seeds, the others are judged
        prints = sorted(one.fingerprint for one in sitting if not one.solo)
        return cls(issue, cases, texts, sitting, shared, seed_of(*salt, issue, *prints))

    def likeness(self) -> Likeness:
        """How alike two that sit are; worked out when first asked for."""
        words = cache(lambda patch: changed_words(self.texts[patch]))
        return cache(lambda one, other: likeness(words(one), words(other)))


@dataclass(frozen=True, slots=True)
class Desk:
    """An engine with the prompt and the rules it is used by: admits patches and knows how much fits."""

    engine: Engine
    template: Template
    reply_tokens: int
    rules: Rules

    def cases(
        self, issue: Issue, candidates: Sequence[Patch]
    ) -> tuple[str, tuple[Admitted | Refused, ...]]:
        """The issue as it is shown, and each candidate's case. Raises ValueError for two with one id."""
        if len({patch.id for patch in candidates}) < len(candidates):
            raise ValueError("two candidates have the same id; give each its own")
        text = safe_issue(issue.text).text
        free, needed = self._free(), self.engine.count_tokens(text)
        if free > needed:
            return text, admit(candidates, free - needed, self.engine.count_tokens, self.rules)
        reason = (
            f"Not judged: the issue alone needs {needed:,} tokens, and of the engine's "
            f"{self.engine.context_tokens:,} only {max(0, free):,} are free for issue and patches"
        )
        return text, tuple(Refused(patch.id, reason, _unseen(patch)) for patch in candidates)

    def room(self, issue: str) -> int:
        """Tokens that the patches of one prompt may take together beside an issue as it is shown."""
        return self._free() - self.engine.count_tokens(issue)

    def _free(self) -> int:
        """Tokens that issue and patches may take together."""
        skeleton = self.template.render(issue="", patches=("",) * self.rules.seats, trajectory="")
        fixed = sum(self.engine.count_tokens(message.content) for message in skeleton)
        return self.engine.context_tokens - fixed - _CHAT_MARGIN - self.reply_tokens


def own_votes(
    votes: Sequence[Vote], plan: set[tuple[int, tuple[PatchId | None, ...]]]
) -> list[Vote]:
    """Those of the earlier votes that were cast on a plan, given as its seeds and seats."""
    return [vote for vote in votes if (vote.seed, vote.seats) in plan]


def noted(case: Admitted | Refused, verdict: PatchVerdict) -> PatchVerdict:
    """The verdict on a patch, which says what of its text was left out."""
    return (
        verdict
        if isinstance(case, Refused)
        else replace(verdict, reason=case.noted(verdict.reason))
    )


def by_id(verdict: GroupVerdict) -> dict[PatchId, PatchVerdict]:
    """The verdict's patches by their names; never count on their places."""
    return {one.id: one for one in verdict.patches}


def seed_of(*parts: str) -> int:
    """31 bits, which every engine takes, from what a vote is about."""
    digest = hashlib.sha256("\0".join(filter(None, parts)).encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:4]) >> 1


def mixed_fingerprint(*parts: str) -> str:
    """One fingerprint of 12 hex digits for several things that speak together; of one thing its own."""
    return (
        parts[0] if len(parts) == 1 else hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
    )


def _unseen(patch: Patch) -> Coverage:
    try:
        return Coverage(len(parse(patch.diff)), 0)
    except BadDiff:
        return Coverage(0, 0)
