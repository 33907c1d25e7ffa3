"""The verifiers `regression` and `execution` judge patches by tests that ran (R2E-Gym, section 4.1).

Neither asks a language model. `regression` uses the tests that pass on the base. `execution` adds reproduction tests:
tests written for the issue, which fail on the base. A source of evidence runs the tests or has a record of them.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from model.domain import (
    EngineInfo,
    GroupVerdict,
    Issue,
    ObservedEvidence,
    Patch,
    PatchId,
    PatchVerdict,
    RegressionResult,
    ReproductionResult,
    Tokens,
    Verdict,
    Vote,
    VoteCount,
)
from model.errors import Cancelled
from model.execution.evidence_source import EvidenceSource
from model.execution.regression import PatchEvidence, describe_regression
from model.prompts.fingerprint import combine_fingerprints
from model.verifiers.admission import (
    DEFAULT_RULES,
    AdmissionResult,
    AdmissionRules,
    AdmittedPatch,
    RefusedPatch,
    admit,
)
from model.verifiers.execution_score import Evidence, score_by_tests, select_best_regression
from model.verifiers.prompt_builder import KeepGoing, OnVote

_ROOM: Final = 10**9
"""No patch is too long: nobody reads it here."""
_SHOWN: Final = 3
"""Reproduction tests that a reason names."""


class ExecutionVerifier:
    """A verifier that judges patches by the tests of an evidence source. It casts no votes."""

    def __init__(
        self,
        name: str,
        source: EvidenceSource,
        *,
        with_reproduction: bool,
        rules: AdmissionRules = DEFAULT_RULES,
    ) -> None:
        """Create the verifier with its name in the catalogue. Without `with_reproduction`, only regression tests count."""
        self._name = name
        self._source = source
        self._with_reproduction = with_reproduction
        self._rules = rules

    @property
    def engine(self) -> EngineInfo:
        """The verifier's name as the engine, what ran as the model, and a fingerprint of both."""
        fingerprint = combine_fingerprints(self._source.fingerprint, self._name)
        return EngineInfo(self._name, self._source.name, fingerprint)

    def verify(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        *,
        votes: int = 0,  # noqa: ARG002 - nobody votes
        earlier: Sequence[Vote] = (),
        on_vote: OnVote = lambda _done, _asked: None,
        keep_going: KeepGoing = lambda: True,
    ) -> GroupVerdict:
        """Judge each patch by its tests beside its rivals'. `on_vote` gets finished runs and all runs of the tests.

        `votes` has no effect. Raises Cancelled when `keep_going` returns False, and the errors of the source.
        """
        started = time.monotonic()
        if not keep_going():
            raise Cancelled
        cases = admit(candidates, _ROOM, count_tokens=lambda _text: 0, rules=self._rules)
        admitted = {case.candidate.id for case in cases if isinstance(case, AdmittedPatch)}
        patches = [patch for patch in candidates if patch.id in admitted]
        evidence = dict(
            self._source.collect(issue, patches, on_vote, keep_going) if patches else {}
        )
        if not keep_going():
            raise Cancelled
        if not self._with_reproduction:
            evidence = {name: replace(shown, reproduction=()) for name, shown in evidence.items()}
        ended = time.monotonic()
        return GroupVerdict(
            patches=_judge(cases, evidence),
            engine=self.engine,
            votes=tuple(earlier),
            asked=0,
            partition=tuple((patch.id,) for patch in patches),
            tokens=Tokens(),
            engine_seconds=ended - started,
            total_seconds=time.monotonic() - started,
        )


def _judge(cases: Sequence[AdmissionResult], evidence: Evidence) -> tuple[PatchVerdict, ...]:
    scores = score_by_tests(evidence)
    return tuple(_build_verdict(case, evidence, scores) for case in cases)


def _build_verdict(
    case: AdmissionResult, evidence: Evidence, scores: Mapping[PatchId, float | None]
) -> PatchVerdict:
    if isinstance(case, RefusedPatch):
        return PatchVerdict(case.id, Verdict.NOT_JUDGED, VoteCount(), case.reason, case.coverage)
    patch = case.candidate.id
    return PatchVerdict(
        patch,
        decide(patch, evidence, scores),
        VoteCount(),
        describe_evidence(evidence[patch]),
        case.coverage,
        score=scores[patch],
        evidence=observe(evidence[patch]),
    )


def decide(patch: PatchId, evidence: Evidence, scores: Mapping[PatchId, float | None]) -> Verdict:
    """Return the verdict that the tests of a group allow about one patch. The rule is ours: the paper only ranks.

    A patch that breaks a test is incorrect, but unsure if no rival breaks fewer: the issue may ask for a change that
    an old test forbids. A patch that breaks none is correct if it passes every reproduction test, and incorrect if it
    passes none and a rival passes one. Everything else is unsure, also a patch that breaks only tests that it rewrites
    or removes itself.
    """
    shown, score = evidence[patch], scores[patch]
    if score is None:
        return Verdict.UNSURE
    if shown.regression.broken:
        rivals = sum(rival.regression.is_known for rival in evidence.values()) - 1
        is_level = patch in select_best_regression(evidence) and rivals > 0
        return Verdict.UNSURE if is_level else Verdict.INCORRECT
    if shown.reproduction and score == 1:
        return Verdict.CORRECT
    is_beaten = score == 0 and any(scores.values())
    return Verdict.INCORRECT if is_beaten else Verdict.UNSURE


def observe(evidence: PatchEvidence) -> ObservedEvidence:
    """Return the evidence as a verdict publishes it."""
    regression, unknown = evidence.regression, evidence.regression.unknown
    return ObservedEvidence(
        regression=RegressionResult(
            regression.expected,
            len(regression.broken),
            regression.broken[:_SHOWN],
            len(regression.rewritten),
        )
        if unknown is None
        else None,
        unknown=unknown,
        reproduction=count_passed(evidence),
    )


def count_passed(evidence: PatchEvidence) -> ReproductionResult | None:
    """Count the reproduction tests whose outcome is known, and those that pass; None when no outcome is known."""
    results = [passes for _, passes in evidence.reproduction if passes is not None]
    return ReproductionResult(len(results), sum(results)) if results else None


def describe_evidence(evidence: PatchEvidence) -> str:
    """Return the facts about a patch as sentences for a person."""
    text = describe_regression(evidence.regression)
    sentences = [f"{text[0].upper()}{text[1:]}."]
    if evidence.reproduction:
        sentences.append(_describe_reproduction(evidence))
    return " ".join(sentences)


def _describe_reproduction(evidence: PatchEvidence) -> str:
    outcomes = dict(evidence.reproduction)
    passed = sum(outcome is True for outcome in outcomes.values())
    failed = [name for name, outcome in outcomes.items() if outcome is False]
    unknown = sum(outcome is None for outcome in outcomes.values())
    noun = "test" if len(outcomes) == 1 else "tests"
    text = f"Passes {passed} of {len(outcomes)} {noun} written for the issue"
    if failed:
        more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
        text += f", fails {', '.join(failed[:_SHOWN])}{more}"
    return f"{text}{f'; {unknown} unknown' if unknown else ''}."
