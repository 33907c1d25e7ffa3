"""The stage of the demo: a stand-in for GitHub, the whole bot and its repositories."""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.db.session import create_database_engine, transaction
from app.db.store.issues import groups
from app.operator.bot import Bot, BotDown
from app.values.identifiers import RepositoryId
from app.web.listen_address import Listen
from tests.demo.example.example import Example
from tests.github.facts import App
from tests.github.repo import Repo
from tests.github.stand_in import StandIn

CONFIG_SECONDS = 30.0
MAINTAINER = "maintainer"
SLUG = "r4p-bot"


@dataclass(frozen=True, slots=True)
class DemoStage:
    """The running parts of the demo."""

    standin: StandIn
    bot: Bot
    repositories: Mapping[str, Repo]
    """By `owner/name`."""
    slug: str
    """The App's name; it comments as `slug[bot]`."""


@contextmanager
def run_stage(
    data: Path, settings: dict[str, str], examples: Sequence[Example]
) -> Iterator[DemoStage]:
    """Start the stand-in and the bot's processes, and connect them. Each example has a repository of its own.

    The bot has its ordinary settings, and none of its code knows that this is a demo.
    """
    secret = secrets.token_hex(20)
    with StandIn.start(data / "github") as standin:
        app = standin.register_app(webhook_secret=secret, slug=SLUG)
        key = _private_file(data / "app.pem", app.private_key)
        identity = {
            "R4P_APP_ID": str(app.app_id),
            "R4P_PRIVATE_KEY_PATH": str(key),
            "R4P_WEBHOOK_SECRET": secret,
            "R4P_GITHUB_URL": standin.url,
            "R4P_BOT_NAME": SLUG,
            "R4P_CHECKOUT_DIR": str(data / "checkouts"),
        }
        with Bot(data, Listen(), identity | settings) as bot:
            yield DemoStage(standin, bot, _install(standin, app, bot, examples), app.slug)


def _install(standin: StandIn, app: App, bot: Bot, examples: Sequence[Example]) -> dict[str, Repo]:
    """Set the webhook's URL, create the repositories and install the App on them."""
    standin.set_webhook_url(app.app_id, f"{bot.listen.url}/api/github/webhooks")
    repositories = {
        each.repository: standin.create_repository(each.repository, each.tree) for each in examples
    }
    for repo in repositories.values():
        standin.grant(repo, MAINTAINER, "maintain")
    standin.install(app, list(repositories.values()))
    for repo in repositories.values():
        _await_config(bot, repo)
    return repositories


def _await_config(bot: Bot, repo: Repo) -> None:
    """Wait until the bot has read the repository's configuration, as in a real installation."""
    database = create_database_engine(bot.services.database_url, pool_size=1)
    deadline = time.monotonic() + CONFIG_SECONDS
    while time.monotonic() < deadline:
        with transaction(database) as connection:
            stored = groups.load_repository(connection, RepositoryId(repo.id))
        if stored is not None and stored.config_text is not None:
            return
        time.sleep(0.1)
    raise BotDown(f"the bot has not read .github/r4p.yml of {repo.full_name}")


def _private_file(path: Path, text: str) -> Path:
    path.touch(mode=0o600)
    path.write_text(text)
    return path
