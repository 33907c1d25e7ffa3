"""Judges by how rivals agree, without a language model: for machines without a GPU, and as evidence beside others."""

import time
from collections.abc import Callable, Sequence

from model import consensus, edits
from model.admission import Admitted, Refused, admit
from model.consensus import Artefact, Fit
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
from model.edits import Edit
from model.errors import Superseded
from model.features import likeness

_ALIKE = 0.5
"""Share of changed text in common from which a rival's edit is called alike."""
_ROOM = 10**9
"""Nothing is too long: only so much of a patch is compared."""
_ALONE = (
    "Not judged: consensus compares rivals, and there is no other patch to compare this one with"
)


class ConsensusVerifier:
    """One fit of the consensus model. It casts no votes and reads no tokens."""

    def __init__(self, artefact: Artefact, fit: Fit) -> None:
        self._artefact = artefact
        self._fit = fit

    @property
    def engine(self) -> EngineInfo:
        """The fit, and the artefact's fingerprint in place of a prompt's."""
        return EngineInfo("consensus", self._fit.name, self._artefact.fingerprint)

    def verify(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        *,
        votes: int = 0,  # noqa: ARG002 - the same answer however often it is asked
        earlier: Sequence[Vote] = (),  # noqa: ARG002 - it has no votes to count
        on_vote: Callable[[int, int], None] = lambda _done, _asked: None,  # noqa: ARG002
        keep_going: Callable[[], bool] = lambda: True,
    ) -> GroupVerdict:
        """A calibrated probability for every patch that can be read, given a rival that can be.

        Raises Superseded when `keep_going` says no.
        """
        started = time.monotonic()
        if not keep_going():
            raise Superseded
        cases = admit(candidates, _ROOM, count_tokens=lambda _text: 0)
        diffs = {patch.id: patch.diff for patch in candidates}
        seated = [case.candidate.id for case in cases if isinstance(case, Admitted)]
        read = [edits.read(diffs[patch]) for patch in seated]
        probabilities = self._fit.probabilities(issue, read) if len(read) > 1 else []
        told = {
            patch: (probability, _reason(edit, read))
            for patch, probability, edit in zip(seated, probabilities, read, strict=False)
        }
        return GroupVerdict(
            patches=tuple(_verdict(case, told) for case in cases),
            engine=self.engine,
            votes=(),
            asked=0,
            partition=(tuple(seated),) if seated else (),
            tokens=Tokens(),
            engine_seconds=0.0,
            total_seconds=time.monotonic() - started,
        )


def shipped() -> ConsensusVerifier:
    """For everyday use: the fit that saw every labelled issue."""
    artefact = consensus.shipped()
    return ConsensusVerifier(artefact, artefact.fits[consensus.EVERYTHING])


def unseeing(repository: str, instance_id: str, *, strict: bool = False) -> ConsensusVerifier:
    """For measuring: the fit that never saw the block of this issue; with `strict`, none of its repository."""
    artefact = consensus.shipped()
    return ConsensusVerifier(artefact, artefact.fit_for(repository, instance_id, strict=strict))


def _verdict(case: Admitted | Refused, told: dict[PatchId, tuple[float, str]]) -> PatchVerdict:
    if isinstance(case, Refused):
        return PatchVerdict(case.id, Verdict.NOT_JUDGED, VoteCount(), case.reason, case.coverage)
    patch = case.candidate.id
    if patch not in told:
        return PatchVerdict(patch, Verdict.NOT_JUDGED, VoteCount(), _ALONE, case.coverage)
    probability, reason = told[patch]
    verdict = Verdict.CORRECT if probability >= 0.5 else Verdict.INCORRECT
    return PatchVerdict(
        patch, verdict, VoteCount(), reason, case.coverage, probability, score=probability
    )


def _reason(edit: Edit, every: Sequence[Edit]) -> str:
    rivals = [other for other in every if other is not edit]
    alike = [likeness(edit, other) for other in rivals]
    text = sum(one["text"] >= _ALIKE for one in alike)
    files = sum(one["files"] > 0 for one in alike)
    return (
        f"No model read this patch. Of {len(rivals)} rival{'s' if len(rivals) > 1 else ''}, "
        f"{text} change{'s' if text == 1 else ''} mostly the same lines, "
        f"{files} touch{'es' if files == 1 else ''} one of its files."
    )
