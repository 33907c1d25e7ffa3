"""Carry out the commands that control the work on one issue: `cancel`, `pause`, `resume`, `delegate` and `config`."""

from app import comments
from app.db.session import transaction
from app.db.store.issues import evaluations, groups, issue_controls
from app.db.store.queue import installation_controls, jobs
from app.jobs.job import EvaluateIssue, Planned
from app.jobs.suite_jobs import list_evaluation_keys
from app.policy.ceilings import clip_config, override_ceilings
from app.policy.commands import Command, GroupEdit, Verb
from app.policy.event_policy import BY_APPROVAL
from app.policy.group_policy import PAUSED
from app.settings import CeilingSettings
from app.settings.config_layers import list_settings
from app.values.identifiers import CommandSource, RepositoryId
from worker.commands.command_subject import CommandResult, Subject
from worker.queue.context import Context
from worker.repositories.repository_config import parse_last_good

CANCELLED = "a maintainer wrote `/r4p cancel`; a change or `/r4p verify` starts a new evaluation"
"""Reason that `/r4p status` shows after a cancellation."""


def cancel(context: Context, subject: Subject, _command: Command) -> CommandResult:
    """Stop the issue's unpublished evaluations and their jobs; a published verdict stays."""
    repository = subject.repository
    place = (repository.installation, repository.id, subject.issue)
    with context.transaction() as connection:
        group = groups.ensure_group(connection, repository.id, subject.issue)
        stopped = evaluations.supersede_unpublished(connection, group)
        keys = [EvaluateIssue(*place, "").key, *list_evaluation_keys(stopped)]
        ended = jobs.supersede(connection, keys)
        if stopped or ended:
            groups.set_waiting(connection, group, CANCELLED)
    return CommandResult(comments.write_cancel_reply(subject.asked_in, len(stopped) + ended))


def switch_pause(context: Context, subject: Subject, command: Command) -> CommandResult:
    """Stop automatic judging of the issue until `resume`, which looks at the issue again."""
    repository, pauses = subject.repository, command.verb is Verb.PAUSE
    with context.transaction() as connection:
        group = groups.ensure_group(connection, repository.id, subject.issue)
        issue_controls.set_pause(connection, group, subject.author if pauses else None)
        groups.set_waiting(connection, group, PAUSED if pauses else None)
        if not pauses and not jobs.has_job_for(connection, subject.delivery, EvaluateIssue.kind):
            place = (repository.installation, repository.id, subject.issue)
            context.enqueue(connection, [Planned(EvaluateIssue(*place, BY_APPROVAL))])
    return CommandResult()


def edit_delegates(context: Context, subject: Subject, command: Command) -> CommandResult:
    """Let people use commands on the issue, or end that, and reply with who may now."""
    with context.transaction() as connection:
        group = groups.ensure_group(connection, subject.repository.id, subject.issue)
        if command.edit is GroupEdit.ADD:
            issue_controls.delegate(connection, group, command.logins, subject.author)
        elif command.edit is GroupEdit.REMOVE:
            issue_controls.end_delegation(connection, group, command.logins)
        delegates = issue_controls.list_delegates(connection, group)
    return CommandResult(comments.write_delegates_reply(subject.asked_in, delegates))


def show_config(
    context: Context, ceilings: CeilingSettings, repository: RepositoryId, asked_in: CommandSource
) -> CommandResult:
    """Reply with every setting of a repository in use, and where each comes from."""
    with transaction(context.database) as connection:
        stored = groups.load_repository(connection, repository)
        own = {}
        if stored is not None:
            own = installation_controls.read_limits(connection, stored.ref.installation)
    if stored is None:
        return CommandResult(is_done=False)
    allowed = clip_config(parse_last_good(stored), override_ceilings(ceilings, own))
    settings = list_settings(stored.config_text, stored.default_text, allowed)
    return CommandResult(comments.write_config_reply(asked_in, settings, stored.config_error))
