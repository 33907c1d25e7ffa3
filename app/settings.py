"""The only reader of the environment: one frozen settings class per concern, so that a process asks
for no secret it does not need. A required value has no default and a wrong one stops the process.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.sandbox import Sandbox


class SettingsError(SystemExit):
    """Settings that can't be used; the message names each variable, what is wrong and the fix."""


class _Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="R4P_", frozen=True, extra="ignore")


def _base_url(value: str) -> str:
    if urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).hostname:
        raise ValueError(f"{value!r} is no base URL: write https://host")
    return value


BaseUrl = Annotated[str, AfterValidator(_base_url)]
"""github.com, or the base URL of a GitHub Enterprise Server."""


class LogSettings(_Settings):
    """How this process logs."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["text", "json"] = "text"


class ChildSettings(_Settings):
    """Whose child this process is."""

    end_with_parent: bool = False
    """Set by `r4p up` and the demo for their children, so that none outlives a parent that was killed."""


class DatabaseSettings(_Settings):
    """Where the queue of record and everything else lives."""

    database_url: str
    """`postgresql://…`, PostgreSQL 15 or newer."""
    pool_size: int = 8

    @field_validator("database_url")
    @classmethod
    def _plain_scheme(cls, value: str) -> str:
        if not value.startswith("postgresql://"):
            raise ValueError("must start with postgresql://")
        return value


class BrokerSettings(_Settings):
    """Where the doorbell hangs; losing it delays work by one sweep and loses nothing."""

    redis_url: str
    """`redis://…` or `redis+socket:///path`."""


class IdentitySettings(_Settings):
    """Who we are and on which GitHub, as every process may know it."""

    app_id: int | None = None
    """Our App, by which the echoes of our own check runs are known and ignored at the door."""
    bot_name: str | None = None
    """The App's name as people may address it: `@name verify` is then `/r4p verify`."""
    github_url: BaseUrl = "https://github.com"
    writer_app_id: Annotated[int | None, BeforeValidator(lambda given: given or None)] = None
    """The second App, which opens draft pull requests; None: nobody does."""

    @property
    def host(self) -> str:
        """Where GitHub's pages are, such as `github.com`."""
        return urlsplit(self.github_url).netloc


