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
from app.settings.config_problems import Problem
from app.settings.repo_config import WITHOUT_FILE, ConfigError, RepoConfig
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class CurrentConfig:
    """A repository's settings in use, and the errors of its newest settings file if that is invalid."""

    config: RepoConfig
    text: str | None
    """The file in use; None when there is none and the defaults apply."""
    error: str | None = None


def read_config(blob: ConfigBlob) -> RepoConfig | ConfigError:
    """Parse a repository's settings file, and return its settings, or its errors if it is invalid (pure)."""
    if blob.text is None:
        problem = f"the file can't be read as text ({blob.byte_size} bytes)"
        return ConfigError((Problem(None, problem),))
    return repo_config.parse(blob.text)


def choose_config(stored_text: str | None, blob: ConfigBlob | None) -> CurrentConfig:
    """Return the settings of the file `blob` if it is valid, else the stored ones with the file's errors (pure).

    `blob` is the present file on GitHub, and `stored_text` the last valid one. Without a file (`blob` is None) the
    defaults apply.
    """
    if blob is None:
        return CurrentConfig(WITHOUT_FILE, None)
    newest = read_config(blob)
    if isinstance(newest, ConfigError):
        problem = "\n".join(map(str, newest.problems))
        return CurrentConfig(parse_last_good(stored_text), stored_text, problem)
    return CurrentConfig(newest, blob.text)


def parse_last_good(stored_text: str | None) -> RepoConfig:
    """Parse `stored_text`, a repository's last valid settings file (pure).

    Return the default settings if it is None or does not parse any more.
    """
    if stored_text is None:
        return WITHOUT_FILE
    parsed = repo_config.parse(stored_text)
    return WITHOUT_FILE if isinstance(parsed, ConfigError) else parsed


def get_quiet_seconds(stored_text: str | None, least: float) -> float:
    """Return how many seconds an issue must be quiet before its evaluation, at least `least` (pure).

    `stored_text` is the repository's last valid settings file, or None.
    """
    return max(parse_last_good(stored_text).quiet_minutes * 60.0, least)


def refresh_config(github: GitHub, context: Context, job: RefreshConfig) -> None:
    """Read a repository's `.github/r4p.yml` from GitHub, and store its text if valid, else its errors.

    The job follows a push that touched the file, and an installation. With errors the last valid text stays stored.
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
