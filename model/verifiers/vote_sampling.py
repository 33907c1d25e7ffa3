"""Ballots: one seating put to the engine, and the vote that its reply is, or why it is none."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from model.domain import PatchId, Tokens, Vote
from model.errors import EngineError, Superseded, UnreadableAnswer
from model.protocols import Completion, Engine, Request
from model.voting.boxed_answer import box_content, read_box, without_open_box
from model.voting.grouping import Seating
from model.voting.votes import ENGINE_FAILED

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
    stop_early: bool = False
    """Leave out votes that can't change a verdict any more. Shares of fewer votes are coarser to calibrate."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """One seating to be judged once."""

    seats: Seating
    request: Request
    one_only: bool = False
    """The box has to name exactly one patch."""


class Run:
    """The engine calls of one verdict, with what they cost."""

    def __init__(self, engine: Engine, sampling: Sampling, keep_going: Callable[[], bool]) -> None:
        self._engine = engine
        self._sampling = sampling
        self._keep_going = keep_going
        self.tokens = Tokens()
        self.seconds = 0.0

    def cast(self, ballots: Sequence[Ballot]) -> list[Vote]:
        """One vote per ballot, in order; replies without a box get one more chance."""
        first = self.complete([ballot.request for ballot in ballots])
        boxless = {
            at: replace(
                ballot.request,
                max_tokens=self._sampling.forced_tokens,
                prefill=without_open_box(answer.text) + _OPENED_BOX,
            )
            for at, (ballot, answer) in enumerate(zip(ballots, first, strict=True))
            if isinstance(answer, Completion) and box_content(answer.text) is None
        }
        forced = dict(zip(boxless, self.complete(list(boxless.values())), strict=True))
        return [
            _forced_vote(ballot, boxless[at].prefill or "", forced[at])
            if at in forced
            else _vote(ballot, answer)
            for at, (ballot, answer) in enumerate(zip(ballots, first, strict=True))
        ]

    def complete(self, requests: list[Request]) -> list[Completion | EngineError]:
        """One answer per request, in order, counted. Raises Superseded when the work is called off."""
        if not self._keep_going():
            raise Superseded("newer work replaced this verdict")
        if not requests:
            return []
        started = time.monotonic()
        answers = [_storable(answer) for answer in self._engine.complete(requests)]
        self.seconds += time.monotonic() - started
        for answer in answers:
            if isinstance(answer, Completion):
                self.tokens = Tokens(
                    self.tokens.prompt + answer.prompt_tokens,
                    self.tokens.cached + answer.cached_tokens,
                    self.tokens.completion + answer.completion_tokens,
                )
        return answers


def _storable(answer: Completion | EngineError) -> Completion | EngineError:
    """Without NUL and lone surrogates, which neither a database nor a request takes."""
    if isinstance(answer, EngineError):
        return answer
    text = answer.text.replace("\0", "\ufffd").encode(errors="replace").decode()
    return replace(answer, text=text)


def _vote(ballot: Ballot, answer: Completion | EngineError) -> Vote:
    if isinstance(answer, EngineError):
        return Vote(
            ballot.request.seed, ballot.seats, None, "", failure=f"{ENGINE_FAILED}: {answer}"
        )
    return _read(ballot, answer.text, forced=False)


def _forced_vote(ballot: Ballot, prefill: str, answer: Completion | EngineError) -> Vote:
    if isinstance(answer, EngineError):
        failure = f"{ENGINE_FAILED} when asked for a box: {answer}"
        return Vote(ballot.request.seed, ballot.seats, None, prefill, forced=True, failure=failure)
    inside, closing, _ = answer.text.partition(
        "}"
    )  # what follows the box is a new thought, not the answer
    return _read(ballot, prefill + inside + closing, forced=True)


def _read(ballot: Ballot, reply: str, *, forced: bool) -> Vote:
    try:
        correct = _boxed(ballot, reply)
    except UnreadableAnswer as error:
        return Vote(ballot.request.seed, ballot.seats, None, reply, forced, failure=str(error))
    return Vote(ballot.request.seed, ballot.seats, correct, reply, forced)


def _boxed(ballot: Ballot, reply: str) -> frozenset[PatchId]:
    """The patches that the last box names. Raises UnreadableAnswer."""
    numbers = read_box(reply, [number for number, seat in enumerate(ballot.seats, 1) if seat])
    if ballot.one_only and len(numbers) != 1:
        raise UnreadableAnswer(f"the box names {len(numbers)} patches, and one was asked for")
    return frozenset(
        seat for number, seat in enumerate(ballot.seats, 1) if seat and number in numbers
    )
