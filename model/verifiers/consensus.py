"""The consensus verifier judges by how rivals agree, without a language model.

It suits machines without a GPU, and its score is evidence beside other verifiers. Agreement counts only between
independent authors, and anybody can open a second pull request with the same edit. So rivals with the same edit, apart
from comments and names, count as one opinion. Only measurements whose rivals are known to be independent count copies.
The verifier neither judges nor compares a patch that is too long to be compared as a whole. It claims correct or
incorrect only where such claims were right often enough on issues that the fit never saw.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from model.calibration.calibration import Calibrator, History
from model.calibration.calibrator_file import CalibratorFile
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
from model.errors import Cancelled
from model.patches import edits
from model.patches.diff import parse
from model.patches.edits import PatchEdit
from model.patches.unread_parts import measure_compared
from model.prompts.untrusted import strip_html_comments
from model.rivals import consensus_model
from model.rivals.consensus_model import ConsensusModel, FittedModel
from model.rivals.features import MAX_COMPARED_CHARACTERS
from model.rivals.rival_agreement import Panel, build_panels
from model.rivals.score_effects import Prediction, describe_effects
from model.verdict_json import PACKAGED
from model.verifiers.admission import (
    DEFAULT_RULES,
    AdmissionResult,
    AdmissionRules,
    AdmittedPatch,
    RefusedPatch,
    admit,
)
from model.voting.thresholds import Thresholds

_ROOM = 10**9
"""No patch is too long for a prompt here. MAX_COMPARED_CHARACTERS limits the code instead."""
_FITTED_AT = "2026-11-23T00:00:00+00:00"
"""The day of the shipped fit. The model's file has no date, so that a fit gives the same bytes on any day."""
_NO_RIVAL = (
    "Not judged: consensus compares rivals, and there is no other patch to compare this one with"
)
_NO_OTHER_EDIT = "Not judged: consensus compares rivals, and no other patch differs from this one in more than names and comments"


class ConsensusVerifier:
    """A verifier that judges patches by how rivals agree, with one fit of the consensus model. It casts no votes."""

    def __init__(
        self,
        artefact: ConsensusModel,
        fit: FittedModel,
        *,
        independent: bool = False,
        rules: AdmissionRules = DEFAULT_RULES,
    ) -> None:
        """Create the verifier with `fit`, one of the fits in the model file `artefact`.

        With `independent`, copies count as agreement of independent authors. `rules` limit the patches to judge.
        """
        self._artefact = artefact
        self._fit = fit
        self._independent = independent
        self._rules = rules

    @property
    def engine(self) -> EngineInfo:
        """The name of the consensus model's fit as `model`, and its file's fingerprint as `prompt_fingerprint`."""
        return EngineInfo("consensus", self._fit.name, self._artefact.fingerprint)

    def verify(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        *,
        votes: int = 0,  # noqa: ARG002 - the answer is deterministic
        earlier: Sequence[Vote] = (),  # noqa: ARG002 - there are no votes to count
        on_vote: Callable[[int, int], None] = lambda _done, _asked: None,  # noqa: ARG002
        keep_going: Callable[[], bool] = lambda: True,
    ) -> GroupVerdict:
        """Judge each readable patch by comparing it with the other edits of its group.

        A patch gets no score if no readable rival makes another edit. `votes`, `earlier` and `on_vote` have no effect.
        Raises Cancelled when `keep_going` returns False.
        """
        started = time.monotonic()
        if not keep_going():
            raise Cancelled
        readable = admit(candidates, _ROOM, count_tokens=lambda _text: 0, rules=self._rules)
        read = {patch.id: edits.read_edit(patch.diff) for patch in candidates}
        cases = [
            _limit_coverage(_refuse_long(case, read), patch)
            for case, patch in zip(readable, candidates, strict=True)
        ]
        seated = [case.candidate.id for case in cases if isinstance(case, AdmittedPatch)]
        judged = self._judge(issue, {patch: read[patch] for patch in seated})
        missing = _NO_RIVAL if len(seated) < 2 else _NO_OTHER_EDIT
        return GroupVerdict(
            patches=tuple(
                _build_verdict(case, judged, missing, self._fit.thresholds) for case in cases
            ),
            engine=self.engine,
            votes=(),
            asked=0,
            partition=(tuple(seated),) if seated else (),
            tokens=Tokens(),
            engine_seconds=0.0,
            total_seconds=time.monotonic() - started,
        )

    def _judge(
        self, issue: Issue, read: Mapping[PatchId, PatchEdit]
    ) -> dict[PatchId, tuple[float, str]]:
        """Return belief and reason of each patch that has a rival to compare with."""
        seats, all_edits = list(read), list(read.values())
        all_seats = tuple(range(len(all_edits)))
        panels = build_panels(all_edits)
        if self._independent:
            panels = [(seat, all_seats) for seat in all_seats]
        visible_issue = Issue("", strip_html_comments(issue.text))
        predictions: dict[Panel, list[Prediction]] = {}
        judged = {}
        for patch, (speaker, panel) in zip(seats, panels, strict=True):
            if len(panel) < 2:
                continue
            rivals = [all_edits[seat] for seat in panel]
            if panel not in predictions:
                predictions[panel] = self._fit.predict(visible_issue, rivals)
            own = predictions[panel][panel.index(speaker)]
            agreement = _describe_agreement(
                all_edits[speaker], rivals, copies_count=self._independent
            )
            reason = f"{agreement} {describe_effects(own.effects)}".rstrip()
            judged[patch] = own.probability, reason
        return judged


