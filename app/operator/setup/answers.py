"""The operator's answers to the setup, checked (pure)."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import quote, urlsplit

from app.github.api_call import Json
from app.github.app_manifest import UNREACHABLE_WEBHOOK, WEBHOOK_PATH, build_manifest
from app.github.endpoints import build_endpoints
from app.values.ports import LAST_PORT

GITHUB: Final = "https://github.com"
LONGEST_NAME: Final = 34
"""Most characters of an App's name on GitHub."""
_LOGIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98})")
_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
"""A part of a host's name between two dots: 1 to 63 characters."""
_HOST: Final = re.compile(
    rf"(?:{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]*))?"
)
"""A host with an optional port. The page's Content-Security-Policy names it, so it holds no space and no semicolon."""
_KEY: Final = re.compile(r"[!-~]*")
"""An API key, which is sent in a header of HTTP: printable ASCII without spaces."""
_LONGEST: Final = 2_000
_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class ModelKind(StrEnum):
    """Who judges."""

    NONE = "none"
    """`consensus`, without a language model."""
    EMBEDDED = "embedded"
    """The small model in the worker, which shows how the bot works."""
    SERVER = "server"
    """A vLLM or any other OpenAI-compatible server."""


class BadAnswer(Exception):
    """An answer cannot be used. The message names it and the fix."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the operator chose."""

    name: str
    """The App's name, which no other App on the server has."""
    github_url: str = GITHUB
    organisation: str = ""
    """The App's owner; empty: the person who is signed in."""
    public_url: str = ""
    """Address under which GitHub reaches the bot; empty: it does not, and the bot polls."""
    model_kind: ModelKind = ModelKind.NONE
    engine_url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    local_url: str = ""
    """Address of the bot for a browser on its own machine, from which the setup was opened; empty: another machine."""

    @property
    def pages_url(self) -> str:
        """Address under which browsers reach the pages; empty: the pages stay off."""
        return self.public_url or self.local_url

    @property
    def registration_url(self) -> str:
        """Address of GitHub's page that takes a manifest, without its state."""
        owner = f"/organizations/{quote(self.organisation)}" if self.organisation else ""
        return f"{build_endpoints(self.github_url).web}{owner}/settings/apps/new"

    def build_manifest(self, redirect_url: str) -> dict[str, Json]:
        """Build the App's manifest; GitHub sends the browser back to `redirect_url`."""
        webhook = f"{self.public_url}{WEBHOOK_PATH}" if self.public_url else UNREACHABLE_WEBHOOK
        manifest = build_manifest(
            self.name, self.public_url or self.github_url, webhook, redirect_url
        )
        if self.pages_url:
            manifest["callback_urls"] = [f"{self.pages_url}/sign-in/callback"]
        return manifest

    def list_settings(self) -> dict[str, str]:
        """Return the settings that follow, without the App and without secrets."""
        settings = {
            "R4P_GITHUB_URL": self.github_url,
            "R4P_INGRESS": "webhook" if self.public_url else "polling",
        }
        if self.pages_url:
            settings["R4P_PUBLIC_URL"] = self.pages_url
        if self.model_kind is ModelKind.EMBEDDED:
            settings["R4P_ENGINE"] = "local_transformers"
        if self.model_kind is ModelKind.SERVER:
            settings |= {"R4P_ENGINE_URL": self.engine_url, "R4P_MODEL": self.model}
        return settings


def suggest_name() -> str:
    """Return a name that no other App has, because names are unique on a GitHub server."""
    return f"r4p-bot-{secrets.token_hex(3)}"


def parse_answers(form: Mapping[str, str]) -> Answers:
    """Check the answers of a form, by name. Raises BadAnswer for the first that cannot be used."""
    given = {name: value.strip() for name, value in form.items()}
    if long := next((name for name, value in given.items() if len(value) > _LONGEST), None):
        raise BadAnswer(f"{long} is longer than {_LONGEST} characters: shorten it")
    kind = given.get("model_kind", ModelKind.NONE)
    if kind not in set(ModelKind):
        raise BadAnswer(f"model: choose one of {', '.join(ModelKind)}")
    has_server = kind == ModelKind.SERVER
    answers = Answers(
        name=_check_name(given.get("name", "")),
        github_url=_check_url(given.get("github_url") or GITHUB, "GitHub server"),
        organisation=_check_organisation(given.get("organisation", "")),
        public_url=_check_public_url(given.get("public_url", "")),
        model_kind=ModelKind(kind),
        engine_url=_check_url(given.get("engine_url", ""), "model server") if has_server else "",
        model=given.get("model", "") if has_server else "",
        api_key=_check_key(given.get("api_key", "")) if has_server else "",
    )
    if answers.github_url == GITHUB and urlsplit(answers.public_url).hostname in _THIS_MACHINE:
        fix = "give one that github.com can reach, or none to poll GitHub"
        raise BadAnswer(f"public address {answers.public_url!r} is this machine's own: {fix}")
    return answers


def _check_name(name: str) -> str:
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadAnswer(f"App name {name[:40]!r}: give 1 to {LONGEST_NAME} characters")
    return name


def _check_organisation(login: str) -> str:
    if login and not _LOGIN.fullmatch(login):
        raise BadAnswer(f"organisation {login[:40]!r}: give its login, as in its address on GitHub")
    return login


def _check_key(key: str) -> str:
    """Check the key of the model server. The message does not show it."""
    if not _KEY.fullmatch(key):
        raise BadAnswer(
            "model server's key: it holds a space or a character outside ASCII: copy it again"
        )
    return key


def _check_url(url: str, about: str) -> str:
    fix = f"{about} {url[:80]!r}: give an address, as in https://host"
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BadAnswer(fix) from None
    host = _HOST.fullmatch(parts.netloc)
    if parts.scheme not in {"http", "https"} or host is None:
        raise BadAnswer(fix)
    port = host["port"]
    if port is not None and not (0 < len(port) <= 5 and 1 <= int(port) <= LAST_PORT):
        raise BadAnswer(f"{about} {url[:80]!r}: give a port from 1 to {LAST_PORT}, or none")
    if parts.query or parts.fragment or not url.isprintable() or " " in url:
        raise BadAnswer(f"{fix}, without spaces, ? and #")
    return url.rstrip("/")


def _check_public_url(url: str) -> str:
    if not url:
        return ""
    checked = _check_url(url, "public address")
    parts = urlsplit(checked)
    if parts.scheme != "https" and parts.hostname not in _THIS_MACHINE:
        raise BadAnswer(f"public address {url[:80]!r}: give one with https, or none to poll GitHub")
    return checked
