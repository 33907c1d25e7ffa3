"""Read a repository's settings from its default branch; the last valid file stays in use."""

from dataclasses import dataclass

from app.db.session import transaction
from app.db.store.issues import groups
from app.github.api import graphql_reader
from app.github.errors import NotFound
from app.github.facts import ConfigBlob
from app.github.http.connection import GitHub
from app.jobs.job import RefreshConfig
from app.settings import repo_config
from app.settings.repo_config import WITHOUT_FILE, ConfigError, Problem, RepoConfig
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class CurrentConfig:
    """A repository's settings in use, and the errors of its newest settings file if that is invalid."""

    config: RepoConfig
    text: str | None
    """The file in use; None when there is none and the defaults apply."""
    error: str | None = None


def read_config(blob: ConfigBlob) -> RepoConfig | ConfigError:
    """Parse a repository's settings file, or return its errors (pure)."""
    if blob.text is None:
        problem = f"the file can't be read as text ({blob.byte_size} bytes)"
        return ConfigError((Problem(None, problem),))
    return repo_config.parse(blob.text)


def choose_config(stored_text: str | None, blob: ConfigBlob | None) -> CurrentConfig:
    """Return a repository's newest settings if valid, else the stored ones with the errors (pure)."""
    if blob is None:
        return CurrentConfig(WITHOUT_FILE, None)
    newest = read_config(blob)
    if isinstance(newest, ConfigError):
        problem = "\n".join(map(str, newest.problems))
        return CurrentConfig(parse_last_good(stored_text), stored_text, problem)
    return CurrentConfig(newest, blob.text)


def parse_last_good(stored_text: str | None) -> RepoConfig:
    """Parse a repository's stored settings; return the defaults if there are none or they do not parse (pure)."""
    if stored_text is None:
        return WITHOUT_FILE
    parsed = repo_config.parse(stored_text)
    return WITHOUT_FILE if isinstance(parsed, ConfigError) else parsed


def get_quiet_seconds(stored_text: str | None, least: float) -> float:
    """Return how long an issue must be quiet before its evaluation (pure)."""
    return max(parse_last_good(stored_text).quiet_minutes * 60.0, least)


def refresh_config(github: GitHub, context: Context, job: RefreshConfig) -> None:
    """Read `.github/r4p.yml` after a push that touched it, and at installation.

    Store the newest valid file and the newest file's errors.
    """
    with transaction(context.database) as connection:
        stored = groups.load_active_repository(connection, job.repository)
    if stored is None:
        return
    try:
        facts = graphql_reader.read_repository(github, stored.ref)
    except NotFound:
        return
    current = choose_config(stored.config_text, facts.config)
    with context.transaction() as connection:
        groups.save_config(connection, job.repository, text=current.text, error=current.error)
