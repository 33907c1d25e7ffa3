"""Save a verdict's or a maintainer's criticism of an alternative as the hint of a second attempt.

The attempt follows at the issue's next evaluation. Judges never see a hint.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection

from app.db.store.alternatives import attempts, hints, proposals, second_attempt_matches
from app.db.store.alternatives.hints import Hint
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluations import Evaluation
from app.events import CheckAction, CheckEvent, ReviewAction, ReviewEvent
from app.github.api.rest_reader import ReviewComment
from app.policy.alternative_policy import (
    AttemptSummary,
    NoAttempt,
    Remark,
    Situation,
    choose_second_attempts,
    find_new_edits,
)
from app.values.identifiers import (
    AlternativeNumber,
    CommitSha,
    EvaluationId,
    IssueNumber,
    RepositoryId,
)
from model.agents.trajectories.guidance import Guidance, HintSource, build_guidance
from model.domain import Issue, PatchId
from model.verdict_json import read_patches
from worker.repositories.repository_config import parse_last_good


@dataclass(frozen=True, slots=True)
class MaintainerRemark:
    """A maintainer's comment on an alternative. Untrusted text."""

    about: AlternativeNumber | None
    """The alternative; None when the comment names none."""
    text: str
    login: str
    """The maintainer's login."""


_FAILED = frozenset({"failure", "timed_out"})
"""Conclusions of a check that say something about the code."""

HintResult = tuple[AlternativeNumber, ...] | NoAttempt
"""The alternatives that get a second attempt, or why none does."""


def has_second_attempts(leads: HintResult) -> bool:
    """Return whether `leads`, the result of saving hints, names an alternative for a second attempt (pure)."""
    return not isinstance(leads, NoAttempt) and bool(leads)


def leave_hints_of_verdict(connection: Connection, evaluation: Evaluation) -> HintResult:
    """Save the verdict's reasons as hints for alternatives that it calls incorrect.

    Returns the numbers of the alternatives that get a second attempt, or why none does.
    """
    document = _get_document(evaluation)
    reasons = {patch.id: patch.reason for patch in read_patches(document)}
    remark = Remark(HintSource.VERDICT)
    return _leave_hints(connection, evaluation, remark, reasons, document.get("verifier", ""))


def leave_hints_of_maintainer(
    connection: Connection, evaluation: Evaluation, words: MaintainerRemark
) -> HintResult:
    """Save the maintainer's comment `words` as the hint for the alternative that it is about.

    Returns the numbers of the alternatives that get a second attempt, or why none does.
    """
    texts = {alternative.id: words.text for alternative in evaluation.alternatives}
    remark = Remark(HintSource.MAINTAINER, words.about)
    return _leave_hints(connection, evaluation, remark, texts, words.login)


def leave_hints_of_check(connection: Connection, event: CheckEvent) -> tuple[IssueNumber, ...]:
    """Save a failing check's output as the hint for each alternative whose edit the checked commit makes.

    The commit is the head of a pull request with the same edit, or of the bot's own draft. Returns the numbers of the
    issues to evaluate again; empty for any other check.
    """
    failed = event.action is CheckAction.COMPLETED and event.conclusion in _FAILED
    if event.is_suite or not failed or not event.output:
        return ()
    hint = _HintText(HintSource.CHECK, event.output, event.name)
    return _leave_hints_of_copies(connection, event.repository.id, event.head, hint)


def is_about_alternative(connection: Connection, event: ReviewEvent) -> bool:
    """Return whether a review requests changes to a copy or to the draft of an alternative.

    A copy is a pull request with the same edit.
    """
    asks = event.action is ReviewAction.SUBMITTED and event.state == "changes_requested"
    return (
        asks
        and event.commit is not None
        and bool(_find_copies(connection, event.repository.id, event.commit))
    )


def leave_hints_of_review(
    connection: Connection, event: ReviewEvent, comments: Iterable[ReviewComment]
) -> tuple[IssueNumber, ...]:
    """Save a review that requests changes, with its line comments, as the hint for the reviewed alternative.

    Returns the numbers of the issues to evaluate again; may be empty. The caller has checked that the author may write.
    """
    of_lines = (f"{comment.path}: {comment.body}" for comment in comments if comment.body.strip())
    words = "\n\n".join(filter(None, (event.body.strip(), *of_lines)))
    if not words or event.commit is None or not is_about_alternative(connection, event):
        return ()
    hint = _HintText(HintSource.MAINTAINER, words, event.author.login)
    return _leave_hints_of_copies(connection, event.repository.id, event.commit, hint)


