"""Who we are on which GitHub, and by which secrets."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import NoDecode

from app.settings.loader import Settings


def _base_url(value: str) -> str:
    if urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).hostname:
        raise ValueError(f"{value!r} is no base URL: write https://host")
    return value


BaseUrl = Annotated[str, AfterValidator(_base_url)]
"""github.com, or the base URL of a GitHub Enterprise Server."""


class IdentitySettings(Settings):
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


class WebhookSettings(Settings):
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


class GitHubSettings(Settings):
    """Who we are on which GitHub. Only processes that consume the `github` queue load this."""

    app_id: int
    """The App's number, which its settings page on GitHub shows."""
    private_key: SecretStr | None = None
    """The PEM text, or its path in R4P_PRIVATE_KEY_PATH."""
    private_key_path: Path | None = Field(None, validate_default=True)
    github_url: BaseUrl = "https://github.com"
    checkout_dir: Path = Path.home() / ".cache" / "r4p" / "checkouts"
    """Bare repositories, fetched into and never checked out."""

    @field_validator("private_key_path")
    @classmethod
    def _one_key(cls, path: Path | None, info: ValidationInfo) -> Path | None:
        _pem(info.data.get("private_key"), path, "R4P_PRIVATE_KEY")
        return path

    def key(self) -> SecretStr:
        """The private key's PEM text."""
        return _pem(self.private_key, self.private_key_path, "R4P_PRIVATE_KEY")


class WriterSettings(Settings):
    """The second App, which opens draft pull requests. Only processes that consume the `writer` queue load this."""

    writer_app_id: int
    """The second App's number, which its settings page on GitHub shows."""
    writer_private_key: SecretStr | None = None
    """The PEM text, or its path in R4P_WRITER_PRIVATE_KEY_PATH."""
    writer_private_key_path: Path | None = Field(None, validate_default=True)
    github_url: BaseUrl = "https://github.com"

    @field_validator("writer_private_key_path")
    @classmethod
    def _one_key(cls, path: Path | None, info: ValidationInfo) -> Path | None:
        _pem(info.data.get("writer_private_key"), path, "R4P_WRITER_PRIVATE_KEY")
        return path

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
