"""A repository's own settings: read from the default branch only, the last good file stays in force."""

from dataclasses import dataclass

from app.db.session import transaction
from app.db.store.issues import groups
from app.github.api import graphql_reader
from app.github.errors import NotFound
from app.github.facts import ConfigBlob
from app.github.http.connection import Connection as GitHub
from app.jobs.job import RefreshConfig
from app.settings import repo_config
from app.settings.repo_config import WITHOUT_FILE, ConfigError, Problem, RepoConfig
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class InForce:
    """Which settings hold, and what is wrong with the newest file if that isn't it."""

    config: RepoConfig
    text: str | None
    """The file it was read from; None: there is none, the defaults hold."""
    error: str | None = None


def read(blob: ConfigBlob) -> RepoConfig | ConfigError:
    """The settings in a file, or what is wrong with it (pure)."""
    if blob.text is None:
        problem = f"the file can't be read as text ({blob.byte_size} bytes)"
        return ConfigError((Problem(None, problem),))
    return repo_config.parse(blob.text)


def in_force(stored_text: str | None, blob: ConfigBlob | None) -> InForce:
    """The newest file if it is good, else the stored one with what is wrong (pure)."""
    if blob is None:
        return InForce(WITHOUT_FILE, None)
    found = read(blob)
    if isinstance(found, ConfigError):
        problem = "\n".join(map(str, found.problems))
        return InForce(last_good(stored_text), stored_text, problem)
    return InForce(found, blob.text)


def last_good(stored_text: str | None) -> RepoConfig:
    """The stored settings; the defaults where there are none, or where they no longer parse (pure)."""
    if stored_text is None:
        return WITHOUT_FILE
    found = repo_config.parse(stored_text)
    return WITHOUT_FILE if isinstance(found, ConfigError) else found


def quiet_seconds(stored_text: str | None, least: float) -> float:
    """How long nothing shall have happened to an issue before it is looked at (pure)."""
    return max(last_good(stored_text).quiet_minutes * 60.0, least)


@dataclass(frozen=True, slots=True)
class RefreshConfigHandler:
    """Reads `.github/r4p.yml` after a push that touched it, and when the App is installed."""

    github: GitHub

    def __call__(self, context: Context, job: RefreshConfig) -> None:
        """Store the newest good file, and what is wrong with the newest one."""
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
        if stored is None or stored.suspended:
            return
        try:
            facts = graphql_reader.repository_facts(self.github, stored.ref)
        except NotFound:
            return
        found = in_force(stored.config_text, facts.config)
        with context.transaction() as connection:
            groups.save_config(connection, job.repository, text=found.text, error=found.error)
