"""A pull request that would break our configuration gets a red check before it is merged."""

from app import comments
from app.db.store.queue.effects import config_check_key
from app.github.api import graphql_reader
from app.github.api.effect_store import EffectKey
from app.github.api.publisher import Publisher
from app.github.errors import NotFound
from app.github.facts import PullIssues
from app.settings.repo_config import FILE, ConfigError
from app.values.identifiers import PullNumber, RepositoryRef
from worker.publishing.publish_verdict import as_draft
from worker.repositories import repository_config


def look(publisher: Publisher, repository: RepositoryRef, pull: PullNumber) -> None:
    """Ask GitHub what a pull request does to the file, in one call, and warn."""
    try:
        found = graphql_reader.pull_issues(publisher.github, repository, pull)
    except NotFound:
        return
    warn(publisher, repository, found)


def warn(publisher: Publisher, repository: RepositoryRef, found: PullIssues) -> None:
    """The red check, where the file that would come to the default branch can't be used."""
    pull = found.pull
    if found.new_config is None or pull.base_ref != found.default_branch:
        return
    broken = repository_config.read(found.new_config)
    if isinstance(broken, ConfigError):
        key = EffectKey(repository, config_check_key(pull.number, pull.head_sha))
        text = comments.config_check(broken, FILE, pull.head_sha)
        publisher.check_run(key, as_draft(text))
