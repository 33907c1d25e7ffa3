"""Check `.github/r4p.yml` in pull requests: one that breaks the bot's configuration gets a failing check run."""

from collections.abc import Iterable

from app import comments
from app.db.store.issues.candidates import Candidate
from app.db.store.queue.effects import build_config_check_key
from app.github.api import graphql_reader
from app.github.api.effect_store import EffectKey
from app.github.api.publisher import Publisher
from app.github.errors import NotFound, WritePaceExceeded
from app.github.facts import PullIssues
from app.github.http.connection import GitHub
from app.jobs.job import LocateIssues, Planned
from app.settings.repo_config import FILE, ConfigError
from app.values.identifiers import RepositoryRef
from worker.publishing import publish_verdict
from worker.queue.context import Context
from worker.repositories import repository_config


def check_candidates(
    github: GitHub,
    context: Context,
    repository: RepositoryRef,
    candidates: Iterable[Candidate],
) -> None:
    """Write a failing check run on each candidate that makes the settings file invalid.

    Without a free write, a later job checks the candidate, so that the verdict does not wait.
    """
    publisher = Publisher(github.for_replies, context.open_effects())
    for candidate in candidates:
        if candidate.diff is not None and FILE not in candidate.diff:
            continue
        try:
            pull = graphql_reader.read_pull(github, repository, candidate.pull)
            report_broken_config(publisher, repository, pull)
        except NotFound:
            continue
        except WritePaceExceeded:
            later = LocateIssues(repository.installation, repository.id, candidate.pull)
            with context.transaction() as connection:
                context.enqueue(connection, [Planned(later)])


def report_broken_config(
    publisher: Publisher, repository: RepositoryRef, pull_issues: PullIssues
) -> None:
    """Write a failing check run if a pull request to the default branch makes `.github/r4p.yml` invalid.

    `pull_issues` holds the pull request, as read from GitHub, with the new text of that file.
    """
    pull = pull_issues.pull
    if pull_issues.new_config is None or pull.base_ref != pull_issues.default_branch:
        return
    broken = repository_config.read_config(pull_issues.new_config)
    if isinstance(broken, ConfigError):
        key = EffectKey(repository, build_config_check_key(pull.number, pull.head_sha))
        text = comments.write_config_check(broken, FILE, pull.head_sha)
        publisher.check_run(key, publish_verdict.build_check_draft(text))
