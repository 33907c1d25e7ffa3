"""The yes-no verifier reads the probability of YES about one patch (R2E-Gym's execution-free verifier)."""

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
from model.prompts.fingerprint import combine_fingerprints, derive_seed
from model.prompts.prompt_template import Template
from model.prompts.record import fit_record
from model.protocols import Completion, Engine, PromptReader, Request, Token
from model.verifiers.admission import (
    AdmissionResult,
    AdmissionRules,
    AdmittedPatch,
    RefusedPatch,
)
from model.verifiers.prompt_builder import (
    CHAT_MARGIN,
    CandidateGroup,
    KeepGoing,
    OnVote,
    PromptBuilder,
    add_note,
)
from model.verifiers.vote_sampling import VoteSampler
from model.verifiers.voting_verifier import VotingOptions, add_twin_note, build_refused_verdict
from model.voting.votes import ENGINE_FAILED
from model.voting.yes_no_probability import TOP_LOGPROBS, compute_yes_probability, locate_verdict

REPLY_TOKENS = 16
CONTEXT_TOKENS = 32_768
"""Longest prompt with a trajectory (R2E-Gym, appendix C.2). A longer context shows no more of a trajectory."""
_SECOND_QUESTION = "\n\nIn one word, YES or NO:"
_BY_TEXT_ALONE = "No trajectory is known, so it was judged by its text alone"
_NO_ROOM = "Its trajectory does not fit into the prompt, so it was judged by its text alone"
_ABSTAINED = "neither YES nor NO is among the likeliest words"


@dataclass(frozen=True, slots=True)
class _Opinion:
    """The vote and the belief that one reply gives."""

    vote: Vote
    belief: float | None


class YesNoVerifier:
    """A verifier that reads P(YES) from the log-probabilities of the answer's token, one patch per prompt.

    The answer to a prompt is deterministic, so the engine is asked once, whatever the number of votes.
    """

    def __init__(
        self,
        engine: Engine,
        template: Template,
        options: VotingOptions | None = None,
        *,
        trajectories: bool = False,
    ) -> None:
        """Create the verifier. `trajectories` shows the trajectory of a patch, where one is known.

        A trajectory may also hold words that flatter the patch. A long one is shortened. A patch without a trajectory,
        or without room for one, is judged by its text alone, and the reason says so.
        """
        self._engine = engine
        self._template = template
        self._options = options or VotingOptions()
        self._salt = ["yes-no", *(["trajectories"] if trajectories else [])]
        self._trajectories = trajectories
        rules = AdmissionRules(1, self._options.edited_lines)
        self._prompts = PromptBuilder(engine, template, 2 * REPLY_TOKENS, rules)

    @property
    def engine(self) -> EngineInfo:
        """The engine and model, with a fingerprint of the prompt and of this verifier's options."""
        fingerprint = combine_fingerprints(self._template.fingerprint, *self._salt)
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
        """Judge each patch by P(YES). A patch is unsure, without a score, if the engine fails or gives no YES or NO.

        `votes` and `earlier` do not change the result. Raises EngineDown, also for an engine without log-probabilities,
        Cancelled when `keep_going` returns False, and ValueError for two candidates with one id.
        """
        del votes
        started = time.monotonic()
        group, records = self._build_group(issue, candidates)
        sampler = VoteSampler(self._engine, self._options.sampling, keep_going)
        opinions: dict[PatchId, _Opinion] = {}
        seated = [patch.id for patch in group.seated]
        for batch in _split_batches(seated, self._options.sampling.batch):
            requests = {
                patch: self._build_request(group, patch, records.get(patch, "")) for patch in batch
            }
            opinions |= self._ask(sampler, requests)
            on_vote(len(opinions), len(seated))
        stored = {(vote.seed, vote.seats) for vote in earlier}
        new_votes = (opinion.vote for opinion in opinions.values())
        cast = (*earlier, *(vote for vote in new_votes if (vote.seed, vote.seats) not in stored))
        return GroupVerdict(
            patches=tuple(
                add_note(case, self._build_verdict(case, group, opinions, records))
                for case in group.cases
            ),
            engine=self.engine,
            votes=cast,
            asked=len(cast),
            partition=tuple((patch,) for patch in seated),
            tokens=sampler.tokens,
            engine_seconds=sampler.seconds,
            total_seconds=time.monotonic() - started,
        )

    def _build_group(
        self, issue: Issue, candidates: Sequence[Patch]
    ) -> tuple[CandidateGroup, Mapping[PatchId, str]]:
        """Return the group, and the text of each trajectory; it is "" where the prompt has no room for it."""
        text, cases = self._prompts.admit(issue, candidates)
        by_id = {patch.id: patch.trajectory or "" for patch in candidates}
        records = {
            case.candidate.id: fit_trajectory(
                self._engine, self._template, text, case.text, by_id[case.candidate.id]
            )
            for case in cases
            if self._trajectories
            and isinstance(case, AdmittedPatch)
            and by_id[case.candidate.id].strip()
        }
        cases = tuple(_add_record(case, records) for case in cases)
        return CandidateGroup.from_cases(text, cases, *self._salt), records

    def _build_request(self, group: CandidateGroup, patch: PatchId, record: str) -> Request:
        text = group.texts[patch]
        return Request(
            messages=self._template.render(
                issue=group.issue, patches=(text,), trajectory=record, code=""
            ),
            max_tokens=REPLY_TOKENS,
            temperature=0.0,
            seed=derive_seed(f"{group.seed}", text, record),
            top_logprobs=TOP_LOGPROBS,
        )

    def _ask(
        self, sampler: VoteSampler, requests: Mapping[PatchId, Request]
    ) -> dict[PatchId, _Opinion]:
        """Ask about each patch. A reply without YES or NO is continued once, to ask for the word alone."""
        answers = dict(zip(requests, self._complete(sampler, list(requests.values())), strict=True))
        repeated = {
            patch: replace(requests[patch], prefill=answer.text + _SECOND_QUESTION)
            for patch, answer in answers.items()
            if isinstance(answer, Completion) and _find_verdict_token(answer) is None
        }
        forced = dict(zip(repeated, self._complete(sampler, list(repeated.values())), strict=True))
        return {
            patch: _read_opinion(
                patch, repeated.get(patch, request), forced.get(patch, answers[patch])
            )
            for patch, request in requests.items()
        }

    def _complete(
        self, sampler: VoteSampler, requests: list[Request]
    ) -> list[Completion | EngineError]:
        answers = sampler.complete(requests)
        replies = [answer for answer in answers if isinstance(answer, Completion) and answer.text]
        if replies and not any(answer.tokens for answer in replies):
            raise EngineDown(
                f"engine {self._engine.name} ({self._engine.model}) gives no log-probabilities, which yes-no "
                "reads; use an engine that does, or another verifier"
            )
        return answers

    def _build_verdict(
        self,
        case: AdmissionResult,
        group: CandidateGroup,
        opinions: Mapping[PatchId, _Opinion],
        records: Mapping[PatchId, str],
    ) -> PatchVerdict:
        if isinstance(case, RefusedPatch):
            return build_refused_verdict(case)
        patch = case.candidate.id
        seat = group.representatives[patch]
        opinion = opinions[seat]
        verdict = self._options.thresholds.decide(opinion.belief)
        text = _explain(opinion, verdict)
        if self._trajectories and not records.get(seat):
            text = f"{_NO_ROOM if seat in records else _BY_TEXT_ALONE}. {text}"
        reason = add_twin_note(patch, seat, text)
        return PatchVerdict(
            patch, verdict, _count_vote(opinion.vote), reason, case.coverage, score=opinion.belief
        )


