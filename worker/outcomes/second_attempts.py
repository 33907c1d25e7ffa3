"""What a verdict or a maintainer says against an alternative becomes the hint of a second attempt at it.

The hint is kept, and the attempt is made when the issue is looked at next. Nobody who judges is shown one.
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
    Refused,
    Remark,
    Situation,
    Tried,
    new_edits,
    second_attempts,
)
from app.values.identifiers import (
    AlternativeNumber,
    CommitSha,
    EvaluationId,
    IssueNumber,
    RepositoryId,
)
from model.agents.trajectories.guidance import Guidance, Source, guided
from model.domain import Issue, PatchId
from model.verdict_json import patches_from_json
from worker.repositories.repository_config import last_good


@dataclass(frozen=True, slots=True)
class Words:
    """A maintainer's, against an alternative. Untrusted text."""

    about: AlternativeNumber | None
    """None: they name no patch."""
    said: str
    by: str
    """The login."""


_FAILED = frozenset({"failure", "timed_out"})
"""Conclusions of a check that say something of the code."""

Leads = tuple[AlternativeNumber, ...] | Refused
"""Which alternatives are tried again, or why none is."""


def are_due(leads: Leads) -> bool:
    """Whether the issue is to be looked at again (pure)."""
    return not isinstance(leads, Refused) and bool(leads)


def after_verdict(connection: Connection, evaluation: Evaluation) -> Leads:
    """Our own verdict's reasons become hints about what it calls incorrect."""
    document = _document(evaluation)
    reasons = {one.id: one.reason for one in patches_from_json(document)}
    remark = Remark(Source.VERDICT)
    return _leave(connection, evaluation, remark, reasons, document.get("verifier", ""))


def after_words(connection: Connection, evaluation: Evaluation, words: Words) -> Leads:
    """A maintainer's words become the hint about the alternative that they are about."""
    said = {one.id: words.said for one in evaluation.alternatives}
    remark = Remark(Source.MAINTAINER, words.about)
    return _leave(connection, evaluation, remark, said, words.by)


def after_check(connection: Connection, event: CheckEvent) -> tuple[IssueNumber, ...]:
    """What a failing check prints about a copy of an alternative becomes the hint about that one.

    A copy is a pull request that makes the same edit, or the draft that we opened of it. Returns the issues to look at again.
    """
    failed = event.action is CheckAction.COMPLETED and event.conclusion in _FAILED
    if event.is_suite or not failed or not event.output:
        return ()
    told = _Told(Source.CHECK, event.output, event.name)
    return _of_copies(connection, event.repository.id, event.head, told)


def may_concern(connection: Connection, event: ReviewEvent) -> bool:
    """Whether a review asks for changes to a copy of an alternative, or to the draft that we opened of one."""
    asks = event.action is ReviewAction.SUBMITTED and event.state == "changes_requested"
    return (
        asks
        and event.commit is not None
        and bool(_about(connection, event.repository.id, event.commit))
    )


def after_review(
    connection: Connection, event: ReviewEvent, comments: Iterable[ReviewComment]
) -> tuple[IssueNumber, ...]:
    """What a review that asks for changes says, as a whole and of lines; the caller knows that its author may write."""
    of_lines = (f"{one.path}: {one.body}" for one in comments if one.body.strip())
    words = "\n\n".join(filter(None, (event.body.strip(), *of_lines)))
    if not words or event.commit is None or not may_concern(connection, event):
        return ()
    told = _Told(Source.MAINTAINER, words, event.author.login)
    return _of_copies(connection, event.repository.id, event.commit, told)


@dataclass(frozen=True, slots=True)
class _Told:
    source: Source
    words: str
    by: str


def _of_copies(
    connection: Connection, number: RepositoryId, head: CommitSha, told: _Told
) -> tuple[IssueNumber, ...]:
    again: dict[IssueNumber, None] = {}
    for issue, alternative, identity in _about(connection, number, head):
        evaluation = evaluations.load(connection, identity)
        if evaluation is None:
            continue
        remark = Remark(told.source, alternative)
        said = {one.id: told.words for one in evaluation.alternatives}
        if are_due(_leave(connection, evaluation, remark, said, told.by)):
            again[issue] = None
    return tuple(again)


def _about(
    connection: Connection, number: RepositoryId, head: CommitSha
) -> list[tuple[IssueNumber, AlternativeNumber, EvaluationId]]:
    """The alternatives that make the edit which is at this head."""
    copied = [
        (pair.issue, pair.number, pair.evaluation)
        for pair in second_attempt_matches.at_head(connection, number, head)
        if not new_edits([pair.theirs], [pair.ours])
    ]
    return [*copied, *second_attempt_matches.drafted(connection, number, head)]


def guidance(tree: Path, hint: Hint) -> Guidance | None:
    """What the agent is told of a hint; None where nothing can be made of it."""
    found = (
        Path(folder, name).relative_to(tree).as_posix()
        for folder, _, names in os.walk(tree)
        for name in names
    )
    return guided(hint.source, hint.words, said_by=hint.said_by, paths=frozenset(found))


def _leave(
    connection: Connection,
    evaluation: Evaluation,
    remark: Remark,
    words: Mapping[PatchId, str],
    said_by: str,
) -> Leads:
    found = _decided(connection, evaluation, remark)
    for one in evaluation.alternatives:
        if not isinstance(found, Refused) and one.number in found:
            hints.leave(connection, Hint(one.attempt, remark.source, words[one.id], said_by))
    return found


def _decided(connection: Connection, evaluation: Evaluation, remark: Remark) -> Leads:
    stored = groups.repository(connection, evaluation.repository)
    if stored is None or not evaluation.alternatives:
        return ()
    issue = Issue(evaluation.title, evaluation.body)
    bases = {one.base_sha for one in evaluation.alternatives}
    now = Situation(
        pulls=len(evaluation.judged),
        tried=attempts.tried(connection, evaluation.group, bases, attempts.issue_sha256(issue)),
        today=proposals.made_today(connection, evaluation.group),
        spent=attempts.spent(connection, evaluation.repository),
        has_agent=True,  # it wrote these; if it is gone by now, that is said when the attempt is to be made
    )
    hinted = hints.hinted(connection, [one.attempt for one in evaluation.alternatives])
    tried = tuple(_tried(evaluation, hinted))
    return second_attempts(last_good(stored.config_text), tried, remark, now)


def _tried(evaluation: Evaluation, hinted: frozenset[int]) -> Iterable[Tried]:
    verdicts = {one.id: one for one in patches_from_json(_document(evaluation))}
    for one in evaluation.alternatives:
        yield Tried(
            number=one.number,
            verdict=verdicts[one.id].verdict,
            is_second=one.guided_by is not None,
            has_second=one.attempt in hinted,
        )


def _document(evaluation: Evaluation) -> dict[str, Any]:
    return cast("dict[str, Any]", evaluation.verdict)
