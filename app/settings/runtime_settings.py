"""Where the bot's data lives, how it logs, and the pace of its work."""

from typing import Literal

from pydantic import field_validator

from app.settings.loader import Settings


class LogSettings(Settings):
    """How this process logs."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["text", "json"] = "text"


class ChildSettings(Settings):
    """Whose child this process is."""

    end_with_parent: bool = False
    """`r4p up` sets this for its children, so that no child outlives a parent that was killed."""


class DatabaseSettings(Settings):
    """Where the queue of record and everything else lives."""

    database_url: str
    """`postgresql://…`, PostgreSQL 15 or newer."""
    pool_size: int = 8

    @field_validator("database_url")
    @classmethod
    def _plain_scheme(cls, value: str) -> str:
        if not value.startswith("postgresql://"):
            scheme, mark, _ = value.partition("://")
            given = f", not with {scheme}{mark}" if mark else ""
            raise ValueError(f"must start with postgresql://{given}")
        return value


class BrokerSettings(Settings):
    """Where the doorbell hangs; losing it delays work by one sweep and loses nothing."""

    redis_url: str
    """`redis://…` or `redis+socket:///path`."""


class QueueSettings(Settings):
    """The pace of the queue of record."""

    debounce_seconds: float = 10.0
    """A burst of events on one issue is one evaluation, this long after the last of them."""
    lease_seconds: float = 60.0
    heartbeat_seconds: float = 15.0
    sweep_seconds: float = 2.0
    retry_seconds: float = 5.0
    """First delay after a failed attempt; doubles with each."""
    max_attempts: int = 3
    concurrency: int = 2
    """Celery child processes per worker."""
    day_seconds: float = 86_400.0
    """How long a day lasts: survival is measured after 7, 30 and 90 of them."""
    reactions_seconds: float = 3_600.0
    """How often the thumbs on a verdict are polled."""
    reconcile_seconds: float = 900.0
    """How often we look for what webhooks missed: open pull requests, and the webhooks themselves."""
    calibrate_seconds: float = 3_600.0
    """How often calibrators are fitted again on what became of judged patches."""
