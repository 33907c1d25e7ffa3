"""R4P: the patches of one issue judged against each other, by votes over shuffled seats (R4P, section 3)."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self

from model import votes as counting
from model.admission import Admitted, Refused, admit
from model.diff import parse
from model.domain import (
    Coverage,
    EngineInfo,
    GroupVerdict,
    Issue,
    Patch,
    PatchId,
    PatchVerdict,
    Verdict,
    Vote,
    VoteCount,
)
from model.errors import BadDiff
from model.grouping import SEATS, Candidate, Seating, plans, share_seats
from model.prompts import Template
from model.prompts.untrusted import safe_issue
from model.protocols import Engine, Request
from model.verifiers.ballots import Ballot, Run, Sampling

_CHAT_MARGIN = 64
"""Tokens for the chat template's own marks, and for texts that count differently joined than apart."""


@dataclass(frozen=True, slots=True)
class _Group:
    """What is judged together, as the model sees it."""

    issue: str
    texts: dict[PatchId, str]
    """The patches that sit, of equal edits only the first."""
    sitting: tuple[Candidate, ...]
    shared: dict[PatchId, PatchId]
    """Each admitted patch's representative on the seats."""
    seed: int

    @classmethod
    def of(cls, issue: str, admitted: Sequence[Admitted]) -> Self:
        shared = share_seats([case.candidate for case in admitted])
        texts = {
            case.candidate.id: case.text
            for case in admitted
            if shared[case.candidate.id] == case.candidate.id
        }
        sitting = tuple(case.candidate for case in admitted if case.candidate.id in texts)
        return cls(
            issue, texts, sitting, shared, _seed(issue, *sorted(c.fingerprint for c in sitting))
        )

    def plans(self) -> Iterator[tuple[Seating, ...]]:
        """Who sits where, vote after vote, without end."""
        return plans(self.sitting, self.seed)


class R4PVerifier:
    """Judges the candidates of one issue against each other through an engine; keeps nothing between calls."""

    def __init__(
        self, engine: Engine, template: Template, sampling: Sampling | None = None
    ) -> None:
        self._engine = engine
        self._template = template
        self._sampling = sampling or Sampling()

    @property
    def engine(self) -> EngineInfo:
        """Who will speak: votes of one engine, one model and one wording may be counted together."""
        return EngineInfo(self._engine.name, self._engine.model, self._template.fingerprint)

    def verify(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        *,
        votes: int,
        earlier: Sequence[Vote] = (),
        on_vote: Callable[[int, int], None] = lambda _done, _asked: None,
        keep_going: Callable[[], bool] = lambda: True,
    ) -> GroupVerdict:
        """The verdict of `votes` more votes, each over every part of the group, and of the `earlier` ones.

        Seeds and seats follow from the issue and the patches alone: with the votes of `earlier` runs on the same
        texts, those that come next are asked for, and all of them count. A reply without a box is continued once
        from an opened one; a failed request or an unreadable reply is no vote. Raises EngineDown, Superseded
        when `keep_going` says no, and ValueError for two candidates with one id.
        """
        if len({patch.id for patch in candidates}) < len(candidates):
            raise ValueError("two candidates have the same id; give each its own")
        started = time.monotonic()
        issue_text = safe_issue(issue.text).text
        cases = self._cases(issue_text, candidates)
        group = _Group.of(issue_text, [case for case in cases if isinstance(case, Admitted)])
        ballots = self._ballots(group, votes, {vote.seed for vote in earlier})
        run = Run(self._engine, self._sampling, keep_going)
        new: list[Vote] = []
        for start in range(0, len(ballots), self._sampling.batch):
            new += run.cast(ballots[start : start + self._sampling.batch])
            on_vote(len(new), len(ballots))
        cast = (*earlier, *new)
        return GroupVerdict(
            patches=tuple(_verdict(case, group, cast, votes, len(earlier)) for case in cases),
            engine=self.engine,
            votes=cast,
            asked=len(cast),
            partition=tuple(_occupants(seats) for seats in next(group.plans())),
            tokens=run.tokens,
            engine_seconds=run.seconds,
            total_seconds=time.monotonic() - started,
        )

    def _cases(
        self, issue_text: str, candidates: Sequence[Patch]
    ) -> tuple[Admitted | Refused, ...]:
        count = self._engine.count_tokens
        skeleton = self._template.render(issue="", patches=("",) * SEATS)
        fixed = sum(count(message.content) for message in skeleton) + _CHAT_MARGIN
        reply = self._sampling.max_tokens + self._sampling.forced_tokens
        issue_tokens = count(issue_text)
        room = self._engine.context_tokens - fixed - reply - issue_tokens
        if room > 0:
            return admit(candidates, room, count)
        reason = (
            f"Not judged: the issue alone needs {issue_tokens:,} tokens, and of the engine's "
            f"{self._engine.context_tokens:,} only {max(0, room + issue_tokens):,} are free for issue and patches"
        )
        return tuple(Refused(patch.id, reason, _unseen(patch)) for patch in candidates)

    def _ballots(self, group: "_Group", votes: int, taken: set[int]) -> list[Ballot]:
        """The ballots of the next `votes` votes, leaving out those whose seeds an earlier run has used."""
        if not group.texts:
            return []
        rounds = (
            [
                Ballot(seats, self._request(group, seats, _seed(f"{group.seed} {vote} {part}")))
                for part, seats in enumerate(plan)
            ]
            for vote, plan in enumerate(group.plans())
        )
        fresh = (
            ballots
            for ballots in rounds
            if taken.isdisjoint(ballot.request.seed for ballot in ballots)
        )
        return [ballot for ballots in islice(fresh, votes) for ballot in ballots]

    def _request(self, group: "_Group", seats: Seating, seed: int) -> Request:
        patches = [group.texts[seat] if seat else "" for seat in seats]
        return Request(
            messages=self._template.render(issue=group.issue, patches=patches),
            max_tokens=self._sampling.max_tokens,
            temperature=self._sampling.temperature,
            seed=seed,
        )


def _verdict(
    case: Admitted | Refused, group: _Group, cast: Sequence[Vote], new: int, earlier: int
) -> PatchVerdict:
    if isinstance(case, Refused):
        return PatchVerdict(case.id, Verdict.NOT_JUDGED, VoteCount(), case.reason, case.coverage)
    patch = case.candidate.id
    seat = group.shared[patch]
    about_it_before = sum(seat in vote.seats for vote in cast[:earlier])
    count = counting.tally(cast, seat, about_it_before + new)
    reason = counting.explain(cast, seat, count)
    if seat != patch:
        reason = f"The same edit as {seat}. {reason}"
    return PatchVerdict(
        patch, counting.decide(count), count, reason, case.coverage, score=count.share
    )


def _occupants(seats: Seating) -> tuple[PatchId, ...]:
    return tuple(seat for seat in seats if seat)


def _unseen(patch: Patch) -> Coverage:
    try:
        return Coverage(len(parse(patch.diff)), 0)
    except BadDiff:
        return Coverage(0, 0)


def _seed(*parts: str) -> int:
    """31 bits, which every engine takes, from what the vote is about."""
    digest = hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:4]) >> 1
