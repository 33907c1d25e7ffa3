"""Have one snapshot of rivals judged. This process reads what strangers wrote and holds no secret."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import evaluations, votes
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import Evaluation, Verified, patch_id
from app.db.store.models import calibrators
from app.db.store.models.calibrators import StoredCalibrator
from app.db.store.queue import progress
from app.jobs.job import Json, Planned, PublishVerdict, VerifyGroup
from app.outcomes.judgement import Judge
from model.calibration import evidence
from model.domain import (
    Coverage,
    GroupVerdict,
    Issue,
    Patch,
    PatchId,
    PatchVerdict,
    Verdict,
    VoteCount,
)
from model.errors import ModelError
from model.protocols import Verifier
from model.verdict_json import Calibration, Proposer, Subject, to_json
from worker.judging.judge import Bench
from worker.judging.trained_models import Trained
from worker.queue.context import Context

log = logging.getLogger(__name__)

NO_OPINION = (ModelError, ArithmeticError, LookupError, ValueError)
"""What a fit may stumble over in patches of strangers. Memory, the database and our own typing mistakes are not of it."""


@dataclass(frozen=True, slots=True)
class VerifyGroupHandler:
    """Submits the candidates of one evaluation as one group to the verifier."""

    bench: Callable[[], Bench]
    """Made at the first use: loading a local model takes seconds that a worker's start need not."""
    trained: Trained | None = None
    """Who may judge in its place; None: the engine takes no adapters."""

    def __call__(self, context: Context, job: VerifyGroup) -> None:
        """Judge, store every vote, and have the verdict published. Asking again adds votes."""
        with transaction(context.database) as connection:
            evaluation = evaluations.load(connection, job.evaluation)
        if evaluation is None or evaluation.state != "collected":
            return
        if evaluation.alternatives_wanted:
            return  # not yet: agents are at work for it
        trained = self.trained
        bench = trained.judge(context.database, evaluation, self.bench) if trained else self.bench()
        finish(context, job, self._judged(context, evaluation, bench))
        if trained:
            trained.after(
                context,
                evaluation,
                lambda shadow: self._judged(context, evaluation, shadow).document,
            )

    def _judged(self, context: Context, evaluation: Evaluation, bench: Bench) -> Verified:
        """What a bench says of an evaluation; nothing is stored but its progress."""
        verifier = bench.verifier
        with transaction(context.database) as connection:
            earlier = votes.earlier(
                connection, evaluation.group, evaluation.fingerprint, verifier.engine
            )
        candidates = [judged.candidate for judged in evaluation.judged]
        issue = Issue(evaluation.title, evaluation.body)
        patches = [Patch(patch_id(c.pull), c.diff) for c in candidates if c.diff is not None]
        patches += [Patch(one.id, one.diff) for one in evaluation.alternatives]
        verdict = verifier.verify(
            issue,
            patches,
            votes=evaluation.votes,
            earlier=earlier,
            on_vote=lambda done, asked: self._report(context, done, asked),
            keep_going=context.keep_going,
        )
        known = evidence.of_verdict(verdict, heard(bench.beside, issue, patches), bench.name)
        with transaction(context.database) as connection:
            stored = in_use(connection, bench.judge)
        weighed = evidence.calibrated(verdict, known, stored.calibrator if stored else None)
        whole = with_unreadable(weighed, candidates)
        said = document(evaluation, whole, bench.name, stored)
        new = verdict.votes[len(earlier) :]
        return Verified(said, whole.patches, new, bench.name, known)

    def _report(self, context: Context, done: int, asked: int) -> None:
        with context.transaction() as connection:
            progress.set_progress(connection, context.claimed, f"{done} of {asked} votes")


def heard(
    beside: Verifier | None, issue: Issue, patches: Sequence[Patch]
) -> Mapping[PatchId, float | None]:
    """What is believed beside the votes; nothing where it fails, for a verdict doesn't depend on it."""
    if beside is None:
        return {}
    try:
        said = beside.verify(issue, patches, votes=0)
    except NO_OPINION:
        log.exception("%s failed; the verdict goes without it", beside.engine.name)
        return {}
    return {one.id: one.score for one in said.patches}


def in_use(connection: Connection, judge: Judge) -> StoredCalibrator | None:
    """The judge's calibrator; one fitted under other rules is as good as none until the next fit."""
    try:
        return calibrators.active(connection, judge)
    except ValueError as error:
        log.warning("the calibrator of %s is not used: %s", judge.verifier, error)
        return None


def finish(context: Context, job: VerifyGroup, verified: Verified) -> None:
    """Store what became of an evaluation and have it published."""
    publish = PublishVerdict(job.installation, job.repository, job.issue, job.evaluation)
    with context.transaction() as connection:
        evaluations.save_verdict(connection, job.evaluation, verified)
        context.enqueue(connection, [Planned(publish)])


def document(
    evaluation: Evaluation,
    verdict: GroupVerdict,
    verifier: str | None = None,
    stored: StoredCalibrator | None = None,
) -> Json:
    """The `r4p.verdict/1` document about an evaluation (pure)."""
    heads = {patch_id(j.candidate.pull): j.candidate.head_sha for j in evaluation.judged}
    subject = Subject(
        title=evaluation.title,
        group_id=str(evaluation.group),
        repository=evaluation.repository_name,
        number=evaluation.issue,
        head_shas=heads,
        proposers={
            one.id: Proposer(one.agent, one.model, one.steps, one.base_sha)
            for one in evaluation.alternatives
        },
    )
    calibration = _calibration(stored) if stored else None
    return dict(to_json(verdict, subject, verifier=verifier, calibration=calibration))


def _calibration(stored: StoredCalibrator) -> Calibration:
    history = stored.calibrator.history
    return Calibration(
        stored.id,
        stored.calibrator.fitted_at,
        history.issues,
        history.correct,
        history.incorrect,
    )


def with_unreadable(verdict: GroupVerdict, candidates: Sequence[Candidate]) -> GroupVerdict:
    """The verdict with those candidates in their places whose patch could not be read (pure).

    What is none of the candidates' is our own, and comes last.
    """
    judged = {one.id: one for one in verdict.patches}
    pulls = {candidate.pull: patch_id(candidate.pull) for candidate in candidates}
    theirs = [judged.get(pulls[one.pull]) or _unreadable(one) for one in candidates]
    ours = [one for one in verdict.patches if one.id not in pulls.values()]
    return replace(verdict, patches=(*theirs, *ours))


def _unreadable(candidate: Candidate) -> PatchVerdict:
    return PatchVerdict(
        id=patch_id(candidate.pull),
        verdict=Verdict.NOT_JUDGED,
        votes=VoteCount(),
        reason=f"Its patch could not be read: {candidate.unreadable}",
        coverage=Coverage(files=candidate.files, files_seen=0),
    )
