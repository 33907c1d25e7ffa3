"""R4P: the patches of one issue judged against each other, by votes over shuffled seats (R4P, section 3)."""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from model import votes as counting
from model.admission import Admitted, Refused, admit
from model.answers import box_content, read_box, without_open_box
from model.diff import parse
from model.domain import (
    Coverage,
    EngineInfo,
    GroupVerdict,
    Issue,
    Patch,
    PatchId,
    PatchVerdict,
    Tokens,
    Verdict,
    Vote,
    VoteCount,
)
from model.errors import BadDiff, EngineError, Superseded, UnreadableAnswer
from model.grouping import SEATS, Seating, plans_of_votes, share_seats
from model.prompts import Template
from model.prompts.untrusted import safe_issue
from model.protocols import Completion, Engine, Request

_CHAT_MARGIN = 64
"""Tokens for the chat template's own marks, and for texts that count differently joined than apart."""
_OPENED_BOX = "\n\n\\boxed{"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How votes are drawn. The paper's servers vote five times at temperature 1."""

    max_tokens: int = 2048
    temperature: float = 1.0
    forced_tokens: int = 16
    """For closing a box that was opened for the reply."""
    batch: int = 16
    """Requests handed to the engine at once; between batches progress is told and the work can be called off."""


@dataclass(frozen=True, slots=True)
class _Ballot:
    """One seating to be judged once."""

    seats: Seating
    request: Request


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
        """The verdict of `votes` votes, each over every part of the group.

        Seeds and seats follow from the issue and the patches alone: with the votes of `earlier` runs on the same
        texts, those that come after them are asked for, and all of them count. A reply without a box is continued once from an opened one; a failed
        request or an unreadable reply is no vote. Raises EngineDown, Superseded when `keep_going` says no, and
        ValueError for two candidates with one id.
        """
        if len({patch.id for patch in candidates}) < len(candidates):
            raise ValueError("two candidates have the same id; give each its own")
        started = time.monotonic()
        issue_text = safe_issue(issue.text).text
        cases = self._cases(issue_text, candidates)
        admitted = [case for case in cases if isinstance(case, Admitted)]
        shared = share_seats([case.candidate for case in admitted])
        sitting = [case for case in admitted if shared[case.candidate.id] == case.candidate.id]
        seed = _seed(issue_text, *sorted(case.candidate.fingerprint for case in sitting))
        seated = [case.candidate for case in sitting]
        parts = len(plans_of_votes(seated, seed, first=0, count=1)[0]) if sitting else 1
        first_vote = len(earlier) // parts
        plans = plans_of_votes(seated, seed, first=first_vote, count=votes if sitting else 0)
        texts = {case.candidate.id: case.text for case in sitting}
        ballots = [
            _Ballot(
                seats,
                self._request(issue_text, texts, seats, _seed(str(seed), str(vote), str(part))),
            )
            for vote, plan in enumerate(plans, first_vote)
            for part, seats in enumerate(plan)
        ]
        run = _Run(self._engine, self._sampling, keep_going)
        cast = list(earlier)
        for start in range(0, len(ballots), self._sampling.batch):
            cast += run.cast(ballots[start : start + self._sampling.batch])
            on_vote(len(cast) - len(earlier), len(ballots))
        return GroupVerdict(
            patches=tuple(_verdict(case, shared, cast, first_vote + votes) for case in cases),
            engine=self.engine,
            votes=tuple(cast),
            asked=len(earlier) + len(ballots),
            partition=tuple(_occupants(seats) for seats in plans[0]) if plans else (),
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

    def _request(self, issue: str, texts: dict[PatchId, str], seats: Seating, seed: int) -> Request:
        patches = [texts[seat] if seat else "" for seat in seats]
        return Request(
            messages=self._template.render(issue=issue, patches=patches),
            max_tokens=self._sampling.max_tokens,
            temperature=self._sampling.temperature,
            seed=seed,
        )


class _Run:
    """The engine calls of one verdict, with what they cost."""

    def __init__(self, engine: Engine, sampling: Sampling, keep_going: Callable[[], bool]) -> None:
        self._engine = engine
        self._sampling = sampling
        self._keep_going = keep_going
        self.tokens = Tokens()
        self.seconds = 0.0

    def cast(self, ballots: Sequence[_Ballot]) -> list[Vote]:
        """One vote per ballot, in order; replies without a box get one more chance."""
        first = self._complete([ballot.request for ballot in ballots])
        boxless = {
            at: replace(
                ballot.request,
                max_tokens=self._sampling.forced_tokens,
                prefill=without_open_box(answer.text) + _OPENED_BOX,
            )
            for at, (ballot, answer) in enumerate(zip(ballots, first, strict=True))
            if isinstance(answer, Completion) and box_content(answer.text) is None
        }
        forced = dict(zip(boxless, self._complete(list(boxless.values())), strict=True))
        return [
            _forced_vote(ballot, boxless[at].prefill or "", forced[at])
            if at in forced
            else _vote(ballot, answer)
            for at, (ballot, answer) in enumerate(zip(ballots, first, strict=True))
        ]

    def _complete(self, requests: list[Request]) -> list[Completion | EngineError]:
        if not self._keep_going():
            raise Superseded("newer work replaced this verdict")
        if not requests:
            return []
        started = time.monotonic()
        answers = self._engine.complete(requests)
        self.seconds += time.monotonic() - started
        for answer in answers:
            if isinstance(answer, Completion):
                self.tokens = Tokens(
                    self.tokens.prompt + answer.prompt_tokens,
                    self.tokens.cached + answer.cached_tokens,
                    self.tokens.completion + answer.completion_tokens,
                )
        return answers


def _vote(ballot: _Ballot, answer: Completion | EngineError) -> Vote:
    if isinstance(answer, EngineError):
        return Vote(
            ballot.request.seed, ballot.seats, None, "", failure=f"the engine failed: {answer}"
        )
    return _read(ballot, answer.text, forced=False)


def _forced_vote(ballot: _Ballot, prefill: str, answer: Completion | EngineError) -> Vote:
    if isinstance(answer, EngineError):
        failure = f"no box, and the engine failed when asked for one: {answer}"
        return Vote(ballot.request.seed, ballot.seats, None, prefill, forced=True, failure=failure)
    inside, closing, _ = answer.text.partition(
        "}"
    )  # what follows the box is a new thought, not the answer
    return _read(ballot, prefill + inside + closing, forced=True)


def _read(ballot: _Ballot, reply: str, *, forced: bool) -> Vote:
    seats = ballot.seats
    try:
        boxed = read_box(reply, [number for number, seat in enumerate(seats, 1) if seat])
    except UnreadableAnswer as error:
        return Vote(ballot.request.seed, seats, None, reply, forced, failure=str(error))
    correct = frozenset(seat for number, seat in enumerate(seats, 1) if seat and number in boxed)
    return Vote(ballot.request.seed, seats, correct, reply, forced)


def _verdict(
    case: Admitted | Refused, shared: dict[PatchId, PatchId], cast: Sequence[Vote], asked: int
) -> PatchVerdict:
    if isinstance(case, Refused):
        return PatchVerdict(case.id, Verdict.NOT_JUDGED, VoteCount(), case.reason, case.coverage)
    patch = case.candidate.id
    seat = shared[patch]
    count = counting.tally(cast, seat, asked)
    reason = counting.explain(cast, seat, count)
    if seat != patch:
        reason = f"The same edit as {seat}. {reason}"
    return PatchVerdict(patch, counting.decide(count), count, reason, case.coverage)


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