@dataclass(frozen=True, slots=True)
class _HintText:
    source: HintSource
    words: str
    author: str


def _leave_hints_of_copies(
    connection: Connection, number: RepositoryId, head: CommitSha, hint: _HintText
) -> tuple[IssueNumber, ...]:
    again: dict[IssueNumber, None] = {}
    for issue, alternative, identity in _find_copies(connection, number, head):
        evaluation = evaluations.load(connection, identity)
        if evaluation is None:
            continue
        remark = Remark(hint.source, alternative)
        texts = {patch.id: hint.words for patch in evaluation.alternatives}
        if has_second_attempts(_leave_hints(connection, evaluation, remark, texts, hint.author)):
            again[issue] = None
    return tuple(again)


def _find_copies(
    connection: Connection, number: RepositoryId, head: CommitSha
) -> list[tuple[IssueNumber, AlternativeNumber, EvaluationId]]:
    """Return the alternatives whose edit this commit makes."""
    copied = [
        (pair.issue, pair.number, pair.evaluation)
        for pair in second_attempt_matches.find_matches(connection, number, head)
        if not find_new_edits([pair.pull_diff], [pair.alternative_diff])
    ]
    return [*copied, *second_attempt_matches.find_drafts_at(connection, number, head)]


def create_guidance(tree: Path, hint: Hint) -> Guidance | None:
    """Build an agent's guidance from a stored hint; None when the hint holds nothing useful.

    The files below the folder `tree` show which words of the hint are paths.
    """
    paths = (
        Path(folder, name).relative_to(tree).as_posix()
        for folder, _, names in os.walk(tree)
        for name in names
    )
    return build_guidance(hint.source, hint.words, said_by=hint.said_by, paths=frozenset(paths))


def _leave_hints(
    connection: Connection,
    evaluation: Evaluation,
    remark: Remark,
    words: Mapping[PatchId, str],
    said_by: str,
) -> HintResult:
    chosen = _decide(connection, evaluation, remark)
    for alternative in evaluation.alternatives:
        if not isinstance(chosen, NoAttempt) and alternative.number in chosen:
            hints.save_hint(
                connection, Hint(alternative.attempt, remark.source, words[alternative.id], said_by)
            )
    return chosen


def _decide(connection: Connection, evaluation: Evaluation, remark: Remark) -> HintResult:
    stored = groups.load_repository(connection, evaluation.repository)
    if stored is None or not evaluation.alternatives:
        return ()
    issue = Issue(evaluation.title, evaluation.body)
    bases = {alternative.base_sha for alternative in evaluation.alternatives}
    now = Situation(
        pulls=len(evaluation.candidates),
        tried=attempts.count_tried(connection, evaluation.group, bases, attempts.hash_issue(issue)),
        today=proposals.count_today(connection, evaluation.group),
        spent=attempts.sum_cost(connection, evaluation.repository),
        has_agent=True,  # it wrote these; a missing agent is reported when the attempt is due
    )
    hinted = hints.find_hinted(
        connection, [alternative.attempt for alternative in evaluation.alternatives]
    )
    tried = tuple(_describe_tried(evaluation, hinted))
    return choose_second_attempts(parse_last_good(stored), tried, remark, now)


def _describe_tried(evaluation: Evaluation, hinted: frozenset[int]) -> Iterable[AttemptSummary]:
    verdicts = {
        alternative.id: alternative for alternative in read_patches(_get_document(evaluation))
    }
    for alternative in evaluation.alternatives:
        yield AttemptSummary(
            number=alternative.number,
            verdict=verdicts[alternative.id].verdict,
            is_second=alternative.guided_by is not None,
            has_second=alternative.attempt in hinted,
        )


def _get_document(evaluation: Evaluation) -> dict[str, Any]:
    return cast("dict[str, Any]", evaluation.verdict)
