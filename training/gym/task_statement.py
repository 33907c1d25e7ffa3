"""Write the statement of a task: with a model where there is one and its issue can be used, else from the failing tests."""

from dataclasses import dataclass
from functools import partial

from model.errors import GitFailed
from model.gyms.gym_task import StatementFrom
from training.gym.back_translation.failing_test import choose_failing_tests
from training.gym.back_translation.issue_reply import NoIssue
from training.gym.back_translation.issue_writer import CommitEvidence
from training.gym.commit_change import BuildSettings, CommitChange, Refused
from training.gym.commits.history import ContentReader, read_message
from training.gym.leak_check import find_leaks
from training.gym.statement import read_sources, write_statement
from training.gym.validation import TestVerdicts


@dataclass(frozen=True, slots=True)
class TaskStatement:
    """The text of a task's issue, and where it comes from."""

    text: str
    source: StatementFrom | None = None
    """None where no model was to be asked."""
    no_issue: str | None = None
    """Why no issue of a model is the statement; None if one is, or if no model was to be asked."""


def write_task_statement(
    settings: BuildSettings, change: CommitChange, verdicts: TestVerdicts
) -> TaskStatement:
    """Return the statement of a commit's task. Raises Refused when each way to write it gives away the solution."""
    if settings.issue_writer is None:
        return TaskStatement(_write_from_tests(settings, change, verdicts))
    try:
        evidence = _collect_evidence(settings, change, verdicts)
        return TaskStatement(settings.issue_writer.write(evidence), StatementFrom.MODEL)
    except NoIssue as no_issue:
        text = _write_from_tests(settings, change, verdicts)
        return TaskStatement(text, StatementFrom.TESTS, str(no_issue.reason))


def _collect_evidence(
    settings: BuildSettings, change: CommitChange, verdicts: TestVerdicts
) -> CommitEvidence:
    try:
        message = read_message(settings.repository, change.commit)
    except GitFailed as error:
        raise Refused("its diff cannot be read or applied") from error
    tests = choose_failing_tests(
        verdicts.fail_to_pass, verdicts.errors, change.test_changes.written
    )
    return CommitEvidence(message, change.patch, change.test_patch, tests)


def _write_from_tests(settings: BuildSettings, change: CommitChange, verdicts: TestVerdicts) -> str:
    diffs = change.patch, change.test_patch
    tests = verdicts.fail_to_pass
    with ContentReader(settings.repository) as reader:
        read = partial(reader.read, change.commit.sha)
        sources = read_sources(tests, change.test_changes.written, read)
    statement = write_statement(settings.name, tests, verdicts.errors, *diffs, sources)
    if find_leaks(statement, *diffs):
        raise Refused("its statement gives away the solution")
    return statement
