"""A hybrid verifier makes a shortlist with a first verifier and judges it with a second (R2E-Gym, section 4.3).

R2E-Gym makes the shortlist by log-probabilities and judges it by running tests. Here any two verifiers can be combined.
The default length of the shortlist is ours, because the paper gives none.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from model.domain import (
    EngineInfo,
    GroupVerdict,
    Issue,
    ObservedEvidence,
    Patch,
    PatchId,
    PatchVerdict,
    Tokens,
    Verdict,
    Vote,
)
from model.prompts.fingerprint import combine_fingerprints
from model.protocols import Verifier
from model.verifiers.execution_score import add_execution_free
from model.verifiers.prompt_builder import KeepGoing, OnVote, index_by_id
from model.voting.selection import combine_scores, compute_shortlist_size, select_shortlist


class HybridVerifier:
    """A verifier that judges with `first`, then judges the best patches again with `second`.

    The verdict of `second` replaces the verdict of `first` on these patches.
    """

    def __init__(self, first: Verifier, second: Verifier, shortlist: int | None = None) -> None:
        """Create the verifier. `shortlist` is the length of the shortlist: 0 for all patches, None for the default."""
        self._first = first
        self._second = second
        self._shortlist = shortlist

    @property
    def engine(self) -> EngineInfo:
        """The engines and models of both verifiers, joined by "+" where they differ, with one prompt fingerprint."""
        return join_engines(self._first.engine, self._second.engine)

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
        """Judge all candidates with the first verifier and the shortlist with the second, with `votes` votes each.

        Ranks put the shortlist before all other patches. Each verifier counts its own votes among `earlier`. Raises the
        errors of both.
        """
        first = self._first.verify(
            issue, candidates, votes=votes, earlier=earlier, on_vote=on_vote, keep_going=keep_going
        )
        selected = self._select(first.patches)
        before = len(first.votes) - len(earlier)
        second = self._second.verify(
            issue,
            [patch for patch in candidates if patch.id in selected],
            votes=votes,
            earlier=earlier,
            on_vote=lambda done, asked: on_vote(before + done, before + asked),
            keep_going=keep_going,
        )
        # Both lists begin with `earlier`; it must appear once.
        cast = (*first.votes, *second.votes[len(earlier) :])
        ranks = combine_scores(
            {patch.id: patch.score for patch in first.patches},
            list_deciding_scores(second.patches),
        )
        second_verdicts = index_by_id(second)
        return GroupVerdict(
            patches=tuple(
                replace(self._merge(patch, second_verdicts.get(patch.id)), rank=ranks[patch.id])
                for patch in first.patches
            ),
            engine=self.engine,
            votes=cast,
            asked=len(cast),
            partition=first.partition,
            tokens=_add_tokens(first.tokens, second.tokens),
            engine_seconds=first.engine_seconds + second.engine_seconds,
            total_seconds=first.total_seconds + second.total_seconds,
            spared=first.spared + second.spared,
        )

    def _select(self, patches: Collection[PatchVerdict]) -> frozenset[PatchId]:
        """Select the patches for the second verifier."""
        size = compute_shortlist_size(len(patches)) if self._shortlist is None else self._shortlist
        scores = {patch.id: patch.score for patch in patches}
        return select_shortlist(scores, size) if size else frozenset(scores)

    def _merge(self, first: PatchVerdict, second: PatchVerdict | None) -> PatchVerdict:
        """Choose the final verdict of a patch: the second verifier's if it has an opinion, otherwise the first's.

        A second verdict that depends on one rival is an opinion too: it claims nothing. The graded rubric of either
        verifier stays with the verdict. A second verdict by tests stands where it claims something; else the first one
        stands, with the tests' facts and the score of equation 2. The reason keeps what tests of the first part found.
        """
        if second is not None and second.evidence is not None:
            return _add_evidence(first, second, second.evidence)
        if second is None:
            return replace(
                first, reason=f"Not on the shortlist. {first.reason}", is_preliminary=True
            )
        rubric = second.rubric or first.rubric
        if second.score is None and first.score is not None and not second.depends_on:
            return replace(first, is_preliminary=True, rubric=rubric)
        reason = second.reason if first.evidence is None else f"{first.reason} {second.reason}"
        return replace(second, reason=reason, rubric=rubric, evidence=first.evidence)


def list_deciding_scores(patches: Collection[PatchVerdict]) -> dict[PatchId, float | None]:
    """Return the scores of the second verifier's patches, by which a hybrid ranks them.

    Regression tests can only speak against a patch. Where nothing else ran, a patch whose tests could not be told is
    therefore level with those that break nothing, and the first verifier decides.
    """
    scores = {patch.id: patch.score for patch in patches}
    evidence = {patch.id: patch.evidence for patch in patches if patch.evidence is not None}
    if any(shown.reproduction for shown in evidence.values()):
        return scores
    untold = {patch for patch in evidence if scores[patch] is None}
    return scores | dict.fromkeys(untold, 1.0)


def _add_evidence(
    first: PatchVerdict, second: PatchVerdict, evidence: ObservedEvidence
) -> PatchVerdict:
    """Return the verdict of two parts of which the second ran tests, `evidence`."""
    reason = f"{second.reason} {first.reason}"
    if second.score is None:
        return replace(first, reason=reason, evidence=evidence)
    claims = second.verdict in {Verdict.CORRECT, Verdict.INCORRECT}
    belief = 0.5 if first.score is None else first.score
    written = evidence.reproduction.tests if evidence.reproduction else 0
    return replace(
        first,
        verdict=second.verdict if claims or first.score is None else first.verdict,
        reason=reason,
        score=add_execution_free(second.score, written, belief),
        evidence=evidence,
    )


def join_engines(first: EngineInfo, second: EngineInfo) -> EngineInfo:
    """Return the engines and models of two verifiers, joined by "+" where they differ, with one prompt fingerprint."""
    return EngineInfo(
        _join(first.name, second.name),
        _join(first.model, second.model),
        combine_fingerprints(first.prompt_fingerprint, second.prompt_fingerprint),
    )


def _join(first: str, second: str) -> str:
    return first if first == second else f"{first} + {second}"


def _add_tokens(first: Tokens, second: Tokens) -> Tokens:
    return Tokens(
        first.prompt + second.prompt,
        first.cached + second.cached,
        first.completion + second.completion,
    )