def fit_trajectory(
    reader: PromptReader, template: Template, issue: str, patch: str, trajectory: str
) -> str:
    """Return the trajectory of a patch for its prompt: escaped, and shortened to the tokens that are free in it.

    `issue` and `patch` are the escaped texts of the prompt, and `reader` is the engine, or the tokenizer of a training.
    Both give the same text if they count alike and their contexts are equal, or at least CONTEXT_TOKENS long. The text
    is "" without room.
    """
    # The template has more words beside a trajectory, so one stands in.
    shown = template.render(issue=issue, patches=(patch,), trajectory=" ", code="")
    used = sum(reader.count_tokens(message.content) for message in shown)
    context = min(reader.context_tokens, CONTEXT_TOKENS)
    room = context - used - CHAT_MARGIN - 2 * REPLY_TOKENS
    tokens = template.add_delimiters(reader.special_tokens)
    return fit_record(trajectory, room, reader.count_tokens, tokens)


def _add_record(case: AdmissionResult, records: Mapping[PatchId, str]) -> AdmissionResult:
    """Add the trajectory to a patch's fingerprint, so that equal edits share a prompt only with equal trajectories."""
    if isinstance(case, RefusedPatch) or not records.get(case.candidate.id):
        return case
    digest = hashlib.sha256(records[case.candidate.id].encode()).hexdigest()
    candidate = replace(case.candidate, fingerprint=case.candidate.fingerprint + digest)
    return replace(case, candidate=candidate)


def _find_verdict_token(answer: Completion) -> Token | None:
    """Return the token that says YES or NO, if the reply has one with a usable probability."""
    index = locate_verdict(answer.tokens)
    if index is None or compute_yes_probability(answer.tokens[index]) is None:
        return None
    return answer.tokens[index]


def _read_opinion(patch: PatchId, request: Request, answer: Completion | EngineError) -> _Opinion:
    vote = Vote(request.seed, (patch,), None, "", forced=request.prefill is not None)
    if isinstance(answer, EngineError):
        return _Opinion(replace(vote, failure=f"{ENGINE_FAILED}: {answer}"), None)
    vote = replace(vote, reply=(request.prefill or "") + answer.text)
    token = _find_verdict_token(answer)
    # The first token after the second question is the answer, even if its text is neither word.
    if token is None and request.prefill is not None:
        token = next(iter(answer.tokens), None)
    chance = compute_yes_probability(token) if token else None
    if chance is None:
        return _Opinion(replace(vote, failure=_ABSTAINED), None)
    return _Opinion(replace(vote, correct=frozenset([patch] if chance >= 0.5 else [])), chance)


def _count_vote(vote: Vote) -> VoteCount:
    if vote.correct is None:
        return VoteCount(none=1)
    return VoteCount(correct=1) if vote.correct else VoteCount(incorrect=1)


def _explain(opinion: _Opinion, verdict: Verdict) -> str:
    if opinion.belief is None:
        why = opinion.vote.failure or ""
        return f"No opinion: {ENGINE_FAILED if why.startswith(ENGINE_FAILED) else why}"
    text = f"The model gives YES {opinion.belief:.0%} against NO"
    return f"{text}; too close to decide" if verdict is Verdict.UNSURE else text


def _split_batches(patches: Sequence[PatchId], size: int) -> Iterator[Sequence[PatchId]]:
    return (patches[start : start + size] for start in range(0, len(patches), size))
