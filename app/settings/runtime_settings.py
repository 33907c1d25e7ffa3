"""Settings of the database, the broker, the logs and the pace of work."""

from typing import Annotated, Final, Literal

from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from app.settings.loader import Settings
from app.settings.url_checks import (
    check_broker_url,
    check_database_url,
    find_http_mistake,
)
from app.values.ports import LAST_PORT

LEAST_DAYS: Final = 8
"""Fewest days of retention: GitHub Enterprise Server redelivers webhooks for 7 days, and a GUID must be known so long."""


class LogSettings(Settings):
    """Level and format of this process's log, and where its traces go."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The least important records that the process logs."""
    log_format: Literal["text", "json"] = "text"
    """`json` writes one JSON object a line."""
    traces_url: str = ""
    """Address that takes OpenTelemetry traces by OTLP over HTTP, such as `http://collector:4318/v1/traces`. Empty: no traces.
    It needs the extra `otel`."""

    @field_validator("traces_url")
    @classmethod
    def _check_traces_url(cls, value: str) -> str:
        if value and (why := find_http_mistake(value, "http://HOST:4318/v1/traces")):
            raise ValueError(why)
        return value


class ChildSettings(Settings):
    """Settings of a process that another process of the bot started."""

    end_with_parent: int | None = Field(default=None, ge=1)
    """Process id of the parent: end when it dies. The bot sets it for the processes that it starts."""


class DatabaseSettings(Settings):
    """The database, which holds the queue and everything else."""

    database_url: str
    """`postgresql://…`, PostgreSQL 15 or newer."""
    pool_size: int = Field(8, ge=1)
    """Most database connections of one process."""

    @field_validator("database_url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        return check_database_url(value)


def _parse_days(value: object) -> object:
    """Read a number of days, or `forever` as None."""
    if value is None or value == "forever":
        return None
    try:
        return TypeAdapter(Annotated[int, Field(ge=LEAST_DAYS)]).validate_python(value)
    except ValidationError:
        raise ValueError(
            f"can't be {value!r}: give a whole number of at least {LEAST_DAYS}, or forever"
        ) from None


Days = Annotated[int | None, BeforeValidator(_parse_days)]
"""Days that data stays; None: for ever, as the text `forever`."""


class RetentionSettings(Settings):
    """How long data stays. A purge after the App was removed deletes at once, whatever these settings say."""

    keep_deliveries_days: Days = 30
    """Days that webhook deliveries stay, or `forever`. Their bodies go a month at a time, so at most 31 days later."""
    keep_votes_days: Days = 180
    """Days that the model's replies stay, or `forever`; also a month at a time. Verdicts keep their counts of votes."""
    keep_evaluations_days: Days = 730
    """Days after an issue's last evaluation that its evaluations, patches and outcomes stay, or `forever`. Training and
    calibration learn from nothing older."""


class OperationsSettings(Settings):
    """Where the web process answers `/metrics` and `/readyz`, apart from the webhook's port."""

    ops_host: str = "127.0.0.1"
    """Address to listen on. Strangers must not reach it."""
    ops_port: int = Field(8001, ge=0, le=LAST_PORT)
    """Port to listen on; 0: any free one, which the log names."""


class BrokerSettings(Settings):
    """The Celery broker. While it is down, no job starts, but nothing is lost."""

    redis_url: str
    """`redis://…`, `rediss://…` or `redis+socket:///path`."""

    @field_validator("redis_url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        return check_broker_url(value)


class QueueSettings(Settings):
    """Intervals and limits of the job queue."""

    debounce_seconds: float = Field(10.0, ge=0)
    """Delay after the last event on an issue, so that a burst of events leads to one evaluation. 0: none."""
    lease_seconds: float = Field(60.0, gt=0)
    """Time after the last heartbeat for which a worker still owns its job."""
    heartbeat_seconds: float = Field(15.0, gt=0)
    """How often a worker renews the lease of its job. Less than R4P_LEASE_SECONDS."""
    sweep_seconds: float = Field(2.0, gt=0)
    """How often beat looks for due jobs and expired leases."""
    retry_seconds: float = Field(5.0, ge=0)
    """Delay after the first failed attempt. It doubles with each further attempt. 0: none."""
    max_attempts: int = Field(3, ge=1)
    """Attempts at a job before it gives up."""
    concurrency: int = Field(2, ge=1)
    """Number of child processes of a worker."""
    max_running_per_installation: int = Field(default=16, ge=1)
    """Most jobs of one installation that run at the same time in one queue. Workers that claim in the same moment
    may exceed it by their number."""
    day_seconds: float = Field(86_400.0, gt=0)
    """Length of a day. Survival is measured after 7, 30 and 90 days."""
    reactions_seconds: float = Field(3_600.0, gt=0)
    """Interval between two reads of the thumbs on a verdict."""
    reconcile_seconds: float = Field(900.0, gt=0)
    """Interval between two searches for missed changes and webhooks."""
    poll_seconds: float = Field(default=30.0, ge=1)
    """Interval between two reads of GitHub's deliveries with `R4P_INGRESS=polling`."""
    calibrate_seconds: float = Field(3_600.0, gt=0)
    """Interval between two fits of the calibrators."""

    @model_validator(mode="after")
    def _check_heartbeat(self) -> "QueueSettings":
        if self.heartbeat_seconds >= self.lease_seconds:
            raise ValueError(
                f"R4P_HEARTBEAT_SECONDS: {self.heartbeat_seconds:g} must be less than R4P_LEASE_SECONDS, which is "
                f"{self.lease_seconds:g}, or each lease ends under a running worker: set it to "
                f"{self.lease_seconds / 4:g} or less, or raise R4P_LEASE_SECONDS"
            )
        return self


class CeilingSettings(Settings):
    """Most that one issue, one repository and one installation may use. Days begin at midnight UTC.

    `r4p installations limit` replaces a ceiling for one installation.
    """

    max_rivals: int = Field(default=32, ge=1)
    """Pull requests of one issue that the bot judges. The strongest links come first, then the oldest pull requests."""
    max_votes: int = Field(default=32, ge=1)
    """Votes on a group, whatever `votes` in `.github/r4p.yml` says."""
    max_evaluations_per_repository_day: int = Field(default=1_000, ge=1)
    """Evaluations of a repository in a day. Further ones wait until the next day."""
    max_evaluations_per_installation_day: int = Field(default=5_000, ge=1)
    """Evaluations of all repositories of an installation in a day."""
    max_tokens_per_repository_day: int = Field(default=100_000_000, ge=1)
    """Tokens that votes and agents for a repository use in a day, without cached ones. New evaluations then wait."""
    max_tokens_per_installation_day: int = Field(default=500_000_000, ge=1)
    """Tokens for all repositories of an installation in a day."""
    max_test_groups_per_installation_day: int = Field(default=500, ge=1)
    """Groups of an installation whose tests run in a day, if tests are switched on. Further ones are judged without."""
