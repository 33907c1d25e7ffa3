"""Judge one frozen group. This process reads text by strangers and holds no secret."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.alternatives import attempts
from app.db.store.issues import evaluations, moved_verdicts, votes
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import Evaluation, VerificationResult, patch_id
from app.db.store.models import calibrators
from app.db.store.models.calibrators import StoredCalibrator
from app.db.store.queue import progress
from app.jobs.job import Json, Planned, PublishVerdict, VerifyGroup
from app.outcomes.judgement import Judge
from app.policy.event_policy import BY_COMMAND
from app.values.identifiers import InstallationId
from model import catalog
from model.agents.trajectories.trajectory_text import read_record
from model.calibration import evidence
from model.domain import (
    Coverage,
    GroupVerdict,
    Issue,
    Patch,
    PatchId,
    PatchVerdict,
    RivalDifference,
    Verdict,
    VoteCount,
)
from model.errors import BadTrajectory, ModelError
from model.protocols import Verifier
from model.rivals.differences import find_differences
from model.verdict_json import Calibration, Proposer, Subject, to_json
from worker.judging.base_code import open_code
from worker.judging.trained_models import JudgeSetup, TrainedModels
from worker.queue.context import Context

log = logging.getLogger(__name__)

PRIOR_ERRORS = (ModelError, ArithmeticError, LookupError, ValueError)
"""Errors that a prior may raise on strangers' patches. Memory, database and type errors are not
among them."""


@dataclass(frozen=True, slots=True)
class VerifyGroupHandler:
    """Has the verifier judge the candidates of one evaluation as one group, and stores the verdict."""

    load_judge: Callable[[], JudgeSetup]
    """Called at the first job, because loading a local model takes seconds."""
    trained_models: TrainedModels | None = None
    """Trained models that may judge instead; None when the engine takes no adapters."""

    def __call__(self, context: Context, job: VerifyGroup) -> None:
        """Judge the evaluation's group, store its votes and verdict, and plan its publication; a repeat adds votes."""
        with transaction(context.database) as connection:
            evaluation = evaluations.load(connection, job.evaluation)
        if evaluation is None or evaluation.state != "collected":
            return
        if evaluation.alternatives_wanted:
            return  # agents still write; their job plans this one again
        if evaluation.trigger != BY_COMMAND and move_known_verdict(context, job, evaluation):
            return
        trained = self.trained_models
        setup = (
            trained.choose_judge(context.database, evaluation, self.load_judge)
            if trained
            else self.load_judge()
        )
        store_verdict(context, job, self._judge(context, evaluation, setup, job.installation))
        if setup.code:
            setup.code.discard(evaluation.id)
        if trained:
            trained.follow_up(
                context,
                evaluation,
                lambda shadow: self._judge(context, evaluation, shadow, job.installation).document,
            )

    def _judge(
        self,
        context: Context,
        evaluation: Evaluation,
        setup: JudgeSetup,
        installation: InstallationId,
    ) -> VerificationResult:
        """Return a judge's result for an evaluation; store nothing but the progress."""
        with transaction(context.database) as connection:
            # Votes add up only when they read the same text, to the last comment.
            shown = moved_verdicts.find_first_equal(connection, evaluation)
        issue = Issue(shown.title, shown.body)
        patches = [Patch(patch_id(c.pull), c.diff) for c in shown.candidates if c.diff is not None]
        with transaction(context.database) as connection:
            patches += load_alternatives(connection, setup.name, shown.alternatives)
        code = open_code(setup.verifier, setup.code, context, evaluation, patches)
        verifier = code.verifier  # votes with code of the base are a judge of their own
        with transaction(context.database) as connection:
            earlier = votes.find_earlier(
                connection, evaluation.group, evaluation.fingerprint, verifier.engine
            )
        verdict = verifier.verify(
            issue,
            patches,
            votes=evaluation.votes,
            earlier=earlier,
            on_vote=lambda done, asked: self._report_progress(context, done, asked),
            keep_going=context.keep_going,
        )
        known_evidence = evidence.build_evidence(
            verdict, judge_by_prior(setup.prior, issue, patches), setup.name
        )
        with transaction(context.database) as connection:
            judge = replace(setup, verifier=verifier).judge
            stored = load_calibrator(connection, judge, installation)
        prior = None if stored else catalog.load_prior(setup.name, verifier.engine)
        used = stored or prior
        weighed = evidence.apply_calibrator(
            verdict, known_evidence, used.calibrator if used else None
        )
        claims = evidence.withdraw_partial_claims(weighed)
        told_apart = replace(claims, differences=tell_apart(patches))
        whole = add_unreadable(code.add_record(told_apart), evaluation.candidates)
        packaged = prior.calibration if prior else None
        verdict_document = build_document(
            evaluation, whole, setup.name, _describe_calibration(stored) if stored else packaged
        )
        new = verdict.votes[len(earlier) :]
        return VerificationResult(verdict_document, whole.patches, new, setup.name, known_evidence)

    def _report_progress(self, context: Context, done: int, asked: int) -> None:
        with context.transaction() as connection:
            progress.set_progress(connection, context.claimed, f"{done} of {asked} votes")


def load_alternatives(
    connection: Connection, verifier: str, alternatives: Sequence[Alternative]
) -> list[Patch]:
    """Load alternatives as patches, with their trajectories for a verifier that reads them."""
    records = load_records(connection, verifier, alternatives)
    return [Patch(each.id, each.diff, records.get(each.attempt)) for each in alternatives]


