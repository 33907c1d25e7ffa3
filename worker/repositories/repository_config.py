"""Read a repository's settings from its default branch; the last valid file stays in use."""

from dataclasses import dataclass

from app.db.session import transaction
from app.db.store.issues import groups, issue_controls
from app.db.store.issues.groups import StoredRepository
from app.github.api import graphql_reader
from app.github.errors import NotFound
from app.github.facts import ConfigBlob
from app.github.http.connection import GitHub
from app.jobs.job import RefreshConfig
from app.settings import repo_config
from app.settings.config_layers import combine
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


def choose_config(stored: StoredRepository, blob: ConfigBlob | None) -> CurrentConfig:
    """Return the settings of the file `blob` if it is valid, else the stored ones with the file's errors (pure).

    `blob` is the present file on GitHub, and `stored` holds the last valid one and the organisation's default. Without
    a file (`blob` is None), the organisation's default applies, then the bot's.
    """
    text, problem = (None, None) if blob is None else (blob.text, None)
    if blob is not None and isinstance(newest := read_config(blob), ConfigError):
        text, problem = stored.config_text, "\n".join(map(str, newest.problems))
    return CurrentConfig(combine(text, stored.default_text), text, problem)


def parse_last_good(stored: StoredRepository | None) -> RepoConfig:
    """Parse a repository's last valid settings file and its organisation's default (pure).

    The bot's defaults apply where neither has a key, and for None, an unknown repository.
    """
    if stored is None:
        return WITHOUT_FILE
    return combine(stored.config_text, stored.default_text)


def get_quiet_seconds(stored: StoredRepository | None, least: float) -> float:
    """Return how many seconds an issue must be quiet before its evaluation, at least `least` (pure)."""
    return max(parse_last_good(stored).quiet_minutes * 60.0, least)


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
    current = choose_config(stored, facts.config)
    with context.transaction() as connection:
        groups.save_config(connection, job.repository, text=current.text, error=current.error)
        issue_controls.refresh_default(connection, stored.ref)