def build_shipped(rules: AdmissionRules = DEFAULT_RULES) -> ConsensusVerifier:
    """Build the consensus verifier for everyday use, with the fit on every labelled issue.

    `rules` limit the patches that are judged.
    """
    artefact = consensus_model.load_shipped()
    return ConsensusVerifier(artefact, artefact.fits[consensus_model.EVERYTHING], rules=rules)


def build_prior() -> CalibratorFile:
    """Build the packaged prior: the probabilities of the shipped model, before a repository has a history.

    The model was fitted on issues of benchmarks, and its scores came true on issues that it never saw
    (docs/consensus.md). So the score is the probability.
    """
    artefact = consensus_model.load_shipped()
    fit = artefact.fits[consensus_model.EVERYTHING]
    prior = Calibrator(
        fitted_at=_FITTED_AT,
        history=History(**artefact.manifest["history"]),
        weights={"consensus": 1.0},
        thresholds=fit.thresholds,
    )
    brier = artefact.manifest["brier"]
    return CalibratorFile("consensus", build_shipped().engine, prior, brier, PACKAGED)


def build_holdout(
    repository: str,
    instance_id: str,
    *,
    strict: bool = False,
    independent: bool = True,
    rules: AdmissionRules = DEFAULT_RULES,
) -> ConsensusVerifier:
    """Build the consensus verifier for measurements, with a fit that never saw the issue or its block of issues.

    `repository` and `instance_id`, which ends in a number, name the issue. With `strict`, the fit never saw the
    repository. With `independent`, copies count as agreement of independent authors; the rivals of labelled groups
    are independent, except in attacks.
    """
    artefact = consensus_model.load_shipped()
    fit = artefact.select_fit(repository, instance_id, strict=strict)
    return ConsensusVerifier(artefact, fit, independent=independent, rules=rules)


def _refuse_long(case: AdmissionResult, read: Mapping[PatchId, PatchEdit]) -> AdmissionResult:
    """Refuse a patch whose code is too long to be compared as a whole."""
    if isinstance(case, RefusedPatch):
        return case
    if (size := len(read[case.candidate.id].code)) <= MAX_COMPARED_CHARACTERS:
        return case
    limit = f"consensus compares at most {MAX_COMPARED_CHARACTERS:,}"
    reason = f"Not judged: the patch changes {size:,} characters of code, and {limit}"
    return RefusedPatch(case.candidate.id, reason, Coverage(case.coverage.files, 0))


def _limit_coverage(case: AdmissionResult, patch: Patch) -> AdmissionResult:
    """Leave out of the coverage what a language model reads and consensus does not compare."""
    if isinstance(case, RefusedPatch):
        return case
    return replace(case, coverage=measure_compared(case.coverage, parse(patch.diff)))


def _build_verdict(
    case: AdmissionResult,
    judged: Mapping[PatchId, tuple[float, str]],
    missing: str,
    thresholds: Thresholds,
) -> PatchVerdict:
    if isinstance(case, RefusedPatch):
        return PatchVerdict(case.id, Verdict.NOT_JUDGED, VoteCount(), case.reason, case.coverage)
    patch = case.candidate.id
    if patch not in judged:
        return PatchVerdict(patch, Verdict.NOT_JUDGED, VoteCount(), missing, case.coverage)
    belief, reason = judged[patch]
    verdict = thresholds.decide(belief)
    return PatchVerdict(patch, verdict, VoteCount(), reason, case.coverage, score=belief)


def _describe_agreement(edit: PatchEdit, every: Sequence[PatchEdit], *, copies_count: bool) -> str:
    rivals = [rival for rival in every if rival is not edit]
    lines = edit.lines_added | edit.lines_removed
    alike = sum(
        2 * len(lines & (rival.lines_added | rival.lines_removed)) >= max(1, len(lines))
        for rival in rivals
    )
    files = sum(bool(edit.file_set & rival.file_set) for rival in rivals)
    once = "," if copies_count else " (copies count once),"
    return (
        f"No model read this patch. Of {len(rivals)} rival{'s' if len(rivals) > 1 else ''}{once} "
        f"{alike} change{'s' if alike == 1 else ''} half of its lines or more in the same way, "
        f"{files} touch{'es' if files == 1 else ''} one of its files."
    )