def load_records(
    connection: Connection, verifier: str, alternatives: Sequence[Alternative]
) -> dict[int, str]:
    """Load how the bot's agents wrote alternatives, as text by attempt id, for a verifier that reads trajectories.

    The result is empty for other verifiers. Attempts with a hint, and unreadable ones, are left out.
    """
    if catalog.TRAJECTORY_VERIFIER not in catalog.parse_verifier_name(verifier):
        return {}
    records: dict[int, str] = {}
    wanted = [alternative.attempt for alternative in alternatives]
    for attempt, raw in attempts.load_trajectories(connection, wanted).items():
        try:
            records[attempt] = read_record(raw)
        except BadTrajectory as error:
            log.warning("the trajectory of attempt %d is not shown: %s", attempt, error)
    return records


def judge_by_prior(
    prior: Verifier | None, issue: Issue, patches: Sequence[Patch]
) -> Mapping[PatchId, float | None]:
    """Return the score of each patch by the prior, a verifier without an engine such as consensus.

    The result is empty without a prior or when it fails, because a verdict does not need these scores.
    """
    if prior is None:
        return {}
    try:
        verdict = prior.verify(issue, patches, votes=0)
    except PRIOR_ERRORS:
        log.exception("%s failed; the verdict does without its score", prior.engine.name)
        return {}
    return {patch.id: patch.score for patch in verdict.patches}


def tell_apart(patches: Sequence[Patch]) -> tuple[RivalDifference, ...]:
    """Return what tells the rivals apart; nothing when that fails, because a verdict does not need it."""
    try:
        return find_differences(patches)
    except PRIOR_ERRORS:
        log.exception("the rivals could not be told apart; the verdict does without")
        return ()


def load_calibrator(
    connection: Connection, judge: Judge, installation: InstallationId
) -> StoredCalibrator | None:
    """Load the judge's active calibrator of the installation, else the shared one; None if there is none.

    A calibrator that was fitted under other label rules is ignored, with a logged warning, until the next fit.
    """
    for scope in (installation, None):
        try:
            if stored := calibrators.load_active(connection, judge, scope):
                return stored
        except ValueError as error:
            log.warning("a calibrator of %s is not used: %s", judge.verifier, error)
    return None


def move_known_verdict(context: Context, job: VerifyGroup, evaluation: Evaluation) -> bool:
    """Move the verdict on equal patches to an evaluation and plan its publication; return False without such a verdict.

    So a push of blanks or comments draws no fresh votes. Only a command adds votes.
    """
    publish = PublishVerdict(job.installation, job.repository, job.issue, job.evaluation)
    with context.transaction() as connection:
        is_moved = moved_verdicts.move_verdict(connection, evaluation)
        if is_moved:
            context.enqueue(connection, [Planned(publish)])
    return is_moved


def store_verdict(context: Context, job: VerifyGroup, verified: VerificationResult) -> None:
    """Store `verified`, the result of the evaluation that `job` names, and plan its publication."""
    publish = PublishVerdict(job.installation, job.repository, job.issue, job.evaluation)
    with context.transaction() as connection:
        evaluations.save_verdict(connection, job.evaluation, verified)
        context.enqueue(connection, [Planned(publish)])


def build_document(
    evaluation: Evaluation,
    verdict: GroupVerdict,
    verifier: str | None = None,
    calibration: Calibration | None = None,
) -> Json:
    """Build an evaluation's verdict as JSON values, in the format `r4p.verdict/1` (pure).

    `verifier` is the verifier's name in the catalog, and `calibration` the calibrator that it used; None if there is none.
    """
    heads = {patch_id(c.pull): c.head_sha for c in evaluation.candidates}
    subject = Subject(
        title=evaluation.title,
        group_id=str(evaluation.group),
        repository=evaluation.repository_name,
        number=evaluation.issue,
        head_shas=heads,
        proposers={
            alternative.id: Proposer(
                alternative.agent, alternative.model, alternative.steps, alternative.base_sha
            )
            for alternative in evaluation.alternatives
        },
    )
    return dict(to_json(verdict, subject, verifier=verifier, calibration=calibration))


def _describe_calibration(stored: StoredCalibrator) -> Calibration:
    history = stored.calibrator.history
    return Calibration(
        stored.id,
        stored.calibrator.fitted_at,
        history.issues,
        history.correct,
        history.incorrect,
    )


def add_unreadable(verdict: GroupVerdict, candidates: Sequence[Candidate]) -> GroupVerdict:
    """Return `verdict` with each candidate without a readable patch added as *not judged* (pure).

    The result has the order of `candidates`, then the alternatives.
    """
    judged = {patch.id: patch for patch in verdict.patches}
    pulls = {candidate.pull: patch_id(candidate.pull) for candidate in candidates}
    rivals = [judged.get(pulls[patch.pull]) or _build_unreadable(patch) for patch in candidates]
    alternatives = [patch for patch in verdict.patches if patch.id not in pulls.values()]
    return replace(verdict, patches=(*rivals, *alternatives))


def _build_unreadable(candidate: Candidate) -> PatchVerdict:
    return PatchVerdict(
        id=patch_id(candidate.pull),
        verdict=Verdict.NOT_JUDGED,
        votes=VoteCount(),
        reason=f"Its patch could not be read: {candidate.unreadable}",
        coverage=Coverage(files=candidate.files, files_seen=0),
    )
