"""Settings of the database, the broker, the logs and the pace of work."""

from typing import Literal

from pydantic import Field, field_validator

from app.settings.loader import Settings


class LogSettings(Settings):
    """Level and format of this process's log."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The least important records that the process logs."""
    log_format: Literal["text", "json"] = "text"
    """`json` writes one JSON object a line."""


class ChildSettings(Settings):
    """Settings of a process that another process of the bot started."""

    end_with_parent: bool = False
    """End when the parent process dies. `r4p up` sets it for its children."""


class DatabaseSettings(Settings):
    """The database, which holds the queue and everything else."""

    database_url: str
    """`postgresql://…`, PostgreSQL 15 or newer."""
    pool_size: int = 8
    """Most database connections of one process."""

    @field_validator("database_url")
    @classmethod
    def _plain_scheme(cls, value: str) -> str:
        if not value.startswith("postgresql://"):
            scheme, mark, _ = value.partition("://")
            actual = f", not with {scheme}{mark}" if mark else ""
            raise ValueError(f"must start with postgresql://{actual}")
        return value


class BrokerSettings(Settings):
    """The Celery broker. Without it, work waits for the next sweep, but nothing is lost."""

    redis_url: str
    """`redis://…` or `redis+socket:///path`."""


class QueueSettings(Settings):
    """Intervals and limits of the job queue."""

    debounce_seconds: float = 10.0
    """Delay after the last event on an issue, so that a burst of events leads to one evaluation."""
    lease_seconds: float = 60.0
    """Time after the last heartbeat for which a worker still owns its job."""
    heartbeat_seconds: float = 15.0
    """How often a worker renews the lease of its job."""
    sweep_seconds: float = 2.0
    """How often beat looks for due jobs and expired leases."""
    retry_seconds: float = 5.0
    """Delay after the first failed attempt. It doubles with each further attempt."""
    max_attempts: int = 3
    """Attempts at a job before it gives up."""
    concurrency: int = 2
    """Number of child processes of a worker."""
    max_running_per_installation: int = Field(default=16, ge=1)
    """Most jobs of one installation that run at the same time in one queue. Workers that claim in the same moment
    may exceed it by their number."""
    day_seconds: float = 86_400.0
    """Length of a day. Survival is measured after 7, 30 and 90 days."""
    reactions_seconds: float = 3_600.0
    """Interval between two reads of the thumbs on a verdict."""
    reconcile_seconds: float = 900.0
    """Interval between two searches for missed changes and webhooks."""
    calibrate_seconds: float = 3_600.0
    """Interval between two fits of the calibrators."""
