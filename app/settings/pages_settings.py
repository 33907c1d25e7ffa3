"""Settings of the pages: people's sign-in at GitHub, the operators, and the public track records."""

import re
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import BeforeValidator, SecretStr, ValidationInfo, field_validator
from pydantic_settings import NoDecode

from app.settings.github_settings import split_list
from app.settings.loader import Settings
from app.settings.url_checks import BaseUrl

LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1"})
_REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


class PagesSettings(Settings):
    """The pages that people see in a browser. The web process reads these settings."""

    public_url: BaseUrl | None = None
    """Base URL under which browsers reach the web process, such as `https://r4p.example.com`. Needs https, except on
    localhost."""
    oauth_client_id: str | None = None
    """Client ID of our App. With the client secret and R4P_PUBLIC_URL it switches the pages on."""
    oauth_client_secret: Annotated[
        SecretStr | None, BeforeValidator(lambda value: value or None)
    ] = None
    """Client secret of our App. A new one ends all sessions."""
    operators: Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_list)] = ()
    """Logins of people who see deliveries, jobs and models of all installations, separated by commas."""
    public_track_records: Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_list)] = ()
    """Repositories `OWNER/NAME`, separated by commas, whose track record and badge anyone sees. Empty: none."""

    @field_validator("public_url")
    @classmethod
    def _require_https(cls, value: str | None) -> str | None:
        if (
            value
            and urlsplit(value).scheme != "https"
            and urlsplit(value).hostname not in LOCAL_HOSTS
        ):
            raise ValueError(f"{value!r} has no https: browsers send no session cookie to it")
        return value.rstrip("/") if value else None

    @field_validator("oauth_client_secret")
    @classmethod
    def _require_all(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        values = info.data
        if value and not (values.get("public_url") and values.get("oauth_client_id")):
            raise ValueError("the pages need R4P_PUBLIC_URL and R4P_OAUTH_CLIENT_ID too")
        return value

    @field_validator("public_track_records")
    @classmethod
    def _require_repositories(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not _REPOSITORY.fullmatch(name):
                raise ValueError(
                    f"{name!r} is no repository: write OWNER/NAME, with commas between several"
                )
        return names

    @property
    def has_sign_in(self) -> bool:
        """True if people can sign in, so that the pages are on."""
        return self.oauth_client_secret is not None

    def explain_no_sign_in(self) -> str | None:
        """Say what a wish for the pages lacks; None: they are on, or nothing asks for them.

        R4P_PUBLIC_URL alone asks for no pages, because a bot without pages has a webhook there.
        """
        if self.has_sign_in or not self.oauth_client_id:
            return None
        missing = [] if self.public_url else ["R4P_PUBLIC_URL"]
        names = " and ".join([*missing, "R4P_OAUTH_CLIENT_SECRET"])
        return f"R4P_OAUTH_CLIENT_ID is set without {names}, so the pages are off"

    def is_operator(self, login: str) -> bool:
        """Return whether the account with this login is an operator; case does not matter."""
        return login.lower() in {name.lower() for name in self.operators}
