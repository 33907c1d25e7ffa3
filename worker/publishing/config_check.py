"""Give a pull request that breaks the bot's configuration a failing check run before it is merged."""

from app import comments
from app.db.store.queue.effects import config_check_key
from app.github.api import graphql_reader
from app.github.api.effect_store import EffectKey
from app.github.api.publisher import Publisher
from app.github.errors import NotFound
from app.github.facts import PullIssues
from app.settings.repo_config import FILE, ConfigError
from app.values.identifiers import PullNumber, RepositoryRef
from worker.publishing.publish_verdict import build_check_draft
from worker.repositories import repository_config


def check_pull_request(publisher: Publisher, repository: RepositoryRef, pull: PullNumber) -> None:
    """Read a pull request's configuration file from GitHub, and report an error in it."""
    try:
        pull_issues = graphql_reader.read_pull(publisher.github, repository, pull)
    except NotFound:
        return
    report_broken_config(publisher, repository, pull_issues)


def report_broken_config(
    publisher: Publisher, repository: RepositoryRef, pull_issues: PullIssues
) -> None:
    """Write a failing check run when the new file for the default branch is invalid."""
    pull = pull_issues.pull
    if pull_issues.new_config is None or pull.base_ref != pull_issues.default_branch:
        return
    broken = repository_config.read_config(pull_issues.new_config)
    if isinstance(broken, ConfigError):
        key = EffectKey(repository, config_check_key(pull.number, pull.head_sha))
        text = comments.write_config_check(broken, FILE, pull.head_sha)
        publisher.check_run(key, build_check_draft(text))
