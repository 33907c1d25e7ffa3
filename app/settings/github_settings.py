"""Settings of GitHub, of our Apps and of their secrets."""

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import NoDecode

from app.settings.loader import Settings
from app.settings.url_checks import BaseUrl


class IdentitySettings(Settings):
    """The bot's identity on GitHub, without secrets. Every process may read it."""

    app_id: int | None = Field(None, ge=1)
    """Our App's id. The web process uses it to ignore our own check runs."""
    bot_name: str | None = None
    """The App's name, so that `@name verify` means `/r4p verify`."""
    github_url: BaseUrl = "https://github.com"
    """Base URL of github.com or of a GitHub Enterprise Server."""
    ingress: Literal["webhook", "polling"] = "webhook"
    """How events reach the bot. `polling` reads them from GitHub's list of the App's deliveries, for a bot that GitHub
    cannot reach. The App's webhook must be active all the same, with any URL."""
    writer_app_id: Annotated[
        int | None, Field(ge=1), BeforeValidator(lambda value: value or None)
    ] = None
    """Id of the writer App, which opens draft pull requests and setup pull requests; None: there is none."""
    onboarding: bool = False
    """Let the writer App open one setup pull request in each new repository without settings. It adds `.github/r4p.yml`.
    """

    @field_validator("onboarding")
    @classmethod
    def _require_writer(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("writer_app_id") is None:
            raise ValueError("needs the writer App, which may write code: set R4P_WRITER_APP_ID")
        return value

    @property
    def host(self) -> str:
        """Host of GitHub's pages, such as `github.com`, with the port if the URL names one."""
        return urlsplit(self.github_url).netloc


def split_list(value: object) -> object:
    """Split a text at its commas into a tuple; return any other value unchanged."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


class AccountSettings(Settings):
    """Whom the bot works for. The web process and the workers of the queue `github` read it."""

    allowed_accounts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_list)] = ()
    """Logins of owners, or ids of installations, separated by commas. The bot ignores and counts the deliveries of all
    other accounts, and does not look for their missed changes. Empty: it works for every installation."""


class WebhookSettings(AccountSettings):
    """Settings with which the web process accepts deliveries."""

    webhook_secret: Annotated[tuple[SecretStr, ...], NoDecode, BeforeValidator(split_list)]
    """The secret, or two separated by a comma while you replace one by another."""
    max_body_bytes: int = Field(25 * 1024 * 1024, ge=1)
    """Most bytes of a webhook's body. The default is GitHub's own limit."""

    @field_validator("webhook_secret")
    @classmethod
    def _require_secret(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if not value:
            raise ValueError("is empty: without a secret, anyone could command the bot")
        return value


class GitHubSettings(Settings):
    """Our App's id and private key. Only processes of the queue `github` load them."""

    app_id: int = Field(ge=1)
    """The App's number from its settings page on GitHub."""
    private_key: SecretStr | None = None
    """Our App's private key as PEM text. Set either this or R4P_PRIVATE_KEY_PATH."""
    private_key_path: Path | None = Field(None, validate_default=True)
    """File with our App's private key in PEM form."""
    github_url: BaseUrl = "https://github.com"
    checkout_dir: Path = Path.home() / ".cache" / "r4p" / "checkouts"
    """Folder of the bare repositories that the bot fetches."""

    @field_validator("private_key_path")
    @classmethod
    def _one_key(cls, path: Path | None, info: ValidationInfo) -> Path | None:
        _read_pem(info.data.get("private_key"), path, "R4P_PRIVATE_KEY")
        return path

    def read_key(self) -> SecretStr:
        """Return our App's private key as PEM text, from the setting itself or from the file that it names."""
        return _read_pem(self.private_key, self.private_key_path, "R4P_PRIVATE_KEY")


class WriterSettings(Settings):
    """The writer App's id and private key. The App opens draft pull requests.

    Only processes of the queue `writer` load these settings.
    """

    writer_app_id: int = Field(ge=1)
    """The writer App's number from its settings page on GitHub."""
    writer_private_key: SecretStr | None = None
    """The writer App's private key as PEM text. Set either this or R4P_WRITER_PRIVATE_KEY_PATH."""
    writer_private_key_path: Path | None = Field(None, validate_default=True)
    """File with the writer App's private key in PEM form."""
    github_url: BaseUrl = "https://github.com"

    @field_validator("writer_private_key_path")
    @classmethod
    def _one_key(cls, path: Path | None, info: ValidationInfo) -> Path | None:
        _read_pem(info.data.get("writer_private_key"), path, "R4P_WRITER_PRIVATE_KEY")
        return path

    def read_key(self) -> SecretStr:
        """Return the writer App's private key as PEM text, from the setting itself or from the file that it names."""
        return _read_pem(
            self.writer_private_key, self.writer_private_key_path, "R4P_WRITER_PRIVATE_KEY"
        )


def _read_pem(key: SecretStr | None, path: Path | None, name: str) -> SecretStr:
    """Return a private key from its text or its path. Raises ValueError."""
    if (key is None) == (path is None):
        raise ValueError(f"set exactly one of {name} and {name}_PATH")
    try:
        text = key or SecretStr(path.read_text() if path else "")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}_PATH: {path} can't be read ({error})") from None
    if "PRIVATE KEY-----" not in text.get_secret_value():
        raise ValueError(f"{name} is not in PEM format: use the file that GitHub made")
    return text
