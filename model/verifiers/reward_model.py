"""The verifier `reward-model` reads the score that a trained reward model gives to one patch (Agent-RLVR, section 3.1).

The paper trains the model with a pairwise loss and chooses the patch with the highest score. That loss compares scores
on one issue only, so a score alone does not say whether a patch is correct. The verifier therefore ranks and claims
nothing. A calibrator that was fitted on its scores gives probabilities, and with them claims.
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import cast

from model.calibration.calibration import sigmoid
from model.domain import (
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
from model.errors import BadEngine, Cancelled, EngineError
from model.prompts.fingerprint import combine_fingerprints
from model.prompts.prompt_template import Template
from model.protocols import Engine, Message, RawScore, ScoringEngine
from model.verifiers.admission import AdmissionResult, AdmissionRules, RefusedPatch
from model.verifiers.prompt_builder import (
    CandidateGroup,
    KeepGoing,
    OnVote,
    PromptBuilder,
    add_note,
)
from model.verifiers.voting_verifier import add_twin_note, build_refused_verdict
from model.voting.votes import ENGINE_FAILED

_NAME = "reward-model"
_BATCH = 16
"""Prompts in one call of the engine. Between calls the verifier reports progress and can be cancelled."""


class RewardModelVerifier:
    """A verifier that scores each patch beside its issue with a reward model, one patch per prompt.

    Its verdicts are *unsure*. The belief of a verdict is sigmoid(s), where s is the number that the model gives.
    """

    def __init__(self, engine: Engine, template: Template, edited_lines: int = 0) -> None:
        """Create the verifier. `template` is the prompt of the model's training.

        Patches that edit fewer than `edited_lines` lines are not judged. Raises BadEngine for an engine that cannot score.
        """
        if not hasattr(engine, "score"):
            raise BadEngine(
                f"verifier {_NAME} needs a reward model, and engine {engine.name} ({engine.model}) runs another model; "
                "name the directory of a trained reward model, or the URL of a vLLM that serves one"
            )
        self._engine = cast("ScoringEngine", engine)
        self._template = template
        self._prompts = PromptBuilder(engine, template, 0, AdmissionRules(1, edited_lines))

    @property
    def engine(self) -> EngineInfo:
        """The engine and model, with a fingerprint of the prompt and of this verifier."""
        fingerprint = combine_fingerprints(self._template.fingerprint, _NAME)
        return EngineInfo(self._engine.name, self._engine.model, fingerprint)

    def verify(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        *,
        votes: int = 0,  # noqa: ARG002 - the score of a prompt is deterministic
        earlier: Sequence[Vote] = (),  # noqa: ARG002 - there are no votes to count
        on_vote: OnVote = lambda _done, _asked: None,
        keep_going: KeepGoing = lambda: True,
    ) -> GroupVerdict:
        """Score each patch, and rank the patches by their scores. A patch has no score if the engine fails.

        `votes` and `earlier` have no effect. Raises EngineDown, Cancelled when `keep_going` returns False, and
        ValueError for two candidates with one id.
        """
        started = time.monotonic()
        group = CandidateGroup.from_cases(*self._prompts.admit(issue, candidates), _NAME)
        asked = time.monotonic()
        scores = self._score(group, on_vote, keep_going)
        ended = time.monotonic()
        return GroupVerdict(
            patches=tuple(
                add_note(case, _build_verdict(case, group, scores)) for case in group.cases
            ),
            engine=self.engine,
            votes=(),
            asked=0,
            partition=tuple((patch.id,) for patch in group.seated),
            tokens=Tokens(prompt=sum(score.prompt_tokens for score in scores.values())),
            engine_seconds=ended - asked,
            total_seconds=ended - started,
        )

    def _score(
        self, group: CandidateGroup, on_vote: OnVote, keep_going: KeepGoing
    ) -> dict[PatchId, RawScore]:
        """Return the score of each seated patch. A patch whose request failed has none."""
        seated = [patch.id for patch in group.seated]
        answers: list[RawScore | EngineError] = []
        for start in range(0, len(seated), _BATCH):
            if not keep_going():
                raise Cancelled("newer work replaced this verdict")
            batch = seated[start : start + _BATCH]
            answers += self._engine.score([self._render(group, patch) for patch in batch])
            on_vote(len(answers), len(seated))
        return {
            patch: answer
            for patch, answer in zip(seated, answers, strict=True)
            # NaN and infinity come from broken weights and order nothing.
            if isinstance(answer, RawScore) and math.isfinite(answer.value)
        }

    def _render(self, group: CandidateGroup, patch: PatchId) -> tuple[Message, ...]:
        text = group.texts[patch]
        return self._template.render(issue=group.issue, patches=(text,), trajectory="", code="")


def _build_verdict(
    case: AdmissionResult, group: CandidateGroup, scores: Mapping[PatchId, RawScore]
) -> PatchVerdict:
    if isinstance(case, RefusedPatch):
        return build_refused_verdict(case)
    patch = case.candidate.id
    seat = group.representatives[patch]
    score = scores.get(seat)
    reason = _explain(score, scores) if score else f"No opinion: {ENGINE_FAILED}"
    return PatchVerdict(
        patch,
        Verdict.UNSURE,
        VoteCount(),
        add_twin_note(patch, seat, reason),
        case.coverage,
        score=sigmoid(score.value) if score else None,
    )


def _explain(score: RawScore, scores: Mapping[PatchId, RawScore]) -> str:
    place = 1 + sum(rival.value > score.value for rival in scores.values())
    return (
        f"The reward model gives {score.value:+.2f}, place {place} of {len(scores)}; "
        "such scores order the patches of one issue, and only a calibrator makes claims of them"
    )