class WebhookSettings(_Settings):
    """What the web process must know to let a delivery in."""

    webhook_secret: Annotated[tuple[SecretStr, ...], NoDecode]
    """One secret, or two separated by a comma while rotating."""
    max_body_bytes: int = 25 * 1024 * 1024
    """GitHub's own cap on a payload."""

    @field_validator("webhook_secret", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("webhook_secret")
    @classmethod
    def _required(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if not value:
            raise ValueError("is empty: without a secret anyone could command the bot")
        return value


class GitHubSettings(_Settings):
    """Who we are on which GitHub. Only processes that consume the `github` queue load this."""

    app_id: int
    private_key: SecretStr | None = None
    """The PEM text, or its path in R4P_PRIVATE_KEY_PATH."""
    private_key_path: Path | None = None
    github_url: BaseUrl = "https://github.com"
    checkout_dir: Path = Path.home() / ".cache" / "r4p" / "checkouts"
    """Bare repositories, fetched into and never checked out."""

    @model_validator(mode="after")
    def _one_key(self) -> "GitHubSettings":
        _pem(self.private_key, self.private_key_path, "R4P_PRIVATE_KEY")
        return self

    def key(self) -> SecretStr:
        """The private key's PEM text."""
        return _pem(self.private_key, self.private_key_path, "R4P_PRIVATE_KEY")


class WriterSettings(_Settings):
    """The second App, which opens draft pull requests. Only processes that consume the `writer` queue load this."""

    writer_app_id: int
    writer_private_key: SecretStr | None = None
    """The PEM text, or its path in R4P_WRITER_PRIVATE_KEY_PATH."""
    writer_private_key_path: Path | None = None
    github_url: BaseUrl = "https://github.com"

    @model_validator(mode="after")
    def _one_key(self) -> "WriterSettings":
        self.key()
        return self

    def key(self) -> SecretStr:
        """The private key's PEM text."""
        given = (self.writer_private_key, self.writer_private_key_path)
        return _pem(*given, "R4P_WRITER_PRIVATE_KEY")


def _pem(key: SecretStr | None, path: Path | None, name: str) -> SecretStr:
    """A private key, given itself or by its path."""
    if (key is None) == (path is None):
        raise ValueError(f"set exactly one of {name} and {name}_PATH")
    try:
        text = key or SecretStr(path.read_text() if path else "")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}_PATH: {path} can't be read ({error})") from None
    if "PRIVATE KEY-----" not in text.get_secret_value():
        raise ValueError(f"{name} is not in PEM form: give the file GitHub made")
    return text


class EngineSettings(_Settings):
    """Who judges, and which language model it asks."""

    verifier: str = "r4p"
    """A name of the catalogue; `consensus` asks no language model, `hybrid:A+B` composes two."""
    stop_early: bool = False
    """Leave out votes that can't change a verdict any more: cheaper, and less to calibrate on."""
    leave_one_out: bool = False
    """Every vote goes without one of the rivals, and what hangs on a rival's presence is unsure."""
    min_lines: int = Field(0, ge=0)
    """Pull requests that edit fewer lines are not judged; 0 judges all."""
    engine: Literal["auto", "openai_compatible", "local_transformers", "scripted"] = "auto"
    """auto: openai_compatible when an URL is set, else the embedded model."""
    engine_url: str | None = None
    """Base URL of an OpenAI-compatible server, such as vLLM: `http://host:8000/v1`."""
    engine_api_key: SecretStr | None = None
    engine_script: Path | None = None
    """Replies of the scripted engine (tests)."""
    model: str | None = None
    """The served model's name, or the catalogue's name of an embedded one."""
    prompt: str | None = None
    """Name or path of the prompt template; weights trained on another wording bring their own.
    None: the verifier's."""
    model_dir: Path = Path.home() / ".cache" / "r4p" / "models"
    """Where model files are kept, looked for first."""

    @property
    def chosen(self) -> str:
        """The engine's name, with `auto` resolved."""
        if self.engine != "auto":
            return self.engine
        return "openai_compatible" if self.engine_url else "local_transformers"


class AgentSettings(_Settings):
    """Who writes alternatives, and where. Whoever plans such work, and whoever does it, knows this; no secret is in it."""

    agent: str = "mini-se"
    """A name of the agents' catalogue."""
    agent_sandbox: Sandbox = Sandbox.BUBBLEWRAP
    """What an agent's process is shut in; `container` where it has one of its own."""
    trees: Path = Path.home() / ".cache" / "r4p" / "trees"
    """Where source trees are handed over; both processes must have it."""
    verifier: str = "r4p"
    """As in EngineSettings: where no language model judges, there is none to write with."""
    model: str | None = None
    """As in EngineSettings, to be named to people."""


class QueueSettings(_Settings):
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


Kind = TypeVar("Kind", bound=_Settings)


def load(kind: type[Kind]) -> Kind:
    """Settings of one kind from the environment. Raises SettingsError with one line per mistake."""
    try:
        return kind()
    except ValidationError as error:
        raise _refusal([_line(kind, problem) for problem in error.errors()]) from None


def check(*kinds: type[_Settings]) -> None:
    """Raises SettingsError with every mistake in settings of these kinds at once."""
    lines = []
    for kind in kinds:
        try:
            kind()
        except ValidationError as error:
            lines += [_line(kind, problem) for problem in error.errors()]
    if lines:
        raise _refusal(list(dict.fromkeys(lines)))


def _refusal(lines: list[str]) -> SettingsError:
    return SettingsError("r4p: cannot start:\n" + "\n".join(lines))


def _line(kind: type[_Settings], problem: Mapping[str, object]) -> str:
    location = problem["loc"]
    name = str(location[0]) if isinstance(location, tuple) and location else ""
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "missing":
        message = "is not set"
    if not name:
        return f"  {message}"
    hint = kind.model_fields[name].annotation
    return f"  R4P_{name.upper()}: {message} (expected {getattr(hint, '__name__', hint)})"


def child_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with changes, for a child process we start."""
    return {**os.environ, **changes}


def plain_environment() -> dict[str, str]:
    """The little that an untrusting child needs: where programs are, and no secret of ours."""
    return {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ
    }


def python() -> str:
    """The interpreter that runs us, for child processes."""
    return sys.executable
