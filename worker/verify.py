"""Have one snapshot of rivals judged. This process reads what strangers wrote and holds no secret."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.db.session import transaction
from app.db.store import evaluations, progress, votes
from app.db.store.candidates import Candidate
from app.db.store.evaluations import Evaluation, Verified, patch_id
from app.jobs import Json, Planned, PublishVerdict, VerifyGroup
from model.domain import (
    Coverage,
    GroupVerdict,
    Issue,
    Patch,
    PatchVerdict,
    Verdict,
    VoteCount,
)
from model.protocols import Verifier
from model.verdict_json import Subject, to_json
from worker.context import Context


@dataclass(frozen=True, slots=True)
class VerifyGroupHandler:
    """Submits the candidates of one evaluation as one group to the verifier."""

    verifier: Callable[[], Verifier]
    """Made at the first use: loading a local model takes seconds that a worker's start need not."""

    def __call__(self, context: Context, job: VerifyGroup) -> None:
        """Judge, store every vote, and have the verdict published. Asking again adds votes."""
        verifier = self.verifier()
        with transaction(context.database) as connection:
            evaluation = evaluations.load(connection, job.evaluation)
            if evaluation is None or evaluation.state != "collected":
                return
            earlier = votes.earlier(
                connection, evaluation.group, evaluation.fingerprint, verifier.engine
            )
        candidates = [judged.candidate for judged in evaluation.judged]
        verdict = verifier.verify(
            Issue(evaluation.title, evaluation.body),
            [Patch(patch_id(c.pull), c.diff) for c in candidates if c.diff is not None],
            votes=evaluation.votes,
            earlier=earlier,
            on_vote=lambda done, asked: self._report(context, done, asked),
            keep_going=context.keep_going,
        )
        whole = with_unreadable(verdict, candidates)
        new = verdict.votes[len(earlier) :]
        finish(context, job, Verified(document(evaluation, whole), whole.patches, new))

    def _report(self, context: Context, done: int, asked: int) -> None:
        with context.transaction() as connection:
            progress.set_progress(connection, context.claimed, f"{done} of {asked} votes")


def finish(context: Context, job: VerifyGroup, verified: Verified) -> None:
    """Store what became of an evaluation and have it published."""
    publish = PublishVerdict(job.installation, job.repository, job.issue, job.evaluation)
    with context.transaction() as connection:
        evaluations.save_verdict(connection, job.evaluation, verified)
        context.enqueue(connection, [Planned(publish)])


def document(evaluation: Evaluation, verdict: GroupVerdict) -> Json:
    """The `r4p.verdict/1` document about an evaluation (pure)."""
    heads = {patch_id(j.candidate.pull): j.candidate.head_sha for j in evaluation.judged}
    subject = Subject(
        title=evaluation.title,
        group_id=str(evaluation.group),
        repository=evaluation.repository_name,
        number=evaluation.issue,
        head_shas=heads,
    )
    return dict(to_json(verdict, subject))


def with_unreadable(verdict: GroupVerdict, candidates: Sequence[Candidate]) -> GroupVerdict:
    """The verdict with those candidates in their places whose patch could not be read (pure)."""
    judged = {one.id: one for one in verdict.patches}
    return replace(
        verdict,
        patches=tuple(
            judged.get(patch_id(candidate.pull)) or _unreadable(candidate)
            for candidate in candidates
        ),
    )


def _unreadable(candidate: Candidate) -> PatchVerdict:
    return PatchVerdict(
        id=patch_id(candidate.pull),
        verdict=Verdict.NOT_JUDGED,
        votes=VoteCount(),
        reason=f"Its patch could not be read: {candidate.unreadable}",
        coverage=Coverage(files=candidate.files, files_seen=0),
    )
