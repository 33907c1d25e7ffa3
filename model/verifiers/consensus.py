"""Judges by how rivals agree, without a language model: for machines without a GPU, and as evidence beside others.

Agreement is worth something among independent authors only, and anybody can open a second pull request with the same
edit. So rivals that make the same edit, comments and names aside, are one opinion; only who knows them to be
independent, as when systems are measured against each other, lets them count. A patch too long to be compared as a
whole is not judged, and no rival is compared with it. What is believed is a score until outcomes have calibrated it;
correct and incorrect are claimed where such claims were right often enough on issues that the fit never saw.
"""

import time
from collections.abc import Callable, Mapping, Sequence

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
from model.errors import Superseded
from model.patches import edits
from model.patches.edits import Edit
from model.prompts.untrusted import without_comments
from model.rivals import consensus_model
from model.rivals.consensus_model import Artefact, Fit
from model.rivals.features import COMPARED
from model.rivals.rival_agreement import Panel, panels
from model.verifiers.admission import ALL, Admitted, Refused, Rules, admit
from model.voting.thresholds import Thresholds

_ROOM = 10**9
"""Nothing is too long to be looked at: what counts is how much code it changes."""
_ALONE = (
    "Not judged: consensus compares rivals, and there is no other patch to compare this one with"
)
_SAME = "Not judged: consensus compares rivals, and no other patch differs from this one in more than names and comments"


class ConsensusVerifier:
    """One fit of the consensus model. It casts no votes and reads no tokens."""

    def __init__(
        self, artefact: Artefact, fit: Fit, *, independent: bool = False, rules: Rules = ALL
    ) -> None:
        """`independent`: the rivals are known to come from authors who don't know of each other, so copies agree."""
        self._artefact = artefact
        self._fit = fit
        self._independent = independent
        self._rules = rules

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
        """A belief, as a score, for every patch that can be read, given a rival that can be.

        Raises Superseded when `keep_going` says no.
        """
        started = time.monotonic()
        if not keep_going():
            raise Superseded
        readable = admit(candidates, _ROOM, count_tokens=lambda _text: 0, rules=self._rules)
        read = {patch.id: edits.read(patch.diff) for patch in candidates}
        cases = [_whole(case, read) for case in readable]
        seated = [case.candidate.id for case in cases if isinstance(case, Admitted)]
        told = self._told(issue, {patch: read[patch] for patch in seated})
        alone = _ALONE if len(seated) < 2 else _SAME
        return GroupVerdict(
            patches=tuple(_verdict(case, told, alone, self._fit.thresholds) for case in cases),
            engine=self.engine,
            votes=(),
            asked=0,
            partition=(tuple(seated),) if seated else (),
            tokens=Tokens(),
            engine_seconds=0.0,
            total_seconds=time.monotonic() - started,
        )

    def _told(self, issue: Issue, read: Mapping[PatchId, Edit]) -> dict[PatchId, tuple[float, str]]:
        """Belief and reason of each patch; none where there is nothing to compare."""
        seats, every = list(read), list(read.values())
        everybody = tuple(range(len(every)))
        among = [(seat, everybody) for seat in everybody] if self._independent else panels(every)
        seen = Issue("", without_comments(issue.text))
        believed: dict[Panel, list[float]] = {}
        told = {}
        for patch, (speaker, panel) in zip(seats, among, strict=True):
            if len(panel) < 2:
                continue
            rivals = [every[seat] for seat in panel]
            if panel not in believed:
                believed[panel] = self._fit.probabilities(seen, rivals)
            reason = _reason(every[speaker], rivals, copies_count=self._independent)
            told[patch] = believed[panel][panel.index(speaker)], reason
        return told


def shipped(rules: Rules = ALL) -> ConsensusVerifier:
    """For everyday use: the fit that saw every labelled issue."""
    artefact = consensus_model.shipped()
    return ConsensusVerifier(artefact, artefact.fits[consensus_model.EVERYTHING], rules=rules)


def unseeing(
    repository: str,
    instance_id: str,
    *,
    strict: bool = False,
    independent: bool = True,
    rules: Rules = ALL,
) -> ConsensusVerifier:
    """For measuring: the fit that never saw the block of this issue; with `strict`, none of its repository.

    The rivals of labelled groups are independent, unless somebody attacks.
    """
    artefact = consensus_model.shipped()
    fit = artefact.fit_for(repository, instance_id, strict=strict)
    return ConsensusVerifier(artefact, fit, independent=independent, rules=rules)


def _whole(case: Admitted | Refused, read: Mapping[PatchId, Edit]) -> Admitted | Refused:
    """The case, refused where only a part of the patch could be compared."""
    if isinstance(case, Refused) or (size := len(read[case.candidate.id].code)) <= COMPARED:
        return case
    reason = f"Not judged: the patch changes {size:,} characters of code, and consensus compares at most {COMPARED:,}"
    return Refused(case.candidate.id, reason, Coverage(case.coverage.files, 0))


def _verdict(
    case: Admitted | Refused,
    told: Mapping[PatchId, tuple[float, str]],
    alone: str,
    thresholds: Thresholds,
) -> PatchVerdict:
    if isinstance(case, Refused):
        return PatchVerdict(case.id, Verdict.NOT_JUDGED, VoteCount(), case.reason, case.coverage)
    patch = case.candidate.id
    if patch not in told:
        return PatchVerdict(patch, Verdict.NOT_JUDGED, VoteCount(), alone, case.coverage)
    belief, reason = told[patch]
    verdict = thresholds.verdict(belief)
    return PatchVerdict(patch, verdict, VoteCount(), reason, case.coverage, score=belief)


def _reason(edit: Edit, every: Sequence[Edit], *, copies_count: bool) -> str:
    rivals = [other for other in every if other is not edit]
    lines = edit.added_lines | edit.removed_lines
    alike = sum(
        2 * len(lines & (other.added_lines | other.removed_lines)) >= max(1, len(lines))
        for other in rivals
    )
    files = sum(bool(edit.file_set & other.file_set) for other in rivals)
    once = "," if copies_count else " (copies count once),"
    return (
        f"No model read this patch. Of {len(rivals)} rival{'s' if len(rivals) > 1 else ''}{once} "
        f"{alike} change{'s' if alike == 1 else ''} half of its lines or more in the same way, "
        f"{files} touch{'es' if files == 1 else ''} one of its files."
    )
