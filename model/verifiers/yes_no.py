"""Yes or no: how likely the engine holds YES to be the answer about one patch (R2E-Gym's execution-free verifier)."""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from model.domain import (
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
from model.errors import EngineDown, EngineError
from model.prompts.prompt_template import Template
from model.prompts.untrusted import safe_patch
from model.protocols import Completion, Engine, Request, Token
from model.verifiers.admission import Admitted, Refused, Rules
from model.verifiers.prompt_builder import (
    Desk,
    Group,
    KeepGoing,
    OnVote,
    mixed_fingerprint,
    noted,
    seed_of,
)
from model.verifiers.vote_sampling import Run
from model.verifiers.voting_verifier import Judging, for_twin, refused
from model.voting.votes import ENGINE_FAILED
from model.voting.yes_no_probability import ALTERNATIVES, belief, locate

REPLY_TOKENS = 16
_OPENED = "\n\nIn one word, YES or NO:"
_BY_TEXT_ALONE = "No trajectory is known, so it was judged by its text alone"
_ABSTAINED = "neither YES nor NO is among the likeliest words"


@dataclass(frozen=True, slots=True)
class _Opinion:
    """What one reply amounts to."""

    vote: Vote
    belief: float | None


class YesNoVerifier:
    """Reads P(YES) off the log-probabilities of the verdict's token, one patch at a time.

    The answer to a prompt is certain, so it is asked once however many votes are wanted.
    """

    def __init__(
        self,
        engine: Engine,
        template: Template,
        judging: Judging | None = None,
        *,
        trajectories: bool = False,
    ) -> None:
        """`trajectories`: show how a patch came about, where that is known. Words that flatter are shown with it.

        Who has none is judged as without, and the reason says so.
        """
        self._engine = engine
        self._template = template
        self._judging = judging or Judging()
        self._salt = ["yes-no", *(["trajectories"] if trajectories else [])]
        self._trajectories = trajectories
        rules = Rules(1, self._judging.edited_lines)
        self._desk = Desk(engine, template, 2 * REPLY_TOKENS, rules)

    @property
    def engine(self) -> EngineInfo:
        """Who will speak."""
        fingerprint = mixed_fingerprint(self._template.fingerprint, *self._salt)
        return EngineInfo(self._engine.name, self._engine.model, fingerprint)

    def verify(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        *,
        votes: int,
        earlier: Sequence[Vote] = (),
        on_vote: OnVote = lambda _done, _asked: None,
        keep_going: KeepGoing = lambda: True,
    ) -> GroupVerdict:
        """The verdict by P(YES); unsure, without a score, where the engine fails or says neither word.

        `votes` and `earlier` change nothing: the same question has the same answer. Raises EngineDown, also for an
        engine that gives no log-probabilities, Superseded when `keep_going` says no, and ValueError for two
        candidates with one id.
        """
        del votes
        started = time.monotonic()
        group, records = self._group(issue, candidates)
        run = Run(self._engine, self._judging.sampling, keep_going)
        opinions: dict[PatchId, _Opinion] = {}
        sitting = [one.id for one in group.sitting]
        for batch in _batches(sitting, self._judging.sampling.batch):
            requests = {one: self._request(group, one, records.get(one, "")) for one in batch}
            opinions |= self._ask(run, requests)
            on_vote(len(opinions), len(sitting))
        known = {(vote.seed, vote.seats) for vote in earlier}
        said = (opinion.vote for opinion in opinions.values())
        cast = (*earlier, *(vote for vote in said if (vote.seed, vote.seats) not in known))
        return GroupVerdict(
            patches=tuple(
                noted(case, self._verdict(case, group, opinions, records)) for case in group.cases
            ),
            engine=self.engine,
            votes=cast,
            asked=len(cast),
            partition=tuple((one,) for one in sitting),
            tokens=run.tokens,
            engine_seconds=run.seconds,
            total_seconds=time.monotonic() - started,
        )

    def _group(
        self, issue: Issue, candidates: Sequence[Patch]
    ) -> tuple[Group, Mapping[PatchId, str]]:
        """The group, and the record of each patch that has one to show."""
        text, cases = self._desk.cases(issue, candidates)
        records = {
            patch.id: safe_patch((patch.trajectory or "").strip("\n")).text
            for patch in candidates
            if self._trajectories and (patch.trajectory or "").strip()
        }
        room = self._desk.room(text)
        fitting = tuple(self._with_record(case, records, room) for case in cases)
        return Group.of(text, fitting, *self._salt), records

    def _with_record(
        self, case: Admitted | Refused, records: Mapping[PatchId, str], room: int
    ) -> Admitted | Refused:
        """The case of a patch with its record: another record makes it another candidate, a long one none."""
        if isinstance(case, Refused) or case.candidate.id not in records:
            return case
        record = records[case.candidate.id]
        needed = self._engine.count_tokens(case.text) + self._engine.count_tokens(record)
        if needed > room:
            reason = (
                f"Not judged: the patch and its trajectory need {needed:,} tokens, "
                f"and the verifier has room for {room:,}"
            )
            return Refused(case.candidate.id, reason, replace(case.coverage, files_seen=0))
        print_ = case.candidate.fingerprint + hashlib.sha256(record.encode()).hexdigest()
        return replace(case, candidate=replace(case.candidate, fingerprint=print_))

    def _request(self, group: Group, patch: PatchId, record: str) -> Request:
        text = group.texts[patch]
        return Request(
            messages=self._template.render(issue=group.issue, patches=(text,), trajectory=record),
            max_tokens=REPLY_TOKENS,
            temperature=0.0,
            seed=seed_of(f"{group.seed}", text, record),
            alternatives=ALTERNATIVES,
        )

    def _ask(self, run: Run, requests: Mapping[PatchId, Request]) -> dict[PatchId, _Opinion]:
        """What is thought of each patch; who does not say YES or NO is asked once more, for the word alone."""
        answers = dict(zip(requests, self._complete(run, list(requests.values())), strict=True))
        again = {
            one: replace(requests[one], prefill=answer.text + _OPENED)
            for one, answer in answers.items()
            if isinstance(answer, Completion) and _verdict_token(answer) is None
        }
        forced = dict(zip(again, self._complete(run, list(again.values())), strict=True))
        return {
            one: _opinion(one, again.get(one, request), forced.get(one, answers[one]))
            for one, request in requests.items()
        }

    def _complete(self, run: Run, requests: list[Request]) -> list[Completion | EngineError]:
        answers = run.complete(requests)
        spoken = [one for one in answers if isinstance(one, Completion) and one.text]
        if spoken and not any(one.tokens for one in spoken):
            raise EngineDown(
                f"engine {self._engine.name} ({self._engine.model}) gives no log-probabilities, which yes-no "
                "reads; use an engine that does, or another verifier"
            )
        return answers

    def _verdict(
        self,
        case: Admitted | Refused,
        group: Group,
        opinions: Mapping[PatchId, _Opinion],
        records: Mapping[PatchId, str],
    ) -> PatchVerdict:
        if isinstance(case, Refused):
            return refused(case)
        patch = case.candidate.id
        seat = group.shared[patch]
        opinion = opinions[seat]
        verdict = self._judging.thresholds.verdict(opinion.belief)
        said = _reason(opinion, verdict)
        if self._trajectories and seat not in records:
            said = f"{_BY_TEXT_ALONE}. {said}"
        reason = for_twin(patch, seat, said)
        return PatchVerdict(
            patch, verdict, _count(opinion.vote), reason, case.coverage, score=opinion.belief
        )


def _verdict_token(answer: Completion) -> Token | None:
    """Where a free reply says YES or NO, if it does and the engine weighed either."""
    at = locate(answer.tokens)
    return answer.tokens[at] if at is not None and belief(answer.tokens[at]) is not None else None


def _opinion(patch: PatchId, request: Request, answer: Completion | EngineError) -> _Opinion:
    vote = Vote(request.seed, (patch,), None, "", forced=request.prefill is not None)
    if isinstance(answer, EngineError):
        return _Opinion(replace(vote, failure=f"{ENGINE_FAILED}: {answer}"), None)
    vote = replace(vote, reply=(request.prefill or "") + answer.text)
    token = _verdict_token(answer)
    if token is None and request.prefill is not None:  # the word was due at once, said or not
        token = next(iter(answer.tokens), None)
    chance = belief(token) if token else None
    if chance is None:
        return _Opinion(replace(vote, failure=_ABSTAINED), None)
    return _Opinion(replace(vote, correct=frozenset([patch] if chance >= 0.5 else [])), chance)


def _count(vote: Vote) -> VoteCount:
    if vote.correct is None:
        return VoteCount(none=1)
    return VoteCount(correct=1) if vote.correct else VoteCount(incorrect=1)


def _reason(opinion: _Opinion, verdict: Verdict) -> str:
    if opinion.belief is None:
        why = opinion.vote.failure or ""
        return f"No opinion: {ENGINE_FAILED if why.startswith(ENGINE_FAILED) else why}"
    said = f"The model gives YES {opinion.belief:.0%} against NO"
    return f"{said}; too close to decide" if verdict is Verdict.UNSURE else said


def _batches(patches: Sequence[PatchId], size: int) -> Iterator[Sequence[PatchId]]:
    return (patches[start : start + size] for start in range(0, len(patches), size))
