"""This module sends seatings to the engine and turns each reply into a vote."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from model.domain import PatchId, Tokens, Vote
from model.errors import Cancelled, EngineError, UnreadableAnswer
from model.protocols import Completion, Engine, Request
from model.voting.boxed_answer import drop_open_box
from model.voting.grouping import Seating
from model.voting.reply_form import BOX, ReplyForm
from model.voting.votes import ENGINE_FAILED

_OPENED_BOX = "\n\n\\boxed{"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How replies are sampled. The server of R4P's authors samples five votes at temperature 1."""

    max_tokens: int = 2048
    temperature: float = 1.0
    forced_tokens: int = 16
    """Token limit for closing an opened box."""
    batch: int = 16
    """Requests per call of the engine. Between batches the verifier reports progress and can be cancelled."""
    stop_early: bool = False
    """Skip votes that can no longer change a verdict. Shares of fewer votes are coarser to calibrate."""


@dataclass(frozen=True, slots=True)
class VoteRequest:
    """The request to the engine for one vote, with the patch on each seat of its prompt."""

    seats: Seating
    request: Request
    is_single_choice: bool = False
    """The box must name exactly one patch."""
    form: ReplyForm = BOX
    """The form of the answer."""


class VoteSampler:
    """Sampler of the votes for one verdict. It counts the tokens and seconds of its engine calls."""

    def __init__(self, engine: Engine, sampling: Sampling, keep_going: Callable[[], bool]) -> None:
        self._engine = engine
        self._sampling = sampling
        self._keep_going = keep_going
        self.tokens = Tokens()
        self.seconds = 0.0

    def cast(self, pending: Sequence[VoteRequest]) -> list[Vote]:
        """Send the `pending` vote requests to the engine, and return one vote per request, in order.

        A reply that stopped before its boxed answer is continued once from an opened box.
        """
        first = self.complete([wanted.request for wanted in pending])
        boxless = {
            number: replace(
                wanted.request,
                max_tokens=self._sampling.forced_tokens,
                prefill=drop_open_box(answer.text) + _OPENED_BOX,
            )
            for number, (wanted, answer) in enumerate(zip(pending, first, strict=True))
            if isinstance(answer, Completion) and not wanted.form.is_answered(answer.text)
        }
        forced = dict(zip(boxless, self.complete(list(boxless.values())), strict=True))
        return [
            _build_forced_vote(wanted, boxless[number].prefill or "", forced[number])
            if number in forced
            else _build_vote(wanted, answer)
            for number, (wanted, answer) in enumerate(zip(pending, first, strict=True))
        ]

    def complete(self, requests: list[Request]) -> list[Completion | EngineError]:
        """Send requests to the engine and return one answer per request, in order. Counts tokens and seconds.

        Raises Cancelled when the caller's `keep_going` returns False.
        """
        if not self._keep_going():
            raise Cancelled("newer work replaced this verdict")
        if not requests:
            return []
        started = time.monotonic()
        answers = [_clean(answer) for answer in self._engine.complete(requests)]
        self.seconds += time.monotonic() - started
        for answer in answers:
            if isinstance(answer, Completion):
                self.tokens = Tokens(
                    self.tokens.prompt + answer.prompt_tokens,
                    self.tokens.cached + answer.cached_tokens,
                    self.tokens.completion + answer.completion_tokens,
                )
        return answers


def _clean(answer: Completion | EngineError) -> Completion | EngineError:
    """Replace NUL and lone surrogates, which neither a database nor a request accepts."""
    if isinstance(answer, EngineError):
        return answer
    text = answer.text.replace("\0", "\ufffd").encode(errors="replace").decode()
    return replace(answer, text=text)


def _build_vote(wanted: VoteRequest, answer: Completion | EngineError) -> Vote:
    if isinstance(answer, EngineError):
        return Vote(
            wanted.request.seed, wanted.seats, None, "", failure=f"{ENGINE_FAILED}: {answer}"
        )
    return _read_vote(wanted, answer.text, forced=False)


def _build_forced_vote(wanted: VoteRequest, prefill: str, answer: Completion | EngineError) -> Vote:
    if isinstance(answer, EngineError):
        failure = f"{ENGINE_FAILED} when asked for a box: {answer}"
        return Vote(wanted.request.seed, wanted.seats, None, prefill, forced=True, failure=failure)
    # text after the box is not part of the answer
    inside, closing, _ = answer.text.partition("}")
    return _read_vote(wanted, prefill + inside + closing, forced=True)


def _read_vote(wanted: VoteRequest, reply: str, *, forced: bool) -> Vote:
    try:
        correct = _read_patches(wanted, reply)
    except UnreadableAnswer as error:
        return Vote(wanted.request.seed, wanted.seats, None, reply, forced, failure=str(error))
    return Vote(wanted.request.seed, wanted.seats, correct, reply, forced)


def _read_patches(wanted: VoteRequest, reply: str) -> frozenset[PatchId]:
    """Return the patches that the reply holds correct. Raises UnreadableAnswer."""
    occupied = [number for number, seat in enumerate(wanted.seats, 1) if seat]
    numbers = wanted.form.read(reply, occupied)
    if wanted.is_single_choice and len(numbers) != 1:
        raise UnreadableAnswer(f"the box names {len(numbers)} patches instead of one")
    return frozenset(
        seat for number, seat in enumerate(wanted.seats, 1) if seat and number in numbers
    )
